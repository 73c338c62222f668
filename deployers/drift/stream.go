// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"maps"
	"slices"
	"time"
	"unique"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/rescue"
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
	cluster  *target.Cluster
	managers []string
	ctx      context.Context
	cancel   context.CancelFunc

	// The rest belongs to the lock of watches.
	objects map[objectKey]state
	// used counts the objects of owners, strangers those of nobody.
	used, strangers int
	// closed says that nothing is remembered any more, though an event may still come.
	closed bool
	// synced says that every change is seen; round counts the lists.
	synced bool
	round  uint32
	// failing is since when the watch cannot be opened; zero when it can.
	failing time.Time
	trouble Trouble
}

// state is what is known of an object.
type state struct {
	// owner is nil for objects of nobody: a job that has not ended may have made them.
	owner *owner
	mark  mark
	since int64
	round uint32
	// owned says that the deployer owns every field that it wants, so that nobody can change one and leave the deployer's set of fields as it is.
	owned bool
	// suspect says that somebody may have changed or deleted the object, gone that it is not there.
	suspect, gone bool
}

func newStream(w *Watches, key streamKey, cluster *target.Cluster, managers []string) *stream {
	ctx, cancel := context.WithCancel(context.Background())
	return &stream{watches: w, key: key, cluster: cluster, managers: managers, ctx: ctx, cancel: cancel, objects: map[objectKey]state{}}
}

// run keeps the watch open until the stream is cancelled.
func (s *stream) run() {
	for attempt := 0; s.ctx.Err() == nil; attempt++ {
		began := time.Now()
		err := rescue.Survived(s.ctx, s.follow)
		if s.ctx.Err() != nil || s.split(err) {
			return
		}
		s.broken(err)
		if time.Since(began) > maxPause {
			attempt = 0
		}
		kit.Sleep(s.ctx, Pause(attempt))
	}
}

// follow opens the watch and takes note of what it shows until it breaks.
func (s *stream) follow() error {
	return s.cluster.FollowMetadata(s.ctx, target.MetadataStream{Kind: s.key.kind, Namespace: s.key.namespace, Selector: s.key.selector},
		target.MetadataHandler{Begin: s.begin, Present: s.present, Opened: s.opened, Deleted: s.deleted})
}

// begin begins a list.
func (s *stream) begin() {
	s.watches.mu.Lock()
	defer s.watches.mu.Unlock()
	s.round++
}

func (s *stream) present(object *metav1.PartialObjectMetadata) { s.note(object, false) }

func (s *stream) deleted(object *metav1.PartialObjectMetadata) { s.note(object, true) }

// note takes note of an object.
func (s *stream) note(object *metav1.PartialObjectMetadata, deleted bool) {
	seen := mark{}
	if !deleted {
		seen = markOf(object, s.managers)
	}
	key := objectKey{unique.Make(object.Namespace), object.Name}
	s.watches.mu.Lock()
	news := s.update(key, seen, deleted)
	s.watches.mu.Unlock()
	if news != nil {
		s.watches.changed(news.key)
	}
}

// update enters an object and returns the owner to tell.
func (s *stream) update(key objectKey, seen mark, deleted bool) *owner {
	st, known := s.objects[key]
	if st.owner == nil {
		s.meet(key, st, known, seen, deleted)
		return nil
	}
	before := st
	st.round = s.round
	switch {
	case deleted:
		st.suspect, st.gone, st.mark, st.owned = st.suspect || !st.gone, true, mark{}, false
	case st.gone:
		st.suspect, st.gone, st.mark = true, false, seen
	case st.mark.print == 0:
		st.suspect, st.mark = st.suspect || isForeign(seen, time.Unix(st.since, 0)), seen
	case st.mark.differs(seen) && st.owned && st.mark.own == seen.own:
		st.mark = seen
	case st.mark.differs(seen):
		st.suspect, st.mark, st.owned = st.suspect || !isOwnWrite(st.mark, seen), seen, false
	default:
		st.mark = seen
	}
	s.objects[key] = st
	if st.suspect && !before.suspect {
		return st.owner
	}
	return nil
}

// meet enters an object of nobody.
func (s *stream) meet(key objectKey, st state, known bool, seen mark, deleted bool) {
	switch {
	case deleted && known:
		delete(s.objects, key)
		s.forgetStranger()
		return
	case deleted, !known && !s.hasRoomFor(key):
		return
	case !known:
		// the strings of an event are part of the whole answer of the server
		key.name = string([]byte(key.name))
		s.strangers++
		s.watches.strangers++
	}
	st.mark, st.round = seen, s.round
	s.objects[key] = st
}

