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
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/owners"
	"github.com/flux-landscaper/flux-landscaper/deployers/drift"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// freeSearches of an item come at once. Further ones wait a little, up to maxSearchPause, until there was none for searchQuiet: whoever
	// changes objects all the time, or a target that says so, costs no more than that.
	freeSearches   = 10
	minSearchPause = 100 * time.Millisecond
	maxSearchPause = 2 * time.Second
	searchQuiet    = 30 * time.Second
	// openingTime and searchTime bound one attempt to open a Target, and one search in the objects of an item.
	openingTime = 30 * time.Second
	searchTime  = time.Minute
	// unreachableAfter is how many attempts to open a Target have failed, after about a minute, when its items show that.
	unreachableAfter = 5
	// reopenPause is the least time between two looks at the content of a Target whose watches break.
	reopenPause = 30 * time.Second
	// minOpeningPause is the least time between two attempts to open a Target that cannot be opened, however often it changes.
	minOpeningPause = time.Second
)

// siteKey names a Target, and who acts on it.
type siteKey struct {
	namespace, name string
	actor           target.Actor
}

// driftSite looks after the items of one Target, one after the other, so that a slow target delays nobody else.
type driftSite struct {
	desk   *driftDesk
	key    siteKey
	kicked chan struct{}
	ended  context.Context
	end    context.CancelFunc

	// users, queued, stale and changed belong to the lock of the desk. Stale says that the Target may lead elsewhere, changed that somebody has
	// written it.
	users          int
	queued         map[types.NamespacedName]struct{}
	stale, changed bool

	// The rest belongs to run.
	cluster *target.Cluster
	at      managedresource.ClusterReference
	opened  time.Time
	attempt int
	// retryAt is when a Target that could not be opened is tried again.
	retryAt time.Time
	alarm   *time.Timer
}

func (s *driftSite) enqueue(key types.NamespacedName) {
	s.queued[key] = struct{}{}
	s.kick()
}

// reopen makes the site open its Target again.
func (s *driftSite) reopen() {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	s.stale = true
	s.kick()
}

func (s *driftSite) kick() {
	select {
	case s.kicked <- struct{}{}:
	default:
	}
}

// run does what is queued until the desk closes or nobody needs the Target.
func (s *driftSite) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(s.ended, cancel)
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.kicked:
		}
		if wait := s.untilOpening(time.Now()); wait > 0 {
			s.kickIn(wait)
			continue
		}
		if pause := s.open(ctx); pause > 0 {
			s.retryAt = time.Now().Add(pause)
			s.kickIn(pause)
			continue
		}
		for _, key := range s.take() {
			s.handle(ctx, key)
		}
	}
}

// untilOpening returns how long a Target that could not be opened is left alone: whatever happens to its items, until the pause is over. One that
// somebody has changed is tried sooner.
func (s *driftSite) untilOpening(now time.Time) time.Duration {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	due := s.retryAt
	if soon := s.opened.Add(minOpeningPause); s.changed && soon.Before(due) {
		due = soon
	}
	if wait := due.Sub(now); wait > 0 {
		return wait
	}
	s.changed = false
	return 0
}

// kickIn makes the site look again after a pause, in place of an earlier appointment.
func (s *driftSite) kickIn(pause time.Duration) {
	if s.alarm != nil {
		s.alarm.Stop()
	}
	s.alarm = time.AfterFunc(pause, s.kick)
}

func (s *driftSite) take() []types.NamespacedName {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	var keys []types.NamespacedName
	for key := range s.queued {
		keys = append(keys, key)
	}
	clear(s.queued)
	return keys
}

