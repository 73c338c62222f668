// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"hash"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// minDriftPause and maxDriftPause bound the pause before a watch is opened again.
	minDriftPause = time.Second
	maxDriftPause = 5 * time.Minute
	// shortOutage is how long a target may be away until somebody is told.
	shortOutage = time.Minute
	// grace is how long an object that a job has just made may be missing in a watch until somebody looks for it.
	grace = 5 * time.Second
)

// driftPause returns the pause before an attempt to open a watch: the shortest, doubled up to the longest, and up to a fifth more so that
// the watches on a target that was away do not all come at once.
func driftPause(attempt int) time.Duration {
	pause := queue.Doubled(minDriftPause, maxDriftPause, attempt)
	return pause + rand.N(pause/5) // #nosec G404 -- only spreads the load
}

// driftTrouble is why the objects of an item cannot be watched.
type driftTrouble string

const (
	// noTrouble says that all are watched, or soon will be.
	noTrouble driftTrouble = ""
	// troubleForbidden says that the credentials of the target do not allow to list and watch a kind.
	troubleForbidden driftTrouble = "may not be listed and watched with the credentials of the Target"
	// troubleNoKind says that the target does not have a kind any more.
	troubleNoKind driftTrouble = "are of a kind that the target does not have"
	// troubleUnreachable says that the target has not answered for a while.
	troubleUnreachable driftTrouble = "cannot be watched, because the target does not answer or ends each watch at once"
)

// troubleOf names the trouble behind an error of a watch that has failed for some time.
func troubleOf(err error, since time.Duration) driftTrouble {
	switch {
	case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
		return troubleForbidden
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return troubleNoKind
	case since >= shortOutage:
		return troubleUnreachable
	}
	return noTrouble
}

// driftStreamKey identifies what a stream shows.
type driftStreamKey struct {
	// cluster is the connection that clusters share which are the same.
	cluster  *rest.Config
	kind     schema.GroupVersionKind
	selector string
	// namespace is empty for all namespaces.
	namespace string
}

// driftStream watches the metadata of one kind of a target once for all items that have deployed objects of it, and keeps little of each object.
type driftStream struct {
	desk     *driftDesk
	key      driftStreamKey
	cluster  *target.Cluster
	managers []string
	ctx      context.Context
	cancel   context.CancelFunc

	// The rest belongs to the lock of the desk.
	objects map[types.NamespacedName]*driftObject
	// used counts the objects of items.
	used int
	// listed are the objects that a list has shown that has not ended.
	listed map[types.NamespacedName]struct{}
	// synced says that every change is seen.
	synced bool
	// failing is since when the watch cannot be opened; zero when it can.
	failing time.Time
	trouble driftTrouble
}

// driftObject is what is known of an object.
type driftObject struct {
	stream *driftStream
	// owner is nil for objects of nobody: a job that has not ended may have made them.
	owner *driftItem
	mark  mark
	// since is when the last job of the owner ended.
	since time.Time
	// owned says that the deployer owns every field that it wants, so that nobody can change one and leave the deployer's set of fields as it is.
	owned bool
	// suspect says that somebody may have changed or deleted the object, gone that it is not there.
	suspect, gone bool
}

// streamFor returns the stream that shows an object, a new one if there is none.
func (d *driftDesk) streamFor(cluster *target.Cluster, key driftStreamKey, managers []string, namespace string) *driftStream {
	if _, isNarrow := d.narrow[key]; isNarrow {
		key.namespace = namespace
	}
	if known, found := d.streams[key]; found {
		return known
	}
	ctx, cancel := context.WithCancel(context.Background())
	opened := &driftStream{desk: d, key: key, cluster: cluster, managers: managers, ctx: ctx, cancel: cancel, objects: map[types.NamespacedName]*driftObject{}}
	d.streams[key] = opened
	if !d.done {
		go opened.run()
	}
	return opened
}

// attach makes the objects of an item those that its last job has deployed. What is known of objects that it had before stays. With all, each is
// suspicious.
func (d *driftDesk) attach(known *driftItem, cluster *target.Cluster, deployed Deployed, since time.Time, all bool) {
	attached, isMissing := map[managedresource.ResourceReference]*driftObject{}, false
	for _, ref := range deployed.Objects {
		key := driftStreamKey{cluster: cluster.Config, kind: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), selector: deployed.Selector}
		stream := d.streamFor(cluster, key, deployed.Managers, ref.Namespace)
		name := types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}
		object, isKnown := stream.objects[name]
		if !isKnown {
			object = &driftObject{stream: stream}
			stream.objects[name] = object
			isMissing = isMissing || stream.synced
		}
		if object.owner != known {
			object.suspect = isKnown && (object.gone || isForeign(object.mark, since))
		}
		if ref = keyOfObject(ref); attached[ref] == nil {
			stream.used++
		}
		object.owner, object.since, object.suspect, attached[ref] = known, since, object.suspect || all, object
	}
	d.detach(known, attached)
	if known.objects = attached; isMissing {
		known.late = time.AfterFunc(grace, func() { d.lookForMissing(known) })
	}
}

