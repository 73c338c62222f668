// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// errInterrupted is why the context of a call ends when the job was ended or replaced by somebody else.
var errInterrupted = errors.New("the job was interrupted")

// job is a running job.
type job struct {
	// Key names the item, ID the job.
	Key types.NamespacedName
	ID  string
	uid types.UID
	// deleting says that the job uninstalls.
	deleting bool
	// Began is when the job began, for deadline and visibility.
	Began time.Time
	// version of the item from which on events of the item concern this job.
	version uint64
	// Memory belongs to the deployer.
	Memory map[string]any
	// Plan is what the job recorded before it began to work.
	Plan *plan
	// queue brings the item to a worker.
	queue func(types.NamespacedName)

	mu sync.Mutex
	// cancel ends the running call.
	cancel context.CancelCauseFunc
	// woken says that something the job waits for has changed, news what.
	woken bool
	news  news
	ended bool

	// The rest is only used by the worker that holds the item.
	called bool
	// HadTarget says that the Target of the item was there when the deployer was called before.
	HadTarget bool
	// Attempts is how often the job was tried, RetryAt when it is tried again.
	Attempts int
	RetryAt  time.Time
	// Answers says that the request for this job is forgotten: a test annotation that comes now asks for another one.
	Answers bool
	// Checkpoint is the step the deployer last reported, Cause the last error or what the job waits for, for the reason Waits.
	Checkpoint, Cause, Waits string
	// Watched is what the last call waited for.
	Watched []Watched
	// Records and Failure are the answer of the last call, nil where there is none to show.
	Records records
	Failure *protocol.Failure
	// IsQuiet says that the failure is shown only once it lasts.
	IsQuiet bool
}

// Wake brings the job back to a worker because something it waits for has changed; without keys that may be anything.
func (j *job) Wake(changed ...watchKey) {
	j.Note(changed...)
	j.queue(j.Key)
}

// Note notes that something the job waits for has changed, for the next pass of the item.
func (j *job) Note(changed ...watchKey) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.woken = true
	j.news.Add(changed)
}

// Hold makes the deployer be called in the next pass, whatever brings that about.
func (j *job) Hold() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.called = false
}

// Due reports whether the deployer has something to do, and takes the wake-up with its news.
func (j *job) Due(now time.Time) (news, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	again := !j.called || !j.RetryAt.IsZero() && !now.Before(j.RetryAt)
	if !again && !j.woken {
		return news{}, false
	}
	taken := j.news
	taken.Anything = taken.Anything || again
	j.called, j.woken, j.RetryAt, j.news = true, false, time.Time{}, news{}
	return taken, true
}

// Run returns the context of one call of the deployer. It ends with the job.
func (j *job) Run(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancel = cancel
	if j.ended {
		cancel(errInterrupted)
	}
	return ctx, cancel
}

func (j *job) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
	if j.cancel != nil {
		j.cancel(errInterrupted)
	}
}

// HasEnded reports whether the job is over.
func (j *job) HasEnded() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended
}

// IsCurrent reports whether this is the job that the item asks for.
func (j *job) IsCurrent(item *v1alpha1.DeployItem) bool {
	return j.uid == item.UID && j.ID == item.Status.JobID && j.deleting == isDeleting(item) && !j.HasEnded()
}

// IsOverIn reports whether an item, as an event shows it, has left this job behind.
func (j *job) IsOverIn(item *v1alpha1.DeployItem) bool {
	if item.UID != j.uid {
		return true
	}
	return versionOf(item) >= j.version && (item.Status.JobID != j.ID || item.Status.JobIDFinished == j.ID)
}

// jobs are the running jobs of a process. It is safe for concurrent use.
type jobs struct {
	// released is called when a job has ended, queue to bring an item to a worker; both with the lock not held.
	released func(*job)
	queue    func(types.NamespacedName)

	mu      sync.Mutex
	running map[types.NamespacedName]*job
	// ended are the plans of jobs that were ended by somebody else.
	ended map[types.NamespacedName]*plan
}