// open opens the Target where that is needed. It returns the pause until the next attempt, 0 when the Target is open.
func (s *driftSite) open(ctx context.Context) time.Duration {
	s.desk.mu.Lock()
	stale := s.stale || s.cluster == nil
	s.stale = false
	s.desk.mu.Unlock()
	if !stale {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, openingTime)
	defer cancel()
	r := s.desk.r
	s.opened = time.Now()
	cluster, err := r.options.Clients.Open(ctx, r.client, r.writes.Live, s.key.namespace, s.key.name, s.key.actor)
	if err == nil && (s.cluster == nil || cluster.Config != s.cluster.Config) {
		var identity target.Identity
		if identity, err = cluster.Identity(ctx); err == nil {
			s.cluster = cluster
			s.at = managedresource.ClusterReference{Target: s.key.name, UID: identity.UID, Address: identity.Address}
			s.followAnew()
		}
	}
	if err == nil {
		s.attempt, s.retryAt = 0, time.Time{}
		return 0
	}
	s.attempt++
	s.notOpen(s.attempt == unreachableAfter)
	return drift.Pause(s.attempt)
}

// notOpen notes that the Target could not be opened, and lets its items show that once it lasts.
func (s *driftSite) notOpen(lasts bool) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	s.stale = true
	if !lasts {
		return
	}
	for _, known := range d.items {
		if known.site == s {
			known.findings.trouble, known.unreachable = drift.TroubleUnreachable, true
			d.wakeWorker(known.key)
		}
	}
}

// followAnew queues all items of the site, because they are on another connection.
func (s *driftSite) followAnew() {
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	for key, known := range s.desk.items {
		if known.site == s {
			known.followed, known.unreachable = false, false
			s.enqueue(key)
		}
	}
}

// handle does what there is to do for an item.
func (s *driftSite) handle(ctx context.Context, key types.NamespacedName) {
	item := &v1alpha1.DeployItem{}
	if err := s.desk.r.client.Get(ctx, key, item); err != nil || !items.IsAtRest(item) {
		return // an event follows
	}
	known, search, ctx := s.begin(ctx, item)
	if known == nil {
		return
	}
	if !known.followed && !s.follow(item, known) {
		s.finish(key, search)
		return
	}
	s.search(ctx, item, known)
	s.finish(key, search)
}

// begin notes that a search is under way, unless the item has moved on.
func (s *driftSite) begin(ctx context.Context, item *v1alpha1.DeployItem) (*driftItem, *driftSearch, context.Context) {
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
	search := &driftSearch{cancel: cancel, done: make(chan struct{})}
	d.searches[key] = search
	return known, search, ctx
}

func (s *driftSite) finish(key types.NamespacedName, search *driftSearch) {
	search.cancel()
	s.desk.mu.Lock()
	delete(s.desk.searches, key)
	s.desk.mu.Unlock()
	close(search.done)
}

// follow makes the watches know the objects of an item. It reports false where these are not on the cluster of the Target any more, or too many.
func (s *driftSite) follow(item *v1alpha1.DeployItem, known *driftItem) bool {
	d := s.desk
	deployed, err := d.detector.Deployed(item)
	if err != nil || !d.detector.IsAt(item, s.at) {
		d.watches.Leave(known.key)
		return false
	}
	objects := make([]drift.Object, 0, len(deployed.Objects))
	for _, ref := range deployed.Objects {
		objects = append(objects, objectOf(ref))
	}
	d.mu.Lock()
	known.followed = true // before the watches know the item, because they may call back at once
	d.mu.Unlock()
	err = d.watches.Follow(known.key, drift.Deployed{
		Cluster: s.cluster, Selector: deployed.Selector, Managers: deployed.Managers, Objects: objects, Since: finishedAt(item), Tell: known.doubtful,
	})
	if known.doubtful && isShownDrifted(item) {
		d.watches.Suspect(known.key)
	}
	d.mu.Lock()
	known.tooMany = errors.Is(err, drift.ErrTooMany)
	d.count()
	d.mu.Unlock()
	return true
}

