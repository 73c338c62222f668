// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package driftdesk looks for drift of items while they have no job: which of them to search when, on which Target, and what there is to show. It
// neither compares objects nor writes items: the deployer does the one, the worker of the item the other.
package driftdesk

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/drift"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Detector is the deployer as the desk needs it.
type Detector interface {
	// Name is that in status.deployer.
	Name() string
	// Type is the spec.type of the items.
	Type() string
	// DriftDetection returns what an item says about drift; nil means the default.
	DriftDetection(item *v1alpha1.DeployItem) (*managedresource.DriftDetection, error)
	// IsAt reports whether what the last job of an item deployed is at a cluster.
	IsAt(item *v1alpha1.DeployItem, to managedresource.ClusterReference) bool
}

// Deployed is what an item has deployed.
type Deployed struct {
	// Selector selects the objects of all items of the deployer by labels; empty selects all.
	Selector string
	// Managers are the field managers under which the deployer writes.
	Managers []string
	// Objects that were deployed.
	Objects []managedresource.ResourceReference
	// Merged says that somebody has merged what was wanted into the objects, as Helm does, so that they may lack some of it. They are compared once after
	// each job, whether somebody has changed them since or not.
	Merged bool
}

// Found is the answer of the deployer about one object.
type Found struct {
	// Resource is the object.
	Resource managedresource.ResourceReference
	// Missing says that the object was deleted, Fields which fields differ, as JSON pointers. Both are zero for an object that is as it was
	// deployed.
	Missing bool
	Fields  []string
	// Manager is who changed the object last; empty when that is not known.
	Manager string
	// Corrected says that the object is as it was deployed again.
	Corrected bool
	// Owned says that the deployer owns each field that it wants of the object. What others do with other fields is not looked at any more then.
	Owned bool
	// Live is the object as it is now, of which its version, generation and managed fields are looked at; nil when it does not exist or was not read.
	Live metav1.Object
	// Err is why the object could not be compared or corrected.
	Err error

	// more counts the fields that are not kept; sum stands for all of them. See brief.
	more int
	sum  uint64
}

// IsDrifted reports whether the object was not as it was deployed.
func (f *Found) IsDrifted() bool { return f.Missing || len(f.Fields) > 0 }

// ErrNoVerdict says that an item, or what it names, has moved on since its last job, so that nothing can be said before the next one.
var ErrNoVerdict = errors.New("what is wanted has changed since the last job")

// Search is what the deployer is asked about an item.
type Search struct {
	Item    *v1alpha1.DeployItem
	Cluster *target.Cluster
	// Objects to compare.
	Objects []managedresource.ResourceReference
	// Correct is asked about each object that is not as it was deployed. Nil corrects nothing.
	Correct func(object managedresource.ResourceReference) bool
}

// Options are what a desk needs. All are required.
type Options struct {
	Detector Detector
	// Deployed returns what the last job of an item has deployed.
	Deployed func(item *v1alpha1.DeployItem) (Deployed, error)
	// Find compares objects, and corrects what it may. It returns ErrNoVerdict where nothing can be said.
	Find func(ctx context.Context, search Search) ([]Found, error)
	// TargetName returns the name of the Target of an item, and IsAtRest reports whether what an item says is what its last job has deployed.
	TargetName func(item *v1alpha1.DeployItem) string
	IsAtRest   func(item *v1alpha1.DeployItem) bool
	// IsFree reports whether the owners of an item let it have a job of its own.
	IsFree func(ctx context.Context, item *v1alpha1.DeployItem) (bool, error)
	// Queue brings an item to a worker.
	Queue func(types.NamespacedName)
	// Clients opens Targets; Client reads from the cache, Live without.
	Clients *target.Clients
	Client  client.Client
	Live    client.Reader
	// Identity of this process, as status.deployer.identity of its items says.
	Identity string
}

// Desk looks for drift of the items of a deployer while they have no job. What it finds out it hands to the worker of the item, which
// alone writes the status. Everything that may take time happens beside the workers, at the site of the Target. A nil desk does nothing.
type Desk struct {
	Options
	watches *drift.Watches

	mu    sync.Mutex
	ctx   context.Context
	items map[types.NamespacedName]*driftItem
	sites map[siteKey]*site
	// searches are under way; see Stop.
	searches map[types.NamespacedName]*search
}

// driftItem is an item whose objects are watched.
type driftItem struct {
	key  types.NamespacedName
	uid  types.UID
	mode managedresource.DriftMode
	// job is what the objects are from.
	job  finishedJob
	site *site
	// followed says that the watches know the objects, paused that the item has a job again.
	followed, paused bool
	// unreachable says that the Target could not be opened for a while.
	unreachable bool
	// doubtful says that the item shows something that this process has not found out, isNew that its job has ended a moment ago.
	doubtful, isNew bool
	findings        findings
	timer           *time.Timer
	// attempt counts the searches that failed one after the other.
	attempt int
	// searched is when the item was last searched, searches how often in a row.
	searched time.Time
	searches int
	// waits says that the next search waits for its time; see pace.
	waits bool
	// notes are events to post.
	notes []Note
}

