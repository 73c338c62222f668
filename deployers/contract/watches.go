// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// maxNarrow is how many single objects of one kind and namespace are watched one by one; for more of them the whole
	// namespace is watched once.
	maxNarrow = 8
	// lingerTime keeps a watch open that nobody needs any more, because the next job often needs it again.
	lingerTime = 10 * time.Second
)

// watchKey identifies what a watch shows. Clusters are the same when they share their connection.
type watchKey struct {
	cluster   *rest.Config
	kind      schema.GroupVersionKind
	namespace string
	// name is empty for all objects of the kind in the namespace.
	name string
}

// key returns what identifies what is watched.
func (w Watched) key() watchKey {
	return watchKey{cluster: w.Cluster.Config, kind: schema.FromAPIVersionAndKind(w.APIVersion, w.Kind), namespace: w.Namespace, name: w.Name}
}

func (k watchKey) wide() watchKey { return k.of("") }

// of returns the key of the object of a name beside.
func (k watchKey) of(name string) watchKey {
	k.name = name
	return k
}

// wakeable waits for changes. It is told apart from others by its identity, as a pointer is.
type wakeable interface {
	// Wake is called, with no lock held, when something that the wakeable waits for has or may have changed; without keys that may be anything.
	Wake(changed ...watchKey)
}

// watches are shared between those who wait for something. It is safe for concurrent use; the zero value has none.
type watches struct {
	mu   sync.Mutex
	open map[watchKey]*sharedWatch
	of   map[wakeable]map[watchKey]*sharedWatch
	done bool
}

// Follow makes the watches of a waiter the given ones. What was seen in a call that started at since cannot have changed unnoticed:
// where a watch was not yet open then, the waiter is woken as soon as it is.
func (w *watches) Follow(by wakeable, watched []Watched, since time.Time) {
	w.mu.Lock()
	wanted := map[watchKey]*sharedWatch{}
	var missed []watchKey
	if w.open == nil {
		w.open, w.of = map[watchKey]*sharedWatch{}, map[wakeable]map[watchKey]*sharedWatch{}
	}
	for _, one := range watched {
		key := one.key()
		shared, known := w.of[by][key]
		if !known {
			shared = w.showing(one.Cluster, key)
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
	w.of[by] = wanted
	if len(wanted) == 0 {
		delete(w.of, by)
	}
	w.mu.Unlock()
	if len(missed) > 0 {
		by.Wake(missed...)
	}
}

// Follows reports whether no change of what a waiter waits for goes unnoticed.
func (w *watches) Follows(by wakeable, key watchKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, known := w.of[by][key]
	return known
}

// Release ends the watches of a waiter.
func (w *watches) Release(by wakeable) { w.Follow(by, nil, time.Time{}) }

// showing returns a watch that shows a key: an open one, that for the whole namespace if there is one or too many single ones are open, else a new one.
func (w *watches) showing(cluster *target.Cluster, key watchKey) *sharedWatch {
	narrow := 0
	for open := range w.open {
		if open.name != "" && open.wide() == key.wide() {
			narrow++
		}
	}
	for _, known := range []watchKey{key.wide(), key} {
		if shared := w.open[known]; shared != nil {
			return shared
		}
	}
	if narrow >= maxNarrow {
		key = key.wide()
	}
	ctx, cancel := context.WithCancel(context.Background())
	shared := &sharedWatch{key: key, cluster: cluster, cancel: cancel, changed: map[string]time.Time{}, waiting: map[string]map[wakeable]struct{}{}}
	w.open[key] = shared
	if w.done {
		cancel()
	}
	go shared.run(ctx)
	return shared
}

func (w *watches) detach(by wakeable, key watchKey, shared *sharedWatch) {
	if shared.detach(by, key.name) {
		time.AfterFunc(lingerTime, func() { w.closeUnused(shared) })
	}
}

func (w *watches) closeUnused(shared *sharedWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !shared.isUsed() && w.open[shared.key] == shared {
		shared.cancel()
		delete(w.open, shared.key)
	}
}

// Run ends all watches with ctx.
func (w *watches) Run(ctx context.Context) error {
	<-ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	for _, shared := range w.open {
		shared.cancel()
	}
	return nil
}

// Pauses before a watch is opened again.
const (
	minWatchPause = 250 * time.Millisecond
	maxWatchPause = 30 * time.Second
)

// sharedWatch watches one object, or one kind in one namespace, for all who wait for it.
type sharedWatch struct {
	key     watchKey
	cluster *target.Cluster
	cancel  context.CancelFunc

	mu sync.Mutex
	// complete is since when no change goes unnoticed; zero while the watch is not open.
	complete time.Time
	// changed is when an object of a name was last seen to change.
	changed map[string]time.Time
	// waiting are those who wait, by the name of the object that they wait for; the empty name means any.
	waiting map[string]map[wakeable]struct{}
}

// attach adds who waits for the object of a name. It returns whether a change since the given time may have been missed;
// while the watch is not open it need not be reported, because all are woken when it is.
func (s *sharedWatch) attach(by wakeable, name string, since time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[name] == nil {
		s.waiting[name] = map[wakeable]struct{}{}
	}
	s.waiting[name][by] = struct{}{}
	if s.complete.IsZero() {
		return false
	}
	return s.complete.After(since) || s.lastChange(name).After(since)
}

func (s *sharedWatch) lastChange(name string) time.Time {
	if name != "" {
		return s.changed[name]
	}
	var last time.Time
	for _, at := range s.changed {
		if at.After(last) {
			last = at
		}
	}
	return last
}

// detach removes a waiter and reports whether nobody is left.
func (s *sharedWatch) detach(by wakeable, name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting[name], by)
	if len(s.waiting[name]) == 0 {
		delete(s.waiting, name)
	}
	return len(s.waiting) == 0
}

func (s *sharedWatch) isUsed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.waiting) > 0
}

