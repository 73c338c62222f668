// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// streamKey identifies what a stream shows.
type streamKey struct {
	cluster  *rest.Config
	kind     schema.GroupVersionKind
	selector string
	// namespace is empty for all namespaces.
	namespace string
}

// stream is the watch of one kind.
type stream struct {
	watches  *Watches
	key      streamKey
	deployed Deployed
	managers []string
	ctx      context.Context
	cancel   context.CancelFunc

	// The rest belongs to the lock of watches.
	objects map[types.NamespacedName]*state
	// used counts the objects of owners.
	used int
	// listed are the objects that a list has shown that has not ended.
	listed map[types.NamespacedName]struct{}
	// synced says that every change is seen.
	synced bool
	// failing is since when the watch cannot be opened; zero when it can.
	failing time.Time
	trouble Trouble
}

// streamFor returns the stream that shows an object, a new one if there is none.
func (w *Watches) streamFor(deployed Deployed, object Object) *stream {
	key := streamKey{cluster: deployed.Cluster.Config, kind: object.Kind, selector: deployed.Selector}
	if _, isNarrow := w.narrow[key]; isNarrow {
		key.namespace = object.Namespace
	}
	if known, found := w.streams[key]; found {
		return known
	}
	ctx, cancel := context.WithCancel(context.Background())
	opened := &stream{watches: w, key: key, deployed: deployed, managers: deployed.Managers, ctx: ctx, cancel: cancel, objects: map[types.NamespacedName]*state{}}
	opened.deployed.Objects = nil
	w.streams[key] = opened
	if !w.done {
		go opened.run()
	}
	return opened
}

// run keeps the watch open until the stream is cancelled.
func (s *stream) run() {
	for attempt := 0; s.ctx.Err() == nil; attempt++ {
		began := time.Now()
		err := fault.Survived(s.ctx, func() error {
			return s.deployed.Cluster.FollowMetadata(s.ctx, target.MetadataStream{Kind: s.key.kind, Namespace: s.key.namespace, Selector: s.key.selector},
				target.MetadataHandler{Begin: s.begin, Present: s.present, Opened: s.opened, Deleted: s.deleted})
		})
		if s.ctx.Err() != nil || s.split(err) {
			return
		}
		s.broken(err)
		if time.Since(began) > maxPause {
			attempt = 0
		}
		queue.Sleep(s.ctx, Pause(attempt))
	}
}

// begin begins a list.
func (s *stream) begin() {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	s.listed = map[types.NamespacedName]struct{}{}
}

func (s *stream) present(object *metav1.PartialObjectMetadata) { s.note(object, false) }

func (s *stream) deleted(object *metav1.PartialObjectMetadata) { s.note(object, true) }

// note takes note of an object. The strings of an event are part of the whole answer of the server, so that a name is copied to be kept.
func (s *stream) note(object *metav1.PartialObjectMetadata, deleted bool) {
	seen := mark{}
	if !deleted {
		seen = markOf(object, s.managers)
	}
	name := types.NamespacedName{Namespace: strings.Clone(object.Namespace), Name: strings.Clone(object.Name)}
	s.watches.mu.Lock()
	if s.listed != nil {
		s.listed[name] = struct{}{}
	}
	st := s.objects[name]
	var tell map[*owner]struct{}
	switch {
	case st != nil && st.owner != nil:
		if st.update(seen, deleted) {
			tell = map[*owner]struct{}{st.owner: {}}
		}
	case deleted:
		delete(s.objects, name)
	default:
		s.objects[name] = &state{stream: s, mark: seen}
	}
	s.watches.mu.Unlock()
	s.tell(tell)
}

// update enters a version of an object of an owner, and reports whether the owner is to be told.
func (st *state) update(seen mark, deleted bool) bool {
	before := st.suspect
	switch {
	case deleted:
		st.suspect, st.gone, st.owned = st.suspect || !st.gone, true, false
	case st.gone:
		st.suspect, st.gone = true, false
	case st.mark.print == 0:
		st.suspect = st.suspect || isForeign(seen, st.since)
	case st.mark.differs(seen) && !(st.owned && st.mark.own == seen.own):
		st.suspect, st.owned = st.suspect || !isOwnWrite(st.mark, seen), false
	}
	st.mark = seen
	return st.suspect && !before
}

// isForeign reports whether somebody else may have changed an object after the deployer wrote it last; where it never did, after the last job.
// Times are in whole seconds.
func isForeign(seen mark, since time.Time) bool {
	if seen.ours > 0 {
		return seen.foreign >= seen.ours
	}
	return seen.foreign >= since.Unix()
}

// isOwnWrite reports whether the deployer itself made the difference between two versions.
func isOwnWrite(before, after mark) bool {
	return after.ours > before.ours && after.foreign < after.ours
}

// opened ends the list: what it did not show is gone.
func (s *stream) opened() {
	s.watches.mu.Lock()
	tell := map[*owner]struct{}{}
	for name, st := range s.objects {
		if _, isListed := s.listed[name]; isListed {
			continue
		}
		if st.owner == nil {
			delete(s.objects, name)
		} else if !st.gone {
			st.gone, st.suspect, st.mark = true, true, mark{}
			tell[st.owner] = struct{}{}
		}
	}
	hadTrouble := s.trouble != NoTrouble
	s.synced, s.listed, s.failing, s.trouble = true, nil, time.Time{}, NoTrouble
	for o := range s.owners() {
		isComplete := o.tell && o.isWatched()
		if isComplete || hadTrouble {
			tell[o] = struct{}{}
		}
		o.tell = o.tell && !isComplete
	}
	s.watches.mu.Unlock()
	s.tell(tell)
}

// owners returns who has objects in the stream.
func (s *stream) owners() map[*owner]struct{} {
	owners := map[*owner]struct{}{}
	for _, st := range s.objects {
		if st.owner != nil {
			owners[st.owner] = struct{}{}
		}
	}
	return owners
}

func (s *stream) tell(owners map[*owner]struct{}) {
	for o := range owners {
		s.watches.changed(o.key)
	}
}

// broken notes that the watch has ended.
func (s *stream) broken(err error) {
	s.watches.mu.Lock()
	s.synced = false
	var tell map[*owner]struct{}
	if err != nil {
		if s.failing.IsZero() {
			s.failing = time.Now()
		}
		if trouble := troubleOf(err, time.Since(s.failing)); trouble != s.trouble {
			s.trouble, tell = trouble, s.owners()
		}
	}
	s.watches.mu.Unlock()
	s.tell(tell)
}

// split replaces a watch of all namespaces that the credentials do not allow by one for each namespace that has objects of owners.
func (s *stream) split(err error) bool {
	if !apierrors.IsForbidden(err) || s.key.namespace != "" {
		return false
	}
	w := s.watches
	w.mu.Lock()
	defer w.mu.Unlock()
	for name, st := range s.objects {
		if st.owner != nil && name.Namespace == "" {
			return false // the kind has no namespaces
		}
	}
	if w.streams[s.key] != s {
		return false
	}
	w.narrow[s.key] = struct{}{}
	for name, st := range s.objects {
		if st.owner != nil {
			to := w.streamFor(s.deployed, Object{s.key.kind, name.Namespace, name.Name})
			*st = state{stream: to, owner: st.owner, since: st.since}
			to.objects[name] = st
		}
	}
	for _, one := range w.streams {
		one.used = 0
	}
	for _, o := range w.owners {
		for _, st := range o.objects {
			st.stream.used++
		}
	}
	w.closeUnused()
	return true
}
