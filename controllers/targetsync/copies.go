// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// version is one state of one object; the zero value stands for an object that is not there.
type version struct {
	uid     types.UID
	version string
}

func versionOf(object client.Object) version {
	return version{object.GetUID(), object.GetResourceVersion()}
}

// copies remembers which state of a Secret of a source its copy was found equal to, and in which state the copy was then. It is safe for
// concurrent use.
type copies struct {
	mu    sync.Mutex
	equal map[types.NamespacedName][2]version
}

// known reports whether an original and its copy are still in the states in which they were equal.
func (c *copies) known(key types.NamespacedName, original, present version) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return original != version{} && present != version{} && c.equal[key] == [2]version{original, present}
}

func (c *copies) note(key types.NamespacedName, original, present version) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.equal == nil {
		c.equal = map[types.NamespacedName][2]version{}
	}
	c.equal[key] = [2]version{original, present}
}

// keep forgets the copies of a namespace that are not in use.
func (c *copies) keep(namespace string, used map[string]*wanted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.equal {
		if key.Namespace == namespace && used[key.Name] == nil {
			delete(c.equal, key)
		}
	}
}
