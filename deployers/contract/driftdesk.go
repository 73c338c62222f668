// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Desk looks for drift of the items of a deployer while they have no job. What it finds out it hands to the worker of the item, which
// alone writes the status. Everything that may take time happens beside the workers, at the site of the Target. A nil desk does nothing.
type driftDesk struct {
	*reconciler
	detector DriftDetector

	mu    sync.Mutex
	ctx   context.Context
	items map[types.NamespacedName]*driftItem
	sites map[driftSiteKey]*driftSite
	// streams watch the kinds of objects, narrow are the kinds that may only be watched namespace by namespace, done says that no stream begins any more.
	streams map[driftStreamKey]*driftStream
	narrow  map[driftStreamKey]struct{}
	done    bool
	// searches are under way; see Stop.
	searches map[types.NamespacedName]*driftRun
}

// driftItem is an item whose objects are watched.
type driftItem struct {
	key  types.NamespacedName
	uid  types.UID
	mode managedresource.DriftMode
	// job is what the objects are from.
	job  finishedJob
	site *driftSite
	// objects are what that has deployed, as it is watched; late looks for those that the watches have not shown.
	objects map[managedresource.ResourceReference]*driftObject
	late    *time.Timer
	// followed says that the watches know the objects, paused that the item has a job again.
	followed, paused bool
	// unreachable says that the Target could not be opened for a while.
	unreachable bool
	// doubtful says that the item shows something that this process has not found out, isNew that its job has ended a moment ago.
	doubtful, isNew bool
	findings        driftFindings
	// attempt counts the searches that failed one after the other.
	attempt int
	// pace is how often the item may be searched.
	pace flowcontrol.RateLimiter
	// notes are events to post.
	notes []driftNote
}

// finishedJob identifies what an item has deployed where.
type finishedJob struct {
	id, target string
	generation int64
}

// search is a search that is under way.
type driftRun struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// newDriftDesk returns a desk that works while Run does; nil where the deployer is no DriftDetector.
func (r *reconciler) newDriftDesk() *driftDesk {
	detector, ok := r.deployer.(DriftDetector)
	if !ok {
		return nil
	}
	return &driftDesk{
		reconciler: r, detector: detector, items: map[types.NamespacedName]*driftItem{}, sites: map[driftSiteKey]*driftSite{},
		searches: map[types.NamespacedName]*driftRun{}, streams: map[driftStreamKey]*driftStream{}, narrow: map[driftStreamKey]struct{}{},
	}
}

// Run lets the sites work, and watches, until ctx ends.
func (d *driftDesk) Run(ctx context.Context) error {
	d.mu.Lock()
	d.ctx = ctx
	for _, site := range d.sites {
		go site.run(ctx)
	}
	d.mu.Unlock()
	<-ctx.Done()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.done = true
	for _, stream := range d.streams {
		stream.cancel()
	}
	return nil
}

