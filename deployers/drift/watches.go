// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package drift finds out from the metadata of deployed objects which of them somebody may have changed or deleted. It watches each kind of a
// target once for all who deploy there, keeps little of each object, and compares nothing itself: see Watches.
package drift

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// minPause and maxPause bound the pause before a watch is opened again.
	minPause = time.Second
	maxPause = 5 * time.Minute
	// shortOutage is how long a target may be away until somebody is told.
	shortOutage = time.Minute
	// grace is how long an object that a job has just made may be missing in a watch until somebody looks for it.
	grace = 5 * time.Second
)

// Pause returns the pause before an attempt to open a watch: the shortest, doubled up to the longest, and up to a fifth more so that
// the watches on a target that was away do not all come at once.
func Pause(attempt int) time.Duration {
	pause := queue.Doubled(minPause, maxPause, attempt)
	return pause + rand.N(pause/5) // #nosec G404 -- only spreads the load
}

// Trouble is why the objects of an owner cannot be watched.
type Trouble string

// Troubles.
const (
	// NoTrouble says that all are watched, or soon will be.
	NoTrouble Trouble = ""
	// TroubleForbidden says that the credentials of the target do not allow to list and watch a kind.
	TroubleForbidden Trouble = "may not be listed and watched with the credentials of the Target"
	// TroubleNoKind says that the target does not have a kind any more.
	TroubleNoKind Trouble = "are of a kind that the target does not have"
	// TroubleUnreachable says that the target has not answered for a while.
	TroubleUnreachable Trouble = "cannot be watched, because the target does not answer or ends each watch at once"
)

// troubleOf names the trouble behind an error of a watch that has failed for some time.
func troubleOf(err error, since time.Duration) Trouble {
	switch {
	case err == nil:
		return NoTrouble
	case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
		return TroubleForbidden
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return TroubleNoKind
	case since >= shortOutage:
		return TroubleUnreachable
	}
	return NoTrouble
}

// Object names a deployed object.
type Object struct {
	Kind            schema.GroupVersionKind
	Namespace, Name string
}

// Deployed is what an owner has deployed on a target.
type Deployed struct {
	// Cluster is the target. Clusters are the same when they share their connection.
	Cluster *target.Cluster
	// Selector selects by labels what the deployer has deployed, so that objects of others cost nothing.
	Selector string
	// Managers are the names under which the deployer writes fields.
	Managers []string
	// Objects are what to watch.
	Objects []Object
	// Since is when the owner's last job ended. Later changes of objects that the deployer has never written are those of others.
	Since time.Time
	// Tell asks for a call when all objects are watched.
	Tell bool
}

// Watches watches the metadata of deployed objects, each kind of a target once for all owners: an owner is a DeployItem. It is safe for
// concurrent use.
type Watches struct {
	// changed is called, with no lock held, when Take has something for an owner, or when its Trouble has changed.
	changed func(owner types.NamespacedName)

	mu      sync.Mutex
	owners  map[types.NamespacedName]*owner
	streams map[streamKey]*stream
	// narrow are the kinds that may only be watched namespace by namespace.
	narrow map[streamKey]struct{}
	done   bool
}

// owner is a DeployItem.
type owner struct {
	key     types.NamespacedName
	objects map[Object]*state
	late    *time.Timer
	// tell says that the owner is to be told when all objects are watched.
	tell bool
}

// state is what is known of an object.
type state struct {
	stream *stream
	// owner is nil for objects of nobody: a job that has not ended may have made them.
	owner *owner
	mark  mark
	// since is when the last job of the owner ended.
	since time.Time
	// owned says that the deployer owns every field that it wants, so that nobody can change one and leave the deployer's set of fields as it is.
	owned bool
	// suspect says that somebody may have changed or deleted the object, gone that it is not there.
	suspect, gone bool
}

// New returns an empty set of watches.
func New(changed func(owner types.NamespacedName)) *Watches {
	return &Watches{changed: changed, owners: map[types.NamespacedName]*owner{}, streams: map[streamKey]*stream{}, narrow: map[streamKey]struct{}{}}
}

// Run ends all watches with ctx.
func (w *Watches) Run(ctx context.Context) error {
	<-ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	for _, s := range w.streams {
		s.cancel()
	}
	return nil
}

