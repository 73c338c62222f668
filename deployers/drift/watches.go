// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// DefaultMaxWatches is how many watches a process holds open at most.
	DefaultMaxWatches = 4096
	// maxStrangers is how many objects of nobody a watch remembers: objects of jobs that have not ended yet.
	maxStrangers = 10000
	// maxAllStrangers is how many of them all watches remember together.
	maxAllStrangers = 10 * maxStrangers
	// maxName is the length of the longest name of an object of nobody that is remembered: that of nearly all kinds.
	maxName = 253
	// grace is how long an object that a job has just made may be missing in a watch until somebody looks for it.
	grace = 5 * time.Second
)

// ErrTooMany says that an owner would need more watches than there may be.
var ErrTooMany = errors.New("too many watches")

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
// concurrent use, and needs about 200 bytes for each object.
type Watches struct {
	// changed is called, with no lock held, when Take has something for an owner, or when its Trouble has changed.
	changed func(owner types.NamespacedName)
	// compare orders objects.
	compare func(a, b Object) int
	// maxWatches bounds the watches.
	maxWatches int

	mu      sync.Mutex
	owners  map[types.NamespacedName]*owner
	streams map[streamKey]*stream
	// narrow are the kinds that may only be watched namespace by namespace.
	narrow map[streamKey]struct{}
	// objects counts those of all owners, strangers those of nobody.
	objects, strangers int
	done               bool
}

// owner is a DeployItem.
type owner struct {
	key     types.NamespacedName
	objects []place
	// sorted are the objects in their order; nil until one is looked for.
	sorted []int32
	late   *time.Timer
	// tooMany says that some of the objects are not watched.
	tooMany bool
	// tell says that the owner is to be told when all objects are watched.
	tell bool
}

// place is where an object is kept.
type place struct {
	stream *stream
	key    objectKey
}

type objectKey struct {
	namespace unique.Handle[string]
	name      string
}

func (p place) object() Object {
	return Object{Kind: p.stream.key.kind, Namespace: p.key.namespace.Value(), Name: p.key.name}
}

// New returns an empty set of watches. A limit of 0 is the default.
func New(changed func(owner types.NamespacedName), maxWatches int) *Watches {
	return &Watches{
		changed: changed, compare: compareObjects, maxWatches: cmp.Or(maxWatches, DefaultMaxWatches),
		owners: map[types.NamespacedName]*owner{}, streams: map[streamKey]*stream{}, narrow: map[streamKey]struct{}{},
	}
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

// Follow makes what an owner has deployed the given objects. What is known of objects that it had before stays. It returns ErrTooMany, and
// watches nothing of the owner, where that would take too many watches.
func (w *Watches) Follow(key types.NamespacedName, deployed Deployed) error {
	w.mu.Lock()
	fresh := &owner{key: key, tell: deployed.Tell}
	before := w.owners[key]
	var err error
	for _, object := range deployed.Objects {
		var s *stream
		if s, err = w.streamFor(deployed, object); err != nil {
			break
		}
		fresh.objects = append(fresh.objects, place{s, objectKey{unique.Make(object.Namespace), object.Name}})
	}
	if err != nil {
		w.detach(before)
		delete(w.owners, key)
		w.closeUnused()
		w.mu.Unlock()
		return err
	}
	w.owners[key] = fresh
	suspicious, missing := w.attach(fresh, deployed.Since)
	w.detach(before)
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
	return nil
}

// Leave forgets an owner. Watches that nobody else needs end.
func (w *Watches) Leave(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.detach(w.owners[key])
	delete(w.owners, key)
	w.closeUnused()
}

// Take returns the objects of an owner that somebody may have changed or deleted since they were last taken.
func (w *Watches) Take(key types.NamespacedName) []Object {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.take(w.owners[key])
}

func (w *Watches) take(o *owner) []Object {
	if o == nil {
		return nil
	}
	var taken []Object
	for _, p := range o.objects {
		if st := p.stream.objects[p.key]; st.owner == o && st.suspect {
			st.suspect = false
			p.stream.objects[p.key] = st
			taken = append(taken, p.object())
		}
	}
	return taken
}

// Suspect makes Take return these objects of an owner again; without objects, all of them.
func (w *Watches) Suspect(key types.NamespacedName, objects ...Object) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.owners[key]
	if o == nil {
		return
	}
	if len(objects) == 0 {
		for _, p := range o.objects {
			p.suspect(o)
		}
		return
	}
	for _, object := range objects {
		if p, found := w.find(o, object); found {
			p.suspect(o)
		}
	}
}

func (p place) suspect(o *owner) {
	if st := p.stream.objects[p.key]; st.owner == o {
		st.suspect = true
		p.stream.objects[p.key] = st
	}
}

// compareObjects orders objects by name first, which differs most.
func compareObjects(a, b Object) int {
	return cmp.Or(
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Kind.Group, b.Kind.Group), cmp.Compare(a.Kind.Version, b.Kind.Version),
	)
}

