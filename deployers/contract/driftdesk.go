// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/drift"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// driftDesk looks for drift of the items of a DriftDetector while they have no job. What it finds out it hands to the worker of the item, which
// alone writes the status. Everything that may take time happens beside the workers, at the site of the Target. A nil desk does nothing.
type driftDesk struct {
	r        *reconciler
	contexts *contexts
	detector DriftDetector
	watches  *drift.Watches

	mu    sync.Mutex
	ctx   context.Context
	items map[types.NamespacedName]*driftItem
	sites map[siteKey]*driftSite
	// searches are under way; see stop.
	searches map[types.NamespacedName]*driftSearch
}

// driftItem is an item whose objects are watched.
type driftItem struct {
	key  types.NamespacedName
	uid  types.UID
	mode managedresource.DriftMode
	// job is what the objects are from.
	job  finishedJob
	site *driftSite
	// followed says that the watches know the objects, paused that the item has a job again.
	followed, paused bool
	// unreachable says that the Target could not be opened for a while.
	unreachable bool
	// tooMany says that there are too many watches already.
	tooMany bool
	// doubtful says that the item shows something that this process has not found out.
	doubtful bool
	findings findings
	timer    *time.Timer
	// attempt counts the searches that failed one after the other.
	attempt int
	// searched is when the item was last searched, searches how often in a row.
	searched time.Time
	searches int
	// waits says that the next search waits for its time; see pace.
	waits bool
	// notes are events to post.
	notes []driftNote
}

// finishedJob identifies what an item has deployed where.
type finishedJob struct {
	id, target string
	generation int64
}

// driftSearch is a search that is under way.
type driftSearch struct {
	cancel context.CancelFunc
	done   chan struct{}
}

func newDriftDesk(r *reconciler, contexts *contexts) *driftDesk {
	detector, ok := r.deployer.(DriftDetector)
	if !ok {
		return nil
	}
	d := &driftDesk{
		r: r, contexts: contexts, detector: detector, items: map[types.NamespacedName]*driftItem{}, sites: map[siteKey]*driftSite{},
		searches: map[types.NamespacedName]*driftSearch{},
	}
	d.watches = drift.New(d.changed, r.options.MaxDriftWatches, 0)
	return d
}

// run lets the sites work until ctx ends.
func (d *driftDesk) run(ctx context.Context) error {
	d.mu.Lock()
	d.ctx = ctx
	for _, site := range d.sites {
		go site.run(ctx)
	}
	d.mu.Unlock()
	return d.watches.Run(ctx)
}

// observe takes note of an item as an event shows it.
func (d *driftDesk) observe(item *v1alpha1.DeployItem) {
	if d == nil {
		return
	}
	mode, isWatched := d.modeOf(item)
	if !isWatched {
		d.forget(client.ObjectKeyFromObject(item))
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.items[client.ObjectKeyFromObject(item)]
	if !items.IsAtRest(item) {
		if known != nil {
			known.paused = true
			d.interrupt(known.key)
		}
		return
	}
	job := finishedJob{id: item.Status.JobIDFinished, target: items.TargetName(item), generation: item.Generation}
	if known != nil && known.uid == item.UID && known.job == job {
		if known.mode = mode; known.paused {
			known.paused = false
			known.site.enqueue(known.key)
		}
		return
	}
	d.enrol(item, known, job, mode)
}

// enrol makes the site of an item follow what its last job has deployed.
func (d *driftDesk) enrol(item *v1alpha1.DeployItem, known *driftItem, job finishedJob, mode managedresource.DriftMode) {
	shown := meta.FindStatusCondition(item.Status.Conditions, v1alpha1.DriftedCondition)
	fresh := &driftItem{
		key: client.ObjectKeyFromObject(item), uid: item.UID, mode: mode, job: job, doubtful: shown != nil && shown.Status != "False",
		findings: findings{corrections: map[managedresource.ResourceReference]correction{}},
	}
	if known != nil {
		known.stopTimer()
		fresh.findings.corrections = known.findings.corrections
		d.leaveSite(known)
	}
	d.items[fresh.key] = fresh
	fresh.site = d.siteOf(siteKey{item.Namespace, job.target, target.ActorOf(item)})
	fresh.site.users++
	fresh.site.enqueue(fresh.key)
}

func (d *driftDesk) siteOf(key siteKey) *driftSite {
	if known, found := d.sites[key]; found {
		return known
	}
	ctx, cancel := context.WithCancel(context.Background())
	site := &driftSite{desk: d, key: key, kicked: make(chan struct{}, 1), ended: ctx, end: cancel, queued: map[types.NamespacedName]struct{}{}}
	d.sites[key] = site
	if d.ctx != nil {
		go site.run(d.ctx)
	}
	return site
}

func (d *driftDesk) leaveSite(known *driftItem) {
	if known.site.users--; known.site.users == 0 {
		known.site.end()
		delete(d.sites, known.site.key)
	}
}

// forget drops an item.
func (d *driftDesk) forget(key types.NamespacedName) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.items[key]
	if known == nil {
		return
	}
	known.stopTimer()
	d.interrupt(key)
	d.leaveSite(known)
	delete(d.items, key)
	d.watches.Leave(key)
	d.count()
}

func (d *driftDesk) count() {
	watches, objects := d.watches.Count()
	driftWatches.WithLabelValues(d.detector.Name()).Set(float64(watches))
	driftObjects.WithLabelValues(d.detector.Name()).Set(float64(objects))
}

func (i *driftItem) stopTimer() {
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}

func (d *driftDesk) interrupt(key types.NamespacedName) {
	if search := d.searches[key]; search != nil {
		search.cancel()
	}
}

// stop ends the search for drift of an item and waits until it has. A job must not begin while something is corrected.
func (d *driftDesk) stop(key types.NamespacedName) {
	if d == nil {
		return
	}
	d.mu.Lock()
	if known := d.items[key]; known != nil {
		known.paused = true
	}
	search := d.searches[key]
	d.interrupt(key)
	d.mu.Unlock()
	if search != nil {
		<-search.done
	}
}

// changed is called when something may have happened to the objects of an item.
func (d *driftDesk) changed(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.items[key]; known != nil {
		known.site.enqueue(key)
	}
}

// targetChanged makes the sites of a Target open it again.
func (d *driftDesk) targetChanged(namespace, name string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for key, site := range d.sites {
		if key.namespace == namespace && key.name == name {
			site.stale, site.changed = true, true
			site.kick()
		}
	}
}

// modeOf returns what an item says about drift, and whether its objects are to be watched at all.
func (d *driftDesk) modeOf(item *v1alpha1.DeployItem) (managedresource.DriftMode, bool) {
	by := item.Status.Deployer
	if item.Spec.Type != d.detector.Type() || item.Annotations[v1alpha1.IgnoreAnnotation] == "true" || items.IsDeleting(item) || items.TargetName(item) == "" ||
		by == nil || by.Name != d.detector.Name() || by.Identity != d.r.options.Identity {
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
	if err := d.r.client.Get(ctx, key, item); err == nil && !d.hasNews(item) {
		return
	}
	d.wakeWorker(key)
}

// wakeWorker makes a worker show what was found.
func (d *driftDesk) wakeWorker(key types.NamespacedName) {
	if d.r.queue != nil {
		d.r.queue.Add(ctrl.Request{NamespacedName: key})
	}
}
