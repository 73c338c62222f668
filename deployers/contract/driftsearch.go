// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/drift"
)

const (
	// freeSearches of an item come at once, further ones at this rate: whoever changes objects all the time costs no more than that.
	freeSearches    = 10
	searchesASecond = 0.5
	// searchTime bounds one search in the objects of an item.
	searchTime = time.Minute
	// reopenPause is the least time between two looks at the content of a Target whose watches break.
	reopenPause = 30 * time.Second
	// newTime is how long after its job an item counts as new. A process that starts later does not compare what all of them have merged.
	newTime = time.Minute
)

// handle does what there is to do for an item.
func (s *driftSite) handle(ctx context.Context, key types.NamespacedName) {
	item := &v1alpha1.DeployItem{}
	if err := s.desk.client.Get(ctx, key, item); err != nil || !isAtRest(item) {
		return // an event follows
	}
	known, search, ctx := s.begin(ctx, item)
	if known == nil {
		return
	}
	defer s.finish(key, search)
	if known.followed || s.follow(item, known) {
		s.search(ctx, item, known)
	}
}

// begin notes that a search is under way, unless the item has moved on.
func (s *driftSite) begin(ctx context.Context, item *v1alpha1.DeployItem) (*driftItem, *driftRun, context.Context) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	key := client.ObjectKeyFromObject(item)
	known := d.items[key]
	if known == nil || known.paused || known.site != s || known.uid != item.UID || known.job.id != item.Status.JobIDFinished ||
		known.job.generation != item.Generation {
		return nil, nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	begun := &driftRun{cancel: cancel, done: make(chan struct{})}
	d.searches[key] = begun
	return known, begun, ctx
}

func (s *driftSite) finish(key types.NamespacedName, search *driftRun) {
	search.cancel()
	s.desk.mu.Lock()
	delete(s.desk.searches, key)
	s.desk.mu.Unlock()
	close(search.done)
}

// follow makes the watches know the objects of an item. It reports false where these are not on the cluster of the Target any more.
func (s *driftSite) follow(item *v1alpha1.DeployItem, known *driftItem) bool {
	d := s.desk
	deployed, err := d.detector.Deployed(item)
	if err != nil || !d.detector.IsAt(item, s.at) {
		d.watches.Leave(known.key)
		return false
	}
	objects := make([]drift.Object, 0, len(deployed.Objects))
	for _, ref := range deployed.Objects {
		objects = append(objects, watchedObject(ref))
	}
	d.mu.Lock()
	known.followed = true // before the watches know the item, because they may call back at once
	d.mu.Unlock()
	d.watches.Follow(known.key, drift.Deployed{
		Cluster: s.cluster, Selector: deployed.Selector, Managers: deployed.Managers, Objects: objects, Since: finishedAt(item), Tell: known.doubtful,
	})
	if known.doubtful && isShownDrifted(item) || known.isNew && deployed.Merged {
		d.watches.Suspect(known.key)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.items[known.key] == nil { // it was forgotten meanwhile, and nobody else would take it off the watches
		d.watches.Leave(known.key)
	}
	d.count()
	return true
}

func watchedObject(ref managedresource.ResourceReference) drift.Object {
	return drift.Object{Kind: schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind), Namespace: ref.Namespace, Name: ref.Name}
}

func referenceOf(object drift.Object) managedresource.ResourceReference {
	apiVersion, kind := object.Kind.ToAPIVersionAndKind()
	return managedresource.ResourceReference{APIVersion: apiVersion, Kind: kind, Namespace: object.Namespace, Name: object.Name}
}

// finishedAt returns when the last job of an item ended.
func finishedAt(item *v1alpha1.DeployItem) time.Time {
	if times := item.Status.TransitionTimes; times != nil && times.FinishedTime != nil {
		return times.FinishedTime.Time
	}
	return item.Status.LastReconcileTime.Time
}