// Observe takes note of an item as an event shows it.
func (d *driftDesk) Observe(item *v1alpha1.DeployItem) {
	if d == nil {
		return
	}
	mode, isWatched := d.modeOf(item)
	if !isWatched {
		d.Forget(client.ObjectKeyFromObject(item))
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.items[client.ObjectKeyFromObject(item)]
	if !isAtRest(item) {
		if known != nil {
			known.paused = true
			d.interrupt(known.key)
		}
		return
	}
	job := finishedJob{id: item.Status.JobIDFinished, target: targetName(item), generation: item.Generation}
	if known != nil && known.uid == item.UID && known.job == job {
		if known.mode = mode; known.paused {
			known.paused = false
			known.site.queue.Add(known.key)
		}
		return
	}
	d.enrol(item, known, job, mode)
}

// enrol makes the site of an item follow what its last job has deployed.
func (d *driftDesk) enrol(item *v1alpha1.DeployItem, known *driftItem, job finishedJob, mode managedresource.DriftMode) {
	shown := meta.FindStatusCondition(item.Status.Conditions, v1alpha1.DriftedCondition)
	fresh := &driftItem{
		key: client.ObjectKeyFromObject(item), uid: item.UID, mode: mode, job: job, isNew: time.Since(finishedAt(item)) < newTime, doubtful: shown != nil && shown.Status != "False",
		findings: driftFindings{corrections: map[managedresource.ResourceReference]correction{}}, pace: flowcontrol.NewTokenBucketRateLimiter(searchesASecond, freeSearches),
	}
	if known != nil {
		fresh.findings.corrections, fresh.objects = known.findings.corrections, known.objects
		for _, object := range fresh.objects {
			if object.owner == known {
				object.owner = fresh
			}
		}
		d.leaveSite(known)
	}
	d.items[fresh.key] = fresh
	fresh.site = d.siteOf(driftSiteKey{item.Namespace, job.target, target.ActorOf(item)})
	fresh.site.users++
	fresh.site.queue.Add(fresh.key)
}

func (d *driftDesk) siteOf(key driftSiteKey) *driftSite {
	if known, found := d.sites[key]; found {
		return known
	}
	fresh := &driftSite{desk: d, key: key, queue: workqueue.NewTypedDelayingQueue[types.NamespacedName]()}
	d.sites[key] = fresh
	if d.ctx != nil {
		go fresh.run(d.ctx)
	}
	return fresh
}

func (d *driftDesk) leaveSite(known *driftItem) {
	if known.site.users--; known.site.users == 0 {
		known.site.queue.ShutDown()
		delete(d.sites, known.site.key)
	}
}

// Forget drops an item.
func (d *driftDesk) Forget(key types.NamespacedName) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.items[key]
	if known == nil {
		return
	}
	d.interrupt(key)
	d.leaveSite(known)
	delete(d.items, key)
	d.detach(known, nil)
	d.count()
}

func (d *driftDesk) count() {
	objects := 0
	for _, stream := range d.streams {
		objects += stream.used
	}
	driftWatches.WithLabelValues(d.detector.Name()).Set(float64(len(d.streams)))
	driftObjects.WithLabelValues(d.detector.Name()).Set(float64(objects))
}

func (d *driftDesk) interrupt(key types.NamespacedName) {
	if search := d.searches[key]; search != nil {
		search.cancel()
	}
}

// Stop ends the search for drift of an item and waits until it has, or until the context ends, whose error it returns then: a job must not begin
// while something is corrected.
func (d *driftDesk) Stop(ctx context.Context, key types.NamespacedName) error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	if known := d.items[key]; known != nil {
		known.paused = true
	}
	search := d.searches[key]
	d.interrupt(key)
	d.mu.Unlock()
	if search == nil {
		return nil
	}
	select {
	case <-search.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// TargetChanged makes the sites of a Target open it again.
func (d *driftDesk) TargetChanged(namespace, name string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, site := range d.sites {
		if key.namespace == namespace && key.name == name {
			site.stale, site.changed = true, true
			site.queueAll()
		}
	}
}

// modeOf returns what an item says about drift, and whether its objects are to be watched at all.
func (d *driftDesk) modeOf(item *v1alpha1.DeployItem) (managedresource.DriftMode, bool) {
	by := item.Status.Deployer
	if item.Spec.Type != d.detector.Type() || item.Annotations[v1alpha1.IgnoreAnnotation] == "true" || !item.DeletionTimestamp.IsZero() || targetName(item) == "" ||
		by == nil || by.Name != d.detector.Name() || by.Identity != d.options.Identity {
		return "", false
	}
	detection, err := d.detector.DriftDetection(item)
	if err != nil {
		return "", false // the job of the configuration has failed with the error
	}
	mode := detection.ModeOf()
	return mode, mode != managedresource.DriftDisabled
}

// tell makes a worker show what was found, where the item does not show it already. The item is read after that is noted: the event of a newer one
// is compared with it.
func (d *driftDesk) tell(ctx context.Context, key types.NamespacedName) {
	item := &v1alpha1.DeployItem{}
	if err := d.client.Get(ctx, key, item); err == nil && !d.HasNews(item) {
		return
	}
	d.enqueue(key)
}

const (
	// openingTime bounds one attempt to open a Target.
	openingTime = 30 * time.Second
	// unreachableAfter is how many attempts to open a Target have failed, after about a minute, when its items show that.
	unreachableAfter = 5
	// minOpeningPause is the least time between two attempts to open a Target that cannot be opened, however often it changes.
	minOpeningPause = time.Second
)

// driftSiteKey names a Target, and who acts on it.
type driftSiteKey struct {
	namespace, name string
	actor           target.Actor
}

// site looks after the items of one Target, one after the other, so that a slow target delays nobody else.
type driftSite struct {
	desk  *driftDesk
	key   driftSiteKey
	queue workqueue.TypedDelayingInterface[types.NamespacedName]

	// users, stale and changed belong to the lock of the desk. Stale says that the Target may lead elsewhere, changed that somebody has written it.
	users          int
	stale, changed bool

	// The rest belongs to run.
	cluster *target.Cluster
	at      managedresource.ClusterReference
	opened  time.Time
	attempt int
	// retryAt is when a Target that could not be opened is tried again.
	retryAt time.Time
}

// run does what is queued until the desk closes or nobody needs the Target.
func (s *driftSite) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, s.queue.ShutDown)
	defer stop()
	for {
		key, isOver := s.queue.Get()
		if isOver {
			return
		}
		s.try(ctx, key)
		s.queue.Done(key)
	}
}