// hasRoomFor reports whether one more object of nobody is remembered. One that is not is read once when it becomes an owner's.
func (s *stream) hasRoomFor(key objectKey) bool {
	return !s.closed && s.strangers < maxStrangers && s.watches.strangers < maxAllStrangers && max(len(key.name), len(key.namespace.Value())) <= maxName
}

// close ends the watch of a stream that has no objects of owners.
func (s *stream) close() {
	s.cancel()
	s.watches.strangers -= s.strangers
	s.closed, s.strangers = true, 0
	clear(s.objects)
}

// forgetStranger counts an object of nobody less.
func (s *stream) forgetStranger() {
	s.strangers--
	s.watches.strangers--
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
	tell := map[types.NamespacedName]struct{}{}
	s.synced, s.failing = true, time.Time{}
	for key, st := range s.objects {
		switch {
		case st.round == s.round:
		case st.owner == nil:
			delete(s.objects, key)
			s.forgetStranger()
		case !st.gone:
			st.gone, st.suspect, st.mark = true, true, mark{}
			s.objects[key] = st
			tell[st.owner.key] = struct{}{}
		}
	}
	maps.Copy(tell, s.setTrouble(NoTrouble))
	for o := range s.impatient() {
		if o.isWatched() {
			o.tell = false
			tell[o.key] = struct{}{}
		}
	}
	s.watches.mu.Unlock()
	s.tell(tell)
}

// impatient returns the owners, each once, that are to be told when all their objects are watched.
func (s *stream) impatient() map[*owner]struct{} {
	owners := map[*owner]struct{}{}
	for _, st := range s.objects {
		if st.owner != nil && st.owner.tell {
			owners[st.owner] = struct{}{}
		}
	}
	return owners
}

// broken notes that the watch has ended.
func (s *stream) broken(err error) {
	s.watches.mu.Lock()
	s.synced = false
	var tell map[types.NamespacedName]struct{}
	if err != nil {
		if s.failing.IsZero() {
			s.failing = time.Now()
		}
		tell = s.setTrouble(troubleOf(err, time.Since(s.failing)))
	}
	s.watches.mu.Unlock()
	s.tell(tell)
}

// setTrouble returns the owners to tell.
func (s *stream) setTrouble(trouble Trouble) map[types.NamespacedName]struct{} {
	tell := map[types.NamespacedName]struct{}{}
	if s.trouble == trouble {
		return tell
	}
	s.trouble = trouble
	for _, st := range s.objects {
		if st.owner != nil {
			tell[st.owner.key] = struct{}{}
		}
	}
	return tell
}

func (s *stream) tell(owners map[types.NamespacedName]struct{}) {
	for key := range owners {
		s.watches.changed(key)
	}
}

// split replaces a watch of all namespaces that the credentials do not allow by one for each namespace that has objects of owners.
func (s *stream) split(err error) bool {
	if !apierrors.IsForbidden(err) || s.key.namespace != "" {
		return false
	}
	w := s.watches
	w.mu.Lock()
	if w.streams[s.key] != s || !s.isNamespaced() {
		w.mu.Unlock()
		return false
	}
	w.narrow[s.key] = struct{}{}
	owners := map[*owner]struct{}{}
	for _, st := range s.objects {
		if st.owner != nil {
			owners[st.owner] = struct{}{}
		}
	}
	tooMany := map[types.NamespacedName]struct{}{}
	for o := range owners {
		if !w.move(o, s) {
			tooMany[o.key] = struct{}{}
		}
	}
	w.closeUnused()
	w.mu.Unlock()
	s.tell(tooMany)
	return true
}

func (s *stream) isNamespaced() bool {
	for key, st := range s.objects {
		if st.owner != nil && key.namespace.Value() == "" {
			return false
		}
	}
	return true
}

// move takes the objects of an owner from a stream of all namespaces to streams of single ones. It reports false, and leaves the objects out,
// where that would take too many watches.
func (w *Watches) move(o *owner, from *stream) bool {
	complete := true
	deployed := Deployed{Cluster: from.cluster, Selector: from.key.selector, Managers: from.managers}
	for i, p := range o.objects {
		if p.stream != from {
			continue
		}
		to, err := w.streamFor(deployed, p.object())
		if err != nil {
			complete = false
			continue
		}
		st := from.objects[p.key]
		delete(from.objects, p.key)
		from.used--
		to.objects[p.key] = state{owner: o, since: st.since}
		to.used++
		o.objects[i].stream = to
	}
	if !complete {
		o.tooMany = true
		o.objects, o.sorted = slices.DeleteFunc(o.objects, func(p place) bool { return p.stream == from }), nil
		from.used = 0
	}
	return complete
}