// search compares the objects of an item that somebody may have changed, and notes what was found.
func (s *driftSite) search(ctx context.Context, item *v1alpha1.DeployItem, known *driftItem) {
	d := s.desk
	if !known.pace.TryAccept() {
		s.queue.AddAfter(known.key, time.Duration(float64(time.Second)/searchesASecond))
		return
	}
	objects := s.objectsToSearch(known)
	trouble, kind := d.watches.Trouble(known.key)
	if trouble != drift.NoTrouble && time.Since(s.opened) > reopenPause {
		d.mu.Lock()
		s.stale = true // credentials may have changed without an event
		d.mu.Unlock()
		s.queue.Add(known.key)
	}
	var found []Drift
	var isHeld bool
	var err error
	if len(objects) > 0 {
		driftSearches.WithLabelValues(d.detector.Name()).Inc()
		found, isHeld, err = s.find(ctx, item, known, objects)
	}
	if errors.Is(err, ErrNoVerdict) {
		found, err, objects = nil, nil, nil
	}
	again := failedObjects(objects, found, err, isHeld)
	for _, ref := range again {
		d.watches.Suspect(known.key, watchedObject(ref)) // every further search takes them along
	}
	for _, one := range found {
		if one.Err == nil || one.IsDrifted() {
			d.watches.Seen(known.key, watchedObject(one.Resource), one.Live, one.Owned)
		}
	}
	isSure := len(objects) > 0 && len(again) == 0 || !isShownDrifted(item) && trouble == drift.NoTrouble && d.watches.IsWatched(known.key)
	isNoted := s.note(ctx, known, func() {
		known.doubtful = known.doubtful && !isSure
		known.findings.add(found, time.Now(), func(note driftNote) { known.notes = append(known.notes, note) })
		known.findings.trouble, known.findings.kind = trouble, kind.Kind
		s.schedule(known, again)
	})
	if isNoted {
		d.tell(ctx, known.key)
	}
}

// note enters what a search has found, unless the item has moved on. It reports whether it did.
func (s *driftSite) note(ctx context.Context, known *driftItem, enter func()) bool {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.items[known.key] != known || ctx.Err() != nil && known.paused {
		return false
	}
	enter()
	return true
}

// objectsToSearch returns what the watches suspect, and what may be corrected by now.
func (s *driftSite) objectsToSearch(known *driftItem) []managedresource.ResourceReference {
	var objects []managedresource.ResourceReference
	seen := map[managedresource.ResourceReference]bool{}
	for _, object := range s.desk.watches.Take(known.key) {
		ref := referenceOf(object)
		objects, seen[ref] = append(objects, ref), true
	}
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	for _, ref := range known.findings.due(time.Now()) {
		if known.mode == managedresource.DriftEnabled && !seen[ref] {
			objects = append(objects, ref)
		}
	}
	return objects
}

// find asks the deployer. It reports whether something was not corrected because the item may not be worked on now. A panic over what the target answers
// is an error.
func (s *driftSite) find(
	ctx context.Context, item *v1alpha1.DeployItem, known *driftItem, objects []managedresource.ResourceReference,
) (found []Drift, isHeld bool, err error) {
	wanted := DriftSearch{Objects: objects}
	s.desk.mu.Lock()
	corrects := known.mode == managedresource.DriftEnabled
	s.desk.mu.Unlock()
	if corrects {
		wanted.Correct = s.permission(ctx, item, known, &isHeld)
	}
	found, err = s.desk.findDrift(ctx, item, s.cluster, wanted)
	return found, isHeld, err
}

// permission returns what says whether an object may be corrected now. Whether the item may be worked on is asked for once.
func (s *driftSite) permission(
	ctx context.Context, item *v1alpha1.DeployItem, known *driftItem, isHeld *bool,
) func(managedresource.ResourceReference) bool {
	var asked, isFree bool
	return func(ref managedresource.ResourceReference) bool {
		if !asked {
			obstacle, err := s.desk.findObstacle(ctx, item)
			isFree = obstacle == nil && err == nil
			asked, *isHeld = true, !isFree
		}
		s.desk.mu.Lock()
		defer s.desk.mu.Unlock()
		return isFree && ctx.Err() == nil && known.findings.mayCorrect(ref, time.Now())
	}
}

// failedObjects returns what could not be compared or corrected, or only later.
func failedObjects(objects []managedresource.ResourceReference, found []Drift, err error, isHeld bool) []managedresource.ResourceReference {
	if err != nil && len(found) == 0 {
		return objects
	}
	var failed []managedresource.ResourceReference
	for _, one := range found {
		if one.Err != nil || isHeld && one.IsDrifted() && !one.Corrected {
			failed = append(failed, one.Resource)
		}
	}
	return failed
}

// schedule makes the item come back when something failed or has to wait.
func (s *driftSite) schedule(known *driftItem, failed []managedresource.ResourceReference) {
	now := time.Now()
	at := known.findings.next(now, known.mode == managedresource.DriftEnabled)
	if len(failed) == 0 {
		known.attempt = 0
	} else {
		if retry := now.Add(drift.Pause(known.attempt)); at.IsZero() || retry.Before(at) {
			at = retry
		}
		known.attempt++
	}
	if !at.IsZero() {
		s.queue.AddAfter(known.key, max(at.Sub(now), 0))
	}
}
