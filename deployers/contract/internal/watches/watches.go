// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package watches shares watches on single objects, and on kinds of a namespace, between all who wait for something on a cluster. It knows neither
// DeployItems nor jobs: whoever waits is a Waiter.
package watches

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// MaxNarrow is how many single objects of one kind and namespace are watched one by one; for more of them the whole
	// namespace is watched once.
	MaxNarrow = 8
	// lingerTime keeps a watch open that nobody needs any more, because the next job often needs it again.
	lingerTime = 10 * time.Second
)

// Key identifies what a watch shows. Clusters are the same when they share their connection.
type Key struct {
	cluster   *rest.Config
	kind      schema.GroupVersionKind
	namespace string
	// name is empty for all objects of the kind in the namespace.
	name string
}

// Object is one object, or one kind of objects, whose change a Waiter waits for.
type Object struct {
	// Cluster the object lives on.
	Cluster *target.Cluster
	// APIVersion and Kind of the object.
	APIVersion, Kind string
	// Namespace of the object; empty for cluster-scoped objects.
	Namespace string
	// Name of the object; empty for all of the kind in the namespace.
	Name string
}

// KeyOf returns what identifies an object.
func KeyOf(watched Object) Key {
	return Key{
		cluster:   watched.Cluster.Config,
		kind:      schema.FromAPIVersionAndKind(watched.APIVersion, watched.Kind),
		namespace: watched.Namespace, name: watched.Name,
	}
}

func (k Key) wide() Key { return k.of("") }

// of returns the key of the object of a name beside.
func (k Key) of(name string) Key {
	k.name = name
	return k
}

// Waiter waits for changes. It is told apart from others by its identity, as a pointer is.
type Waiter interface {
	// Wake is called, with no lock held, when something that the waiter waits for has or may have changed; without keys that may be anything.
	Wake(changed ...Key)
}

// Watches shares watches between those who wait for something. It is safe for concurrent use; the zero value has none.
type Watches struct {
	mu   sync.Mutex
	open map[Key]*sharedWatch
	of   map[Waiter]map[Key]*sharedWatch
	done bool
}

// Follow makes the watches of a waiter the given ones. What was seen in a call that started at since cannot have changed unnoticed:
// where a watch was not yet open then, the waiter is woken as soon as it is.
func (w *Watches) Follow(by Waiter, watched []Object, since time.Time) {
	w.mu.Lock()
	wanted := map[Key]*sharedWatch{}
	var missed []Key
	for _, one := range watched {
		key := KeyOf(one)
		shared, known := w.of[by][key]
		if !known {
			shared = w.attach(one.Cluster, key)
			if shared.attach(by, key.name, since) {
				missed = append(missed, key)
			}
		}
		wanted[key] = shared
	}
	for key, shared := range w.of[by] {
		if _, still := wanted[key]; !still {
			w.detach(by, key, shared)
		}
	}
	w.remember(by, wanted)
	w.mu.Unlock()
	if len(missed) > 0 {
		by.Wake(missed...)
	}
}

func (w *Watches) remember(by Waiter, wanted map[Key]*sharedWatch) {
	if w.of == nil {
		w.of = map[Waiter]map[Key]*sharedWatch{}
	}
	w.of[by] = wanted
	if len(wanted) == 0 {
		delete(w.of, by)
	}
}

// Follows reports whether no change of what a waiter waits for goes unnoticed.
func (w *Watches) Follows(by Waiter, key Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, known := w.of[by][key]
	return known
}

// Release ends the watches of a waiter.
func (w *Watches) Release(by Waiter) { w.Follow(by, nil, time.Time{}) }

// attach returns an open watch that shows key: the one for the whole namespace if there is one or if too many single ones are open.
func (w *Watches) attach(cluster *target.Cluster, key Key) *sharedWatch {
	if shared, ok := w.open[key.wide()]; ok {
		return shared
	}
	if shared, ok := w.open[key]; ok {
		return shared
	}
	if key.name != "" && w.narrowBeside(key) >= MaxNarrow {
		key = key.wide()
	}
	shared := newSharedWatch(cluster, key)
	if w.open == nil {
		w.open = map[Key]*sharedWatch{}
	}
	w.open[key] = shared
	if w.done {
		shared.cancel()
	}
	return shared
}

func (w *Watches) narrowBeside(key Key) int {
	count := 0
	for other := range w.open {
		if other.name != "" && other.wide() == key.wide() {
			count++
		}
	}
	return count
}

func (w *Watches) detach(by Waiter, key Key, shared *sharedWatch) {
	if shared.detach(by, key.name) {
		time.AfterFunc(lingerTime, func() { w.closeUnused(shared) })
	}
}

func (w *Watches) closeUnused(shared *sharedWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if shared.isUsed() || w.open[shared.key] != shared {
		return
	}
	delete(w.open, shared.key)
	shared.cancel()
}

// Run ends all watches with ctx.
func (w *Watches) Run(ctx context.Context) error {
	<-ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	for _, shared := range w.open {
		shared.cancel()
	}
	return nil
}
