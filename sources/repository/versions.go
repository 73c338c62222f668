// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"sync"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// versions are those that a session knows, with the way to what lies beside each.
type versions struct {
	mu sync.Mutex
	// root is the repository where components without another one are looked for: that of the root.
	root     component.Typed
	found    map[component.Key]*version
	embedded map[component.Key]*version
}

// inside returns a version that is embedded in an inline descriptor; nil if there is none, or an overwrite names another repository.
func (k *versions) inside(key component.Key, hint component.Hint) (*version, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !hint.Repository.IsZero() {
		return nil, nil
	}
	if v := k.embedded[key]; v != nil || hint.From == nil || hint.Reference == nil || key != hint.Reference.Key() {
		return v, nil
	}
	parent := k.embedded[hint.From.Key()]
	if parent == nil {
		return nil, nil
	}
	d, err := hint.Reference.Embedded()
	if err != nil {
		return nil, refused("componentDescriptor.inline", err)
	}
	if d == nil {
		return nil, nil
	}
	v := &version{descriptor: d, repository: parent.repository, blobs: parent.blobs, registry: parent.registry}
	k.embedded[key] = v
	return v, nil
}

// remember keeps where a descriptor was found, for its resources. It reports whether that is new.
func (k *versions) remember(v *version) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := k.found[v.descriptor.Key()]
	k.found[v.descriptor.Key()] = v
	return before == nil || before.descriptor != v.descriptor
}

// version returns what the session knows of a descriptor.
func (k *versions) version(d *component.Descriptor) (*version, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v := k.found[d.Key()]; v != nil {
		return v, nil
	}
	return nil, stalled("component "+d.Key().String(), "this session has not looked it up", "resolve it with Root or Closure first")
}

// repositoryOf returns the repository in which a version was found, zero if it is unknown.
func (k *versions) repositoryOf(key component.Key) component.Typed {
	k.mu.Lock()
	defer k.mu.Unlock()
	if v := k.found[key]; v != nil {
		return v.repository
	}
	return component.Typed{}
}

// embed keeps a version that is written inline.
func (k *versions) embed(v *version) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.embedded[v.descriptor.Key()] = v
}

// startAt names the repository of the root.
func (k *versions) startAt(repository component.Typed) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.root = repository
}

// start is where components without another repository are looked for.
func (k *versions) start() component.Typed {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.root
}