// finishedJob identifies what an item has deployed where.
type finishedJob struct {
	id, target string
	generation int64
}

// search is a search that is under way.
type search struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// New returns a desk that works while Run does.
func New(options Options) *Desk {
	d := &Desk{
		Options: options, items: map[types.NamespacedName]*driftItem{}, sites: map[siteKey]*site{}, searches: map[types.NamespacedName]*search{},
	}
	d.watches = drift.New(d.changed)
	return d
}

// Run lets the sites work until ctx ends.
func (d *Desk) Run(ctx context.Context) error {
	d.mu.Lock()
	d.ctx = ctx
	for _, site := range d.sites {
		go site.run(ctx)
	}
	d.mu.Unlock()
	return d.watches.Run(ctx)
}

// Observe takes note of an item as an event shows it.
func (d *Desk) Observe(item *v1alpha1.DeployItem) {
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
	if !d.IsAtRest(item) {
		if known != nil {
			known.paused = true
			d.interrupt(known.key)
		}
		return
	}
	job := finishedJob{id: item.Status.JobIDFinished, target: d.TargetName(item), generation: item.Generation}
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
func (d *Desk) enrol(item *v1alpha1.DeployItem, known *driftItem, job finishedJob, mode managedresource.DriftMode) {
	shown := meta.FindStatusCondition(item.Status.Conditions, v1alpha1.DriftedCondition)
	fresh := &driftItem{
		key: client.ObjectKeyFromObject(item), uid: item.UID, mode: mode, job: job, isNew: time.Since(finishedAt(item)) < newTime, doubtful: shown != nil && shown.Status != "False",
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

func (d *Desk) siteOf(key siteKey) *site {
	if known, found := d.sites[key]; found {
		return known
	}
	ctx, cancel := context.WithCancel(context.Background())
	fresh := &site{desk: d, key: key, kicked: make(chan struct{}, 1), ended: ctx, end: cancel, queued: map[types.NamespacedName]struct{}{}}
	d.sites[key] = fresh
	if d.ctx != nil {
		go fresh.run(d.ctx)
	}
	return fresh
}

func (d *Desk) leaveSite(known *driftItem) {
	if known.site.users--; known.site.users == 0 {
		known.site.end()
		delete(d.sites, known.site.key)
	}
}

// Forget drops an item.
func (d *Desk) Forget(key types.NamespacedName) {
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

func (d *Desk) count() {
	watches, objects := d.watches.Count()
	driftWatches.WithLabelValues(d.Detector.Name()).Set(float64(watches))
	driftObjects.WithLabelValues(d.Detector.Name()).Set(float64(objects))
}

func (i *driftItem) stopTimer() {
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
}

func (d *Desk) interrupt(key types.NamespacedName) {
	if search := d.searches[key]; search != nil {
		search.cancel()
	}
}

// Stop ends the search for drift of an item and waits until it has, or until the context ends, whose error it returns then: a job must not begin
// while something is corrected.
func (d *Desk) Stop(ctx context.Context, key types.NamespacedName) error {
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

// changed is called when something may have happened to the objects of an item.
func (d *Desk) changed(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.items[key]; known != nil {
		known.site.enqueue(key)
	}
}

// TargetChanged makes the sites of a Target open it again.
func (d *Desk) TargetChanged(namespace, name string) {
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
func (d *Desk) modeOf(item *v1alpha1.DeployItem) (managedresource.DriftMode, bool) {
	by := item.Status.Deployer
	if item.Spec.Type != d.Detector.Type() || item.Annotations[v1alpha1.IgnoreAnnotation] == "true" || !item.DeletionTimestamp.IsZero() || d.TargetName(item) == "" ||
		by == nil || by.Name != d.Detector.Name() || by.Identity != d.Identity {
		return "", false
	}
	detection, err := d.Detector.DriftDetection(item)
	if err != nil {
		return "", false // the job of the configuration has failed with the error
	}
	mode := detection.ModeOf()
	return mode, mode != managedresource.DriftDisabled
}

// tell makes a worker show what was found, where the item does not show it already. The item is read after that is noted: the event of a newer one
// is compared with it.
func (d *Desk) tell(ctx context.Context, key types.NamespacedName) {
	item := &v1alpha1.DeployItem{}
	if err := d.Client.Get(ctx, key, item); err == nil && !d.HasNews(item) {
		return
	}
	d.Queue(key)
}