func objectOf(ref managedresource.ResourceReference) drift.Object {
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
	if d.waits(known) {
		return
	}
	objects := s.objectsToSearch(known)
	trouble, kind := d.watches.Trouble(known.key)
	if trouble != drift.NoTrouble && time.Since(s.opened) > reopenPause {
		s.reopen() // credentials may have changed without an event
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
		d.watches.Suspect(known.key, objectOf(ref)) // every further search takes them along
	}
	for _, one := range found {
		if one.Err == nil || one.IsDrifted() {
			d.watches.Seen(known.key, objectOf(one.Resource), one.Live, one.Owned)
		}
	}
	isSure := len(objects) > 0 && len(again) == 0 || !isShownDrifted(item) && trouble == drift.NoTrouble && d.watches.IsWatched(known.key)
	d.mu.Lock()
	if d.items[known.key] != known || ctx.Err() != nil && known.paused {
		d.mu.Unlock()
		return
	}
	known.doubtful = known.doubtful && !isSure
	known.findings.add(found, time.Now(), func(note driftNote) { known.notes = append(known.notes, note) })
	known.findings.trouble, known.findings.kind = trouble, kind.Kind
	if known.tooMany {
		known.findings.trouble = drift.TroubleTooMany
	}
	s.schedule(known, again)
	d.mu.Unlock()
	d.tell(ctx, known.key)
}

// waits reports whether an item has to wait for its next search, and makes it come back then.
func (d *driftDesk) waits(known *driftItem) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known.waits {
		return true
	}
	pause := known.pace(time.Now())
	if pause <= 0 {
		return false
	}
	known.waits = true
	time.AfterFunc(pause, func() {
		d.mu.Lock()
		known.waits = false
		d.mu.Unlock()
		d.changed(known.key)
	})
	return true
}

// pace returns how long a search has to wait.
func (i *driftItem) pace(now time.Time) time.Duration {
	if now.Sub(i.searched) > searchQuiet {
		i.searches = 0
	}
	if over := i.searches - freeSearches; over >= 0 {
		if wait := i.searched.Add(min(minSearchPause<<min(over, 8), maxSearchPause)).Sub(now); wait > 0 {
			return wait
		}
	}
	i.searched = now
	i.searches++
	return 0
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

// find asks the deployer. It reports whether something was not corrected because the item may not be worked on now.
func (s *driftSite) find(
	ctx context.Context, item *v1alpha1.DeployItem, known *driftItem, objects []managedresource.ResourceReference,
) (found []Drift, isHeld bool, err error) {
	r := s.desk.r
	context, err := s.desk.contexts.read(ctx, item)
	if err != nil {
		return nil, false, err
	}
	search := DriftSearch{Objects: objects}
	s.desk.mu.Lock()
	corrects := known.mode == managedresource.DriftEnabled
	s.desk.mu.Unlock()
	if corrects {
		search.Correct = s.permission(ctx, item, known, &isHeld)
	}
	found, err = s.desk.detector.FindDrift(ctx, &Item{
		DeployItem: item, Target: s.cluster, Context: context, DeployItems: r.writes.Live, Siblings: r.client, Memory: map[string]any{},
		Checkpoint: func(string) error { return ctx.Err() },
	}, search)
	return found, isHeld, err
}

// permission returns what says whether an object may be corrected now. Whether the item may be worked on is asked for once.
func (s *driftSite) permission(
	ctx context.Context, item *v1alpha1.DeployItem, known *driftItem, isHeld *bool,
) func(managedresource.ResourceReference) bool {
	var asked, isFree bool
	return func(ref managedresource.ResourceReference) bool {
		if !asked {
			free, err := owners.IsFree(ctx, s.desk.r.writes.Live, item)
			asked, isFree, *isHeld = true, free && err == nil, !free || err != nil
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
	known.stopTimer()
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
	if at.IsZero() {
		return
	}
	known.timer = time.AfterFunc(max(at.Sub(now), 0), func() { s.desk.changed(known.key) })
}
