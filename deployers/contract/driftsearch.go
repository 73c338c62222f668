// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
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

// handle does what there is to do for an item, unless that has moved on.
func (s *driftSite) handle(ctx context.Context, key types.NamespacedName) {
	d, item := s.desk, &v1alpha1.DeployItem{}
	if err := d.client.Get(ctx, key, item); err != nil || !isAtRest(item) {
		return // an event follows
	}
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	d.mu.Lock()
	known := d.items[key]
	if known == nil || known.paused || known.site != s || known.uid != item.UID || known.job.id != item.Status.JobIDFinished ||
		known.job.generation != item.Generation {
		d.mu.Unlock()
		return
	}
	begun := &driftRun{cancel: cancel, done: make(chan struct{})}
	d.searches[key] = begun
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		delete(d.searches, key)
		d.mu.Unlock()
		close(begun.done)
	}()
	if known.followed || s.follow(item, known) {
		s.search(ctx, item, known)
	}
}

// follow watches the objects of an item. It reports false where these are not on the cluster of the Target any more.
func (s *driftSite) follow(item *v1alpha1.DeployItem, known *driftItem) bool {
	d := s.desk
	deployed, err := d.detector.Deployed(item)
	isHere := err == nil && d.detector.IsAt(item, s.at)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.items[known.key] != known { // it was forgotten meanwhile
		return false
	}
	if known.followed = isHere; isHere {
		d.attach(known, s.cluster, deployed, finishedAt(item), known.doubtful && isShownDrifted(item) || known.isNew && deployed.Merged)
	} else {
		d.detach(known, nil)
	}
	d.count()
	return isHere
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
	objects, trouble, kind := s.objectsToSearch(known)
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
	if s.note(ctx, known, found, again, func() {
		isSure := len(objects) > 0 && len(again) == 0 || !isShownDrifted(item) && trouble == noTrouble && known.isWatched()
		known.doubtful = known.doubtful && !isSure
		known.findings.trouble, known.findings.kind = trouble, kind
		s.schedule(known, again)
	}) {
		d.tell(ctx, known.key)
	}
}

// note enters what a search has found, unless the item has moved on. It reports whether it did.
func (s *driftSite) note(ctx context.Context, known *driftItem, found []Drift, again []managedresource.ResourceReference, enter func()) bool {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, ref := range again {
		if object := known.objects[keyOfObject(ref)]; object != nil {
			object.suspect = true // every further search takes it along
		}
	}
	for _, one := range found {
		if object := known.objects[keyOfObject(one.Resource)]; object != nil && (one.Err == nil || one.IsDrifted()) {
			object.see(one)
		}
	}
	if d.items[known.key] != known || ctx.Err() != nil && known.paused {
		return false
	}
	known.findings.add(found, time.Now(), func(note driftNote) { known.notes = append(known.notes, note) })
	enter()
	return true
}

// see notes an object as it was read or written just now, so that the event of that version says nothing new.
func (o *driftObject) see(found Drift) {
	isThere := found.Live != nil
	o.gone, o.mark, o.owned = !isThere, mark{}, isThere && found.Owned
	if isThere {
		o.mark = markOf(found.Live, o.stream.managers)
	}
}

// objectsToSearch returns what the watches suspect, and what may be corrected by now, with what keeps the objects from being watched. Credentials may
// have changed without an event then.
func (s *driftSite) objectsToSearch(known *driftItem) ([]managedresource.ResourceReference, driftTrouble, string) {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	objects := known.take()
	for _, ref := range known.findings.due(time.Now()) {
		if known.mode == managedresource.DriftEnabled && !slices.Contains(objects, ref) {
			objects = append(objects, ref)
		}
	}
	trouble, kind := known.troubled()
	if trouble != noTrouble && time.Since(s.opened) > reopenPause {
		s.stale = true
		s.queue.Add(known.key)
	}
	return objects, trouble, kind
}

// find asks the deployer. It reports whether something was not corrected because the item may not be worked on now, which is asked for once. A panic over
// what the target answers is an error.
func (s *driftSite) find(
	ctx context.Context, item *v1alpha1.DeployItem, known *driftItem, objects []managedresource.ResourceReference,
) (found []Drift, isHeld bool, err error) {
	d, wanted := s.desk, DriftSearch{Objects: objects}
	isFree := sync.OnceValue(func() bool {
		obstacle, err := d.findObstacle(ctx, item)
		isHeld = obstacle != nil || err != nil
		return !isHeld
	})
	d.mu.Lock()
	corrects := known.mode == managedresource.DriftEnabled
	d.mu.Unlock()
	if corrects {
		wanted.Correct = func(ref managedresource.ResourceReference) bool {
			if !isFree() {
				return false
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			return ctx.Err() == nil && known.findings.mayCorrect(ref, time.Now())
		}
	}
	found, err = d.findDrift(ctx, item, s.cluster, wanted)
	return found, isHeld, err
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
		if retry := now.Add(driftPause(known.attempt)); at.IsZero() || retry.Before(at) {
			at = retry
		}
		known.attempt++
	}
	if !at.IsZero() {
		s.queue.AddAfter(known.key, max(at.Sub(now), 0))
	}
}
