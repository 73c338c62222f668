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
	// unwatchedPause is how long somebody waits for what is not watched, as for what cannot be.
	unwatchedPause = maxBackoff
	// maxName is the length of the longest name that is watched, and remembered: that of nearly all kinds.
	maxName = 253
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
	// late wakes those who wait for what is not watched.
	late map[Waiter]*time.Timer
	// narrow counts the watches on single objects, by the key of all beside them.
	narrow map[Key]int
	done   bool
}

// Follow makes the watches of a waiter the given ones. What was seen in a call that started at since cannot have changed unnoticed:
// where a watch was not yet open then, the waiter is woken as soon as it is.
func (w *Watches) Follow(by Waiter, watched []Object, since time.Time) {
	w.mu.Lock()
	wanted := map[Key]*sharedWatch{}
	var missed []Key
	isWatched := true
	for _, one := range watched {
		key := KeyOf(one)
		shared, known := w.of[by][key]
		if shared == nil && !key.isLong() {
			if shared = w.showing(key); shared == nil {
				shared = w.add(one.Cluster, key)
			}
		}
		if shared == nil {
			isWatched = false
			continue
		}
		if !known && shared.attach(by, key.name, since) {
			missed = append(missed, key)
		}
		wanted[key] = shared
	}
	for key, shared := range w.of[by] {
		if _, still := wanted[key]; !still {
			w.detach(by, key, shared)
		}
	}
	w.remember(by, wanted, isWatched)
	w.mu.Unlock()
	if len(missed) > 0 {
		by.Wake(missed...)
	}
}

func (w *Watches) remember(by Waiter, wanted map[Key]*sharedWatch, isWatched bool) {
	if w.of == nil {
		w.of, w.late = map[Waiter]map[Key]*sharedWatch{}, map[Waiter]*time.Timer{}
	}
	w.of[by] = wanted
	if len(wanted) == 0 {
		delete(w.of, by)
	}
	if late := w.late[by]; late != nil {
		late.Stop()
		delete(w.late, by)
	}
	if !isWatched {
		w.late[by] = time.AfterFunc(unwatchedPause, func() { by.Wake() })
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

// showing returns an open watch that shows key: the one for the whole namespace if there is one; nil for none.
func (w *Watches) showing(key Key) *sharedWatch {
	if shared := w.open[key.wide()]; shared != nil {
		return shared
	}
	return w.open[key]
}

// add opens a watch that shows key, for the whole namespace if too many single ones are open.
func (w *Watches) add(cluster *target.Cluster, key Key) *sharedWatch {
	if key.name != "" && w.narrow[key.wide()] >= MaxNarrow {
		key = key.wide()
	}
	shared := newSharedWatch(cluster, key)
	w.enter(shared)
	if w.done {
		shared.cancel()
	}
	return shared
}

// isLong reports whether a key names what no API server has, and is not worth to be kept.
func (k Key) isLong() bool { return max(len(k.name), len(k.namespace)) > maxName }

func (w *Watches) enter(shared *sharedWatch) {
	if w.open == nil {
		w.open, w.narrow = map[Key]*sharedWatch{}, map[Key]int{}
	}
	w.open[shared.key] = shared
	if shared.key.name != "" {
		w.narrow[shared.key.wide()]++
	}
}

// leave ends a watch.
func (w *Watches) leave(shared *sharedWatch) {
	shared.cancel()
	delete(w.open, shared.key)
	if shared.key.name != "" {
		beside := shared.key.wide()
		if w.narrow[beside]--; w.narrow[beside] == 0 {
			delete(w.narrow, beside)
		}
	}
}

func (w *Watches) detach(by Waiter, key Key, shared *sharedWatch) {
	if shared.detach(by, key.name) {
		time.AfterFunc(lingerTime, func() { w.closeUnused(shared) })
	}
}

func (w *Watches) closeUnused(shared *sharedWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !shared.isUsed() && w.open[shared.key] == shared {
		w.leave(shared)
	}
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
