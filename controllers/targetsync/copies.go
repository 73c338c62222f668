// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"crypto/sha256"
	"fmt"
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

// seal stands for the states of an original and of its copy: a source chooses how long UIDs and versions are.
type seal string

func sealOf(original, present version) seal {
	sum := sha256.New()
	for _, part := range []string{string(original.uid), original.version, string(present.uid), present.version} {
		fmt.Fprintf(sum, "%d:", len(part))
		sum.Write([]byte(part))
	}
	return seal(sum.Sum(nil))
}

// copies remembers for each TargetSync, by the names of the Secrets of its source, in which states a Secret and its copy were found equal. It is safe for
// concurrent use.
type copies struct {
	mu    sync.Mutex
	equal map[types.NamespacedName]map[string]seal
}

// known reports whether an original and its copy are still in the states in which they were equal.
func (c *copies) known(sync types.NamespacedName, name string, original, present version) bool {
	if original == (version{}) || present == (version{}) {
		return false
	}
	now := sealOf(original, present)
	c.mu.Lock()
	defer c.mu.Unlock()
	last, found := c.equal[sync][name]
	return found && last == now
}

func (c *copies) note(sync types.NamespacedName, name string, original, present version) {
	now := sealOf(original, present)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.equal == nil {
		c.equal = map[types.NamespacedName]map[string]seal{}
	}
	if c.equal[sync] == nil {
		c.equal[sync] = map[string]seal{}
	}
	c.equal[sync][name] = now
}

// keep forgets the copies of a TargetSync that are not in use.
func (c *copies) keep(sync types.NamespacedName, used map[string]*wanted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name := range c.equal[sync] {
		if used[name] == nil {
			delete(c.equal[sync], name)
		}
	}
}

// forget forgets all copies of a TargetSync.
func (c *copies) forget(sync types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.equal, sync)
}