// detach takes the objects off an item that are not among those that it keeps. Watches that show objects of no item end.
func (d *driftDesk) detach(known *driftItem, kept map[managedresource.ResourceReference]*driftObject) {
	if known.late != nil {
		known.late.Stop()
	}
	for ref, object := range known.objects {
		object.stream.used--
		if object.owner == known && kept[ref] != object {
			delete(object.stream.objects, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
		}
	}
	known.objects = nil
	watched := map[driftStreamKey]bool{}
	for key, stream := range d.streams {
		if stream.used > 0 {
			key.namespace = ""
			watched[key] = true
			continue
		}
		stream.cancel()
		delete(d.streams, key)
	}
	maps.DeleteFunc(d.narrow, func(key driftStreamKey, _ struct{}) bool { return !watched[key] })
}

// take returns the objects of an item that somebody may have changed or deleted since they were last taken, and are not another one's by now.
func (i *driftItem) take() []managedresource.ResourceReference {
	var taken []managedresource.ResourceReference
	for ref, object := range i.objects {
		if object.suspect && object.owner == i {
			object.suspect = false
			taken = append(taken, ref)
		}
	}
	return taken
}

// isWatched reports whether no change of the objects goes unnoticed.
func (i *driftItem) isWatched() bool {
	for _, object := range i.objects {
		if !object.stream.synced {
			return false
		}
	}
	return true
}

// troubled returns why objects cannot be watched, and the kind of such an object.
func (i *driftItem) troubled() (driftTrouble, string) {
	for _, object := range i.objects {
		if object.stream.trouble != noTrouble {
			return object.stream.trouble, object.stream.key.kind.Kind
		}
	}
	return noTrouble, ""
}

// lookForMissing makes objects suspicious that the watches of an item have not shown since it has them.
func (d *driftDesk) lookForMissing(known *driftItem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, object := range known.objects {
		if object.owner == known && object.mark.print == 0 && !object.gone && object.stream.synced {
			object.suspect = true
			known.site.queue.Add(known.key)
		}
	}
}

// run keeps the watch open until the stream is cancelled.
func (s *driftStream) run() {
	for attempt := 0; s.ctx.Err() == nil; attempt++ {
		began := time.Now()
		err := fault.Survived(s.ctx, func() error {
			return s.cluster.Follow(s.ctx, target.Stream{Kind: s.key.kind, Namespace: s.key.namespace, Selector: s.key.selector}, target.Handler{
				Begin: s.begin, Listed: func(object *metav1.PartialObjectMetadata) { s.note(object, false) }, Opened: s.opened, Changed: s.note,
			})
		})
		if s.ctx.Err() != nil || s.split(err) {
			return
		}
		s.broken(err)
		if time.Since(began) > maxDriftPause {
			attempt = 0
		}
		queue.Sleep(s.ctx, driftPause(attempt))
	}
}

// begin begins a list.
func (s *driftStream) begin() {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.listed = map[types.NamespacedName]struct{}{}
}

// note takes note of an object. The strings of an event are part of the whole answer of the server, so that a name is copied to be kept.
func (s *driftStream) note(object *metav1.PartialObjectMetadata, isDeleted bool) {
	seen := mark{}
	if !isDeleted {
		seen = markOf(object, s.managers)
	}
	name := types.NamespacedName{Namespace: strings.Clone(object.Namespace), Name: strings.Clone(object.Name)}
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	if s.listed != nil {
		s.listed[name] = struct{}{}
	}
	known := s.objects[name]
	switch {
	case known != nil && known.owner != nil:
		if known.update(seen, isDeleted) {
			known.owner.site.queue.Add(known.owner.key)
		}
	case isDeleted:
		delete(s.objects, name)
	default:
		s.objects[name] = &driftObject{stream: s, mark: seen}
	}
}

// update enters a version of an object of an item, and reports whether the item is to be searched.
func (o *driftObject) update(seen mark, isDeleted bool) bool {
	before := o.suspect
	switch {
	case isDeleted:
		o.suspect, o.gone, o.owned = o.suspect || !o.gone, true, false
	case o.gone:
		o.suspect, o.gone = true, false
	case o.mark.print == 0:
		o.suspect = o.suspect || isForeign(seen, o.since)
	case o.mark.differs(seen) && !(o.owned && o.mark.own == seen.own):
		isOwnWrite := seen.ours > o.mark.ours && seen.foreign < seen.ours
		o.suspect, o.owned = o.suspect || !isOwnWrite, false
	}
	o.mark = seen
	return o.suspect && !before
}

// isForeign reports whether somebody else may have changed an object after the deployer wrote it last; where it never did, after the last job.
// Times are in whole seconds.
func isForeign(seen mark, since time.Time) bool {
	if seen.ours > 0 {
		return seen.foreign >= seen.ours
	}
	return seen.foreign >= since.Unix()
}

// opened ends the list: what it did not show is gone.
func (s *driftStream) opened() {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	hadTrouble := s.trouble != noTrouble
	s.synced, s.failing, s.trouble = true, time.Time{}, noTrouble
	for name, object := range s.objects {
		_, isListed := s.listed[name]
		switch {
		case object.owner == nil && !isListed:
			delete(s.objects, name)
		case object.owner == nil:
		case !isListed && !object.gone:
			object.gone, object.suspect, object.mark = true, true, mark{}
			object.owner.site.queue.Add(object.owner.key)
		case hadTrouble || object.owner.doubtful && object.owner.isWatched():
			object.owner.site.queue.Add(object.owner.key)
		}
	}
	s.listed = nil
}

// queueAll queues the items that have objects in the stream.
func (s *driftStream) queueAll() {
	for _, object := range s.objects {
		if object.owner != nil {
			object.owner.site.queue.Add(object.owner.key)
		}
	}
}

// broken notes that the watch has ended.
func (s *driftStream) broken(err error) {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	if s.synced = false; err == nil {
		return
	}
	if s.failing.IsZero() {
		s.failing = time.Now()
	}
	if trouble := troubleOf(err, time.Since(s.failing)); trouble != s.trouble {
		s.trouble = trouble
		s.queueAll()
	}
}

// split replaces a watch of all namespaces that the credentials do not allow by one for each namespace that has objects of items.
func (s *driftStream) split(err error) bool {
	if !apierrors.IsForbidden(err) || s.key.namespace != "" {
		return false
	}
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, object := range s.objects {
		if object.owner != nil && name.Namespace == "" {
			return false // the kind has no namespaces
		}
	}
	if d.streams[s.key] != s {
		return false
	}
	d.narrow[s.key] = struct{}{}
	delete(d.streams, s.key)
	for name, object := range s.objects {
		if object.owner != nil {
			object.stream = d.streamFor(s.cluster, s.key, s.managers, name.Namespace)
			object.stream.objects[name], object.mark = object, mark{}
		}
	}
	for _, known := range d.items {
		for _, object := range known.objects {
			if object.stream.key.selector == s.key.selector && object.stream.key.kind == s.key.kind && object.stream.key.cluster == s.key.cluster {
				object.stream.used++
			}
		}
	}
	s.cancel()
	return true
}

// mark is what is kept of the metadata of an object.
type mark struct {
	// print tells versions of the object apart, as far as they differ in more than the status. It is never 0.
	print uint64
	// version is the generation of the object; of kinds without one the version. status tells sets of fields of the status apart, with their times.
	version, status uint64
	// own tells the sets of fields of the deployer apart.
	own uint64
	// ours and foreign are when the deployer and anybody else last changed more than the status, in Unix seconds as managedFields have it; 0
	// is never.
	ours, foreign int64
}

// markOf reads managedFields: who changes a field enters itself there, and takes the field out of the entry of who had it. Entries of the
// status do not count. An object without managedFields is known by its version.
func markOf(object metav1.Object, managers []string) mark {
	fields, own, status := fnv.New64a(), fnv.New64a(), fnv.New64a()
	m := mark{version: uint64(object.GetGeneration())} // #nosec G115 -- only the bits count
	if m.version == 0 {
		version := fnv.New64a()
		_, _ = version.Write([]byte(object.GetResourceVersion()))
		m.version = version.Sum64()
	}
	entries := object.GetManagedFields()
	if len(entries) == 0 {
		_, _ = fields.Write([]byte(object.GetResourceVersion()))
	}
	for i := range entries {
		entry := &entries[i]
		at := int64(1)
		if entry.Time != nil {
			at = entry.Time.Unix()
		}
		if entry.Subresource == "status" {
			enter(status, entry, at)
			continue
		}
		if slices.Contains(managers, entry.Manager) && entry.Subresource == "" {
			if entry.FieldsV1 != nil {
				_, _ = own.Write(entry.FieldsV1.GetRawBytes())
			}
			m.ours = max(m.ours, at)
		} else {
			m.foreign = max(m.foreign, at)
		}
		enter(fields, entry, at)
	}
	m.print, m.own, m.status = max(fields.Sum64(), 1), own.Sum64(), status.Sum64()
	return m
}

// enter adds an entry to a hash.
func enter(into hash.Hash, entry *metav1.ManagedFieldsEntry, at int64) {
	_, _ = into.Write([]byte(entry.Manager + "\x00" + string(entry.Operation) + "\x00" + entry.Subresource + "\x00"))
	_, _ = into.Write([]byte{byte(at), byte(at >> 8), byte(at >> 16), byte(at >> 24)}) // #nosec G115 -- only the bits count
	if entry.FieldsV1 != nil {
		_, _ = into.Write(entry.FieldsV1.GetRawBytes())
	}
}

// differs reports whether two versions differ in more than the status. Times in managedFields have whole seconds: who writes the same field twice
// in one shows only in the version.
func (m mark) differs(other mark) bool {
	return m.print != other.print || m.version != other.version && m.status == other.status
}