// Claim returns the running job of an item, or a new one when it is not known yet. A job of the item that is over ends.
func (js *jobs) Claim(item *v1alpha1.DeployItem, began time.Time, planned plan) *job {
	key := client.ObjectKeyFromObject(item)
	if known := js.Of(key); known != nil {
		if known.IsCurrent(item) {
			return known
		}
		js.End(known)
	}
	fresh := &job{
		Key: key, uid: item.UID, ID: item.Status.JobID, deleting: isDeleting(item),
		Began: began, version: versionOf(item), Memory: map[string]any{}, Plan: &planned, queue: js.queue,
	}
	planned.uid = item.UID
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.running == nil {
		js.running = map[types.NamespacedName]*job{}
	}
	js.running[key] = fresh
	return fresh
}

// Of returns the running job of an item; nil when there is none.
func (js *jobs) Of(key types.NamespacedName) *job {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.running[key]
}

// End stops a job and forgets it, except for what it planned.
func (js *jobs) End(ended *job) {
	ended.end()
	js.mu.Lock()
	if js.running[ended.Key] == ended {
		delete(js.running, ended.Key)
	}
	if ended.Plan.made {
		if js.ended == nil {
			js.ended = map[types.NamespacedName]*plan{}
		}
		js.ended[ended.Key] = ended.Plan
	}
	js.mu.Unlock()
	js.released(ended)
}

// Observe stops the job of an item that an event shows to be over, or that is to be left alone.
func (js *jobs) Observe(item *v1alpha1.DeployItem, isLeft bool) {
	known := js.Of(client.ObjectKeyFromObject(item))
	if known != nil && (known.IsOverIn(item) || isLeft && versionOf(item) >= known.version) {
		js.End(known)
	}
}

// Forget stops whatever runs for an item that is gone.
func (js *jobs) Forget(key types.NamespacedName) {
	if known := js.Of(key); known != nil {
		js.End(known)
	}
}

// versionOf returns the resource version as a number; 0 when it is none.
func versionOf(item *v1alpha1.DeployItem) uint64 {
	version, _ := strconv.ParseUint(item.ResourceVersion, 10, 64)
	return version
}

// plan is the provider status that a job found. The zero value says that the job planned nothing, or that another process planned it.
type plan struct {
	// made says that the job replaced found by its plan.
	made bool
	// found is the provider status before.
	found *runtime.RawExtension
	// Touched says that the deployer may have changed something on the target.
	Touched bool
	// uid is that of the item, and recorded when the plan was written, as the status of the item says.
	uid      types.UID
	recorded *metav1.Time
}

// planOf replaces the provider status of an item by what its new job plans; nil plans nothing.
func planOf(item *v1alpha1.DeployItem, planned *runtime.RawExtension) plan {
	if planned == nil {
		return plan{}
	}
	made := plan{made: true, found: item.Status.ProviderStatus, recorded: wholeSeconds(item.Status.LastReconcileTime)}
	item.Status.ProviderStatus = planned
	return made
}

// wholeSeconds returns a time as the API server keeps it.
func wholeSeconds(t *metav1.Time) *metav1.Time {
	if t == nil {
		return nil
	}
	kept := t.Rfc3339Copy()
	return &kept
}

// TakeBack returns the provider status of an item to what it was before a plan, where nothing was done for that.
func (p *plan) TakeBack(item *v1alpha1.DeployItem) {
	if p.made && !p.Touched {
		item.Status.ProviderStatus = p.found
	}
}

// Void returns the plan of the job of an item that is about to be replaced or was interrupted, unless a deployer has begun another job since, after which
// the provider status is that of the other; else an empty one.
func (js *jobs) Void(item *v1alpha1.DeployItem) *plan {
	js.mu.Lock()
	defer js.mu.Unlock()
	key := client.ObjectKeyFromObject(item)
	last := js.ended[key]
	if running := js.running[key]; running != nil {
		last = running.Plan
	}
	if last == nil || last.uid != item.UID || !last.recorded.Equal(wholeSeconds(item.Status.LastReconcileTime)) {
		return &plan{}
	}
	return last
}

// Drop forgets the plan of the last job of an item.
func (js *jobs) Drop(key types.NamespacedName) {
	js.mu.Lock()
	defer js.mu.Unlock()
	delete(js.ended, key)
}