// try handles an item once the Target is open. One whose search breaks off by a panic is searched again later.
func (s *driftSite) try(ctx context.Context, key types.NamespacedName) {
	if wait := s.open(ctx, time.Now()); wait > 0 {
		s.queue.AddAfter(key, wait)
		return
	}
	err := fault.Survived(ctx, func() error {
		s.handle(ctx, key)
		return nil
	})
	if err == nil {
		return
	}
	s.desk.mu.Lock()
	defer s.desk.mu.Unlock()
	if known := s.desk.items[key]; known != nil && known.site == s {
		known.followed = false
		s.queue.AddAfter(key, driftPause(known.attempt))
		known.attempt++
	}
}

// open opens the Target where that is needed, and returns how long to wait with its items, 0 when it is open. One that could not be opened is left
// alone until the pause is over, whatever happens to its items; one that somebody has changed is tried sooner.
func (s *driftSite) open(ctx context.Context, now time.Time) time.Duration {
	s.desk.mu.Lock()
	due := s.retryAt
	if soon := s.opened.Add(minOpeningPause); s.changed && soon.Before(due) {
		due = soon
	}
	isOpen, wait := s.cluster != nil && !s.stale, due.Sub(now)
	if !isOpen && wait <= 0 {
		s.stale, s.changed = false, false
	}
	s.desk.mu.Unlock()
	switch {
	case isOpen:
		return 0
	case wait > 0:
		return wait
	}
	s.opened = now
	opening, cancel := context.WithTimeout(ctx, openingTime)
	defer cancel()
	err := fault.Survived(opening, func() error { return s.connect(opening) })
	if err == nil {
		s.attempt, s.retryAt = 0, time.Time{}
		return 0
	}
	s.attempt++
	s.notOpen(s.attempt == unreachableAfter)
	pause := driftPause(s.attempt)
	s.retryAt = now.Add(pause)
	return pause
}

// queueAll queues all items of the site.
func (s *driftSite) queueAll() {
	for key, known := range s.desk.items {
		if known.site == s {
			s.queue.Add(key)
		}
	}
}

// connect opens the Target, and follows its items anew where it leads elsewhere than before.
func (s *driftSite) connect(ctx context.Context) error {
	d := s.desk
	cluster, err := d.options.Clients.Open(ctx, d.client, d.live, s.key.namespace, s.key.name, s.key.actor)
	if err != nil || s.cluster != nil && cluster.Config == s.cluster.Config {
		return err
	}
	identity, err := cluster.Identity(ctx)
	if err != nil {
		return err
	}
	s.cluster = cluster
	s.at = managedresource.ClusterReference{Target: s.key.name, UID: identity.UID, Address: identity.Address}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, known := range d.items {
		if known.site == s {
			known.followed, known.unreachable = false, false
		}
	}
	s.queueAll()
	return nil
}

// notOpen notes that the Target could not be opened, and lets its items show that once it lasts.
func (s *driftSite) notOpen(lasts bool) {
	d := s.desk
	d.mu.Lock()
	defer d.mu.Unlock()
	s.stale = true
	for _, known := range d.items {
		if lasts && known.site == s {
			known.findings.trouble, known.unreachable = troubleUnreachable, true
			d.enqueue(known.key)
		}
	}
}