// run keeps the watch open. Whenever it had to be opened anew all are woken, also when that failed: then the back-off paces
// how often they look for themselves.
func (s *sharedWatch) run(ctx context.Context) {
	defer s.cancel()
	for attempt := 0; ctx.Err() == nil; attempt++ {
		started := time.Now()
		s.stream(ctx)
		s.interrupted()
		if time.Since(started) > maxWatchPause {
			attempt = 0
		}
		queue.Sleep(ctx, queue.Doubled(minWatchPause, maxWatchPause, attempt))
		s.wakeAll()
	}
}

// stream opens the watch and reports changes until it breaks, be it by a panic over what the target sends.
func (s *sharedWatch) stream(ctx context.Context) {
	_ = fault.Survived(ctx, func() error {
		return s.cluster.Follow(ctx, target.Stream{Kind: s.key.kind, Namespace: s.key.namespace, Name: s.key.name}, target.Handler{
			Opened: s.opened, Changed: func(object *metav1.PartialObjectMetadata, _ bool) { s.report(object.Name) },
		})
	})
}

func (s *sharedWatch) opened() {
	s.mu.Lock()
	s.complete = time.Now()
	s.mu.Unlock()
	s.wakeAll()
}

func (s *sharedWatch) interrupted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.complete = time.Time{}
	clear(s.changed)
}

func (s *sharedWatch) report(name string) {
	s.mu.Lock()
	s.changed[strings.Clone(name)] = time.Now() // not to keep the whole answer of the server
	named, every := slices.Collect(maps.Keys(s.waiting[name])), slices.Collect(maps.Keys(s.waiting[""]))
	s.mu.Unlock()
	for _, waiter := range named {
		waiter.Wake(s.key.of(name))
	}
	for _, waiter := range every {
		waiter.Wake(s.key.wide())
	}
}

// wakeAll wakes everybody for everything that they wait for.
func (s *sharedWatch) wakeAll() {
	s.mu.Lock()
	all := map[wakeable][]watchKey{}
	for name, set := range s.waiting {
		for waiter := range set {
			all[waiter] = append(all[waiter], s.key.of(name))
		}
	}
	s.mu.Unlock()
	for waiter, keys := range all {
		waiter.Wake(keys...)
	}
}

// news is what may have changed for a wakeable since somebody last looked. The zero value is nothing.
type news struct {
	// Anything says that more may have changed than what is named.
	Anything bool
	named    map[watchKey]struct{}
}

// Add notes changes; no keys mean anything.
func (n *news) Add(changed []watchKey) {
	n.Anything = n.Anything || len(changed) == 0
	for _, key := range changed {
		if n.named == nil {
			n.named = map[watchKey]struct{}{}
		}
		n.named[key] = struct{}{}
	}
}

// Tells reports whether a key may have changed.
func (n *news) Tells(key watchKey) bool {
	_, named := n.named[key]
	return named || n.Anything
}