// find returns where an object of an owner is kept. All owners wait meanwhile, so it does not look at each.
func (w *Watches) find(o *owner, object Object) (place, bool) {
	if o == nil {
		return place{}, false
	}
	if o.sorted == nil {
		o.sorted = make([]int32, len(o.objects))
		for i := range o.sorted {
			o.sorted[i] = int32(i) // #nosec G115 -- nobody has so many
		}
		slices.SortFunc(o.sorted, func(a, b int32) int { return w.compare(o.objects[a].object(), o.objects[b].object()) })
	}
	i, found := slices.BinarySearchFunc(o.sorted, object, func(at int32, object Object) int { return w.compare(o.objects[at].object(), object) })
	if !found {
		return place{}, false
	}
	return o.objects[o.sorted[i]], true
}

// Seen notes an object of an owner as it was read or written just now, so that the event of that version says nothing new. Nil says that it
// does not exist. Owned says that the deployer owns every field that it wants of the object: then what others do with other fields is no news.
func (w *Watches) Seen(key types.NamespacedName, object Object, live metav1.Object, owned bool) {
	seen := mark{}
	if live != nil { // all owners wait while the lock is held, and fields may be long
		seen = markOf(live, w.managersOf(key, object))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p, found := w.find(w.owners[key], object)
	if !found {
		return
	}
	st := p.stream.objects[p.key]
	st.gone, st.mark, st.owned = live == nil, seen, live != nil && owned
	p.stream.objects[p.key] = st
}

// managersOf returns the names under which the deployer writes fields of an object.
func (w *Watches) managersOf(key types.NamespacedName, object Object) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p, found := w.find(w.owners[key], object); found {
		return p.stream.managers
	}
	return nil
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
	return len(w.streams), w.objects
}

// IsWatched reports whether no change of the objects of an owner goes unnoticed.
func (w *Watches) IsWatched(key types.NamespacedName) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.owners[key]
	return o != nil && !o.tooMany && o.isWatched()
}

// isWatched reports whether no change of an object goes unnoticed.
func (o *owner) isWatched() bool {
	return !slices.ContainsFunc(o.objects, func(p place) bool { return !p.stream.synced })
}

func (o *owner) troubled() (Trouble, schema.GroupVersionKind) {
	if o.tooMany {
		return TroubleTooMany, schema.GroupVersionKind{}
	}
	for _, p := range o.objects {
		if p.stream.trouble != NoTrouble {
			return p.stream.trouble, p.stream.key.kind
		}
	}
	return NoTrouble, schema.GroupVersionKind{}
}

// streamFor returns the stream that shows an object, a new one if there is none.
func (w *Watches) streamFor(deployed Deployed, object Object) (*stream, error) {
	key := streamKey{cluster: deployed.Cluster.Config, kind: object.Kind, selector: deployed.Selector}
	if _, isNarrow := w.narrow[key]; isNarrow {
		key.namespace = object.Namespace
	}
	if known, found := w.streams[key]; found {
		return known, nil
	}
	if len(w.streams) >= w.maxWatches {
		return nil, ErrTooMany
	}
	opened := newStream(w, key, deployed.Cluster, deployed.Managers)
	w.streams[key] = opened
	if !w.done {
		go opened.run()
	}
	return opened, nil
}

// attach makes the streams of an owner know that its objects are the owner's.
func (w *Watches) attach(o *owner, since time.Time) (suspicious, missing bool) {
	for _, p := range o.objects {
		st, known := p.stream.objects[p.key]
		if !known {
			missing = missing || p.stream.synced
		} else if st.owner == nil {
			p.stream.forgetStranger()
		}
		if st.owner == nil || st.owner.key != o.key {
			st.suspect = known && (st.gone || isForeign(st.mark, since))
		}
		st.owner, st.since = o, since.Unix()
		p.stream.objects[p.key] = st
		p.stream.used++
		w.objects++
		suspicious = suspicious || st.suspect
	}
	return suspicious, missing
}

// detach takes the objects off an owner that it no longer has.
func (w *Watches) detach(o *owner) {
	if o == nil {
		return
	}
	if o.late != nil {
		o.late.Stop()
	}
	for _, p := range o.objects {
		p.stream.used--
		w.objects--
		if st, known := p.stream.objects[p.key]; known && st.owner == o {
			delete(p.stream.objects, p.key)
		}
	}
}

func (w *Watches) closeUnused() {
	for key, s := range w.streams {
		if s.used > 0 {
			continue
		}
		s.close()
		delete(w.streams, key)
	}
	w.forgetNarrow()
}

// forgetNarrow forgets the kinds that are not watched in any namespace any more.
func (w *Watches) forgetNarrow() {
	if len(w.narrow) == 0 {
		return
	}
	watched := make(map[streamKey]struct{}, len(w.streams))
	for key := range w.streams {
		key.namespace = ""
		watched[key] = struct{}{}
	}
	for key := range w.narrow {
		if _, isWatched := watched[key]; !isWatched {
			delete(w.narrow, key)
		}
	}
}

// lookForMissing makes objects suspicious that the watches of an owner have not shown since it followed them.
func (w *Watches) lookForMissing(o *owner) {
	w.mu.Lock()
	missing := false
	if w.owners[o.key] == o {
		for _, p := range o.objects {
			if st := p.stream.objects[p.key]; st.owner == o && st.mark.print == 0 && !st.gone && p.stream.synced {
				st.suspect, missing = true, true
				p.stream.objects[p.key] = st
			}
		}
	}
	w.mu.Unlock()
	if missing {
		w.changed(o.key)
	}
}