// Follow makes what an owner has deployed the given objects. What is known of objects that it had before stays.
func (w *Watches) Follow(key types.NamespacedName, deployed Deployed) {
	w.mu.Lock()
	fresh := &owner{key: key, objects: map[Object]*state{}, tell: deployed.Tell}
	suspicious, missing := false, false
	for _, object := range deployed.Objects {
		s := w.streamFor(deployed, object)
		name := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
		st, isKnown := s.objects[name]
		if !isKnown {
			st = &state{stream: s}
			s.objects[name] = st
			missing = missing || s.synced
		}
		if st.owner == nil || st.owner.key != key {
			st.suspect = isKnown && (st.gone || isForeign(st.mark, deployed.Since))
		}
		if fresh.objects[object] == nil {
			s.used++
		}
		st.owner, st.since, fresh.objects[object] = fresh, deployed.Since, st
		suspicious = suspicious || st.suspect
	}
	w.detach(w.owners[key])
	w.owners[key] = fresh
	w.closeUnused()
	if missing {
		fresh.late = time.AfterFunc(grace, func() { w.lookForMissing(fresh) })
	}
	trouble, _ := fresh.troubled()
	suspicious = suspicious || trouble != NoTrouble || fresh.tell && fresh.isWatched()
	w.mu.Unlock()
	if suspicious {
		w.changed(key)
	}
}

// detach takes the objects off an owner that it no longer has.
func (w *Watches) detach(o *owner) {
	if o == nil {
		return
	}
	if o.late != nil {
		o.late.Stop()
	}
	for object, st := range o.objects {
		st.stream.used--
		if st.owner == o {
			delete(st.stream.objects, types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
		}
	}
	delete(w.owners, o.key)
}

// closeUnused ends the watches that show objects of no owner.
func (w *Watches) closeUnused() {
	watched := map[streamKey]bool{}
	for key, s := range w.streams {
		if s.used > 0 {
			key.namespace = ""
			watched[key] = true
			continue
		}
		s.cancel()
		delete(w.streams, key)
	}
	maps.DeleteFunc(w.narrow, func(key streamKey, _ struct{}) bool { return !watched[key] })
}

// Leave forgets an owner. Watches that nobody else needs end.
func (w *Watches) Leave(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.detach(w.owners[key])
	w.closeUnused()
}

// Take returns the objects of an owner that somebody may have changed or deleted since they were last taken.
func (w *Watches) Take(key types.NamespacedName) []Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	var taken []Object
	for object, st := range w.of(key) {
		if st.suspect {
			st.suspect = false
			taken = append(taken, object)
		}
	}
	return taken
}

// of returns the objects of an owner that are not another one's by now.
func (w *Watches) of(key types.NamespacedName) map[Object]*state {
	objects := map[Object]*state{}
	if o := w.owners[key]; o != nil {
		for object, st := range o.objects {
			if st.owner == o {
				objects[object] = st
			}
		}
	}
	return objects
}

// Suspect makes Take return these objects of an owner again; without objects, all of them.
func (w *Watches) Suspect(key types.NamespacedName, objects ...Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := w.of(key)
	if len(objects) == 0 {
		objects = slices.Collect(maps.Keys(all))
	}
	for _, object := range objects {
		if st := all[object]; st != nil {
			st.suspect = true
		}
	}
}

// Seen notes an object of an owner as it was read or written just now, so that the event of that version says nothing new. Nil says that it
// does not exist. Owned says that the deployer owns every field that it wants of the object: then what others do with other fields is no news.
func (w *Watches) Seen(key types.NamespacedName, object Object, live metav1.Object, owned bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.owners[key]
	if o == nil || o.objects[object] == nil {
		return
	}
	st := o.objects[object]
	st.gone, st.mark, st.owned = live == nil, mark{}, live != nil && owned
	if live != nil {
		st.mark = markOf(live, st.stream.managers)
	}
}

// Trouble returns why objects of an owner cannot be watched, and the kind of such an object.
func (w *Watches) Trouble(key types.NamespacedName) (Trouble, schema.GroupVersionKind) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o := w.owners[key]; o != nil {
		return o.troubled()
	}
	return NoTrouble, schema.GroupVersionKind{}
}

// Count returns how many watches there are, and how many objects of owners they show.
func (w *Watches) Count() (watches, objects int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.streams {
		objects += s.used
	}
	return len(w.streams), objects
}

// IsWatched reports whether no change of the objects of an owner goes unnoticed.
func (w *Watches) IsWatched(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.owners[key]
	return o != nil && o.isWatched()
}

func (o *owner) isWatched() bool {
	for _, st := range o.objects {
		if !st.stream.synced {
			return false
		}
	}
	return true
}

func (o *owner) troubled() (Trouble, schema.GroupVersionKind) {
	for _, st := range o.objects {
		if st.stream.trouble != NoTrouble {
			return st.stream.trouble, st.stream.key.kind
		}
	}
	return NoTrouble, schema.GroupVersionKind{}
}

// lookForMissing makes objects suspicious that the watches of an owner have not shown since it followed them.
func (w *Watches) lookForMissing(o *owner) {
	w.mu.Lock()
	missing := false
	if w.owners[o.key] == o {
		for _, st := range w.of(o.key) {
			if st.mark.print == 0 && !st.gone && st.stream.synced {
				st.suspect, missing = true, true
			}
		}
	}
	w.mu.Unlock()
	if missing {
		w.changed(o.key)
	}
}
