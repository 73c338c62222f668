// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package jobs holds what the process remembers of running jobs between two calls of the deployer. Everything that must survive a restart is in the
// status of the item. It reads and writes no cluster.
package jobs

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/watches"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// ErrInterrupted is why the context of a call ends when the job was ended or replaced by somebody else.
var ErrInterrupted = errors.New("the job was interrupted")

// Job is a running job.
type Job struct {
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
	Plan *Plan
	// queue brings the item to a worker.
	queue func(types.NamespacedName)

	mu sync.Mutex
	// cancel ends the running call.
	cancel context.CancelCauseFunc
	// woken says that something the job waits for has changed, news what.
	woken bool
	news  watches.News
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
	Watched []watches.Object
	// Records and Failure are the answer of the last call, nil where there is none to show.
	Records items.Records
	Failure *kit.Failure
	// IsQuiet says that the failure is shown only once it lasts.
	IsQuiet bool
}

// Wake brings the job back to a worker because something it waits for has changed; without keys that may be anything.
func (j *Job) Wake(changed ...watches.Key) {
	j.Note(changed...)
	j.queue(j.Key)
}

// Note notes that something the job waits for has changed, for the next pass of the item.
func (j *Job) Note(changed ...watches.Key) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.woken = true
	j.news.Add(changed)
}

// Hold makes the deployer be called in the next pass, whatever brings that about.
func (j *Job) Hold() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.called = false
}

// Due reports whether the deployer has something to do, and takes the wake-up with its news.
func (j *Job) Due(now time.Time) (watches.News, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	again := !j.called || !j.RetryAt.IsZero() && !now.Before(j.RetryAt)
	if !again && !j.woken {
		return watches.News{}, false
	}
	taken := j.news
	taken.Anything = taken.Anything || again
	j.called, j.woken, j.RetryAt, j.news = true, false, time.Time{}, watches.News{}
	return taken, true
}

// Run returns the context of one call of the deployer. It ends with the job.
func (j *Job) Run(ctx context.Context) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.cancel = cancel
	if j.ended {
		cancel(ErrInterrupted)
	}
	return ctx, cancel
}

func (j *Job) end() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended = true
	if j.cancel != nil {
		j.cancel(ErrInterrupted)
	}
}

// HasEnded reports whether the job is over.
func (j *Job) HasEnded() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended
}

// IsCurrent reports whether this is the job that the item asks for.
func (j *Job) IsCurrent(item *v1alpha1.DeployItem) bool {
	return j.uid == item.UID && j.ID == item.Status.JobID && j.deleting == items.IsDeleting(item) && !j.HasEnded()
}

// IsOverIn reports whether an item, as an event shows it, has left this job behind.
func (j *Job) IsOverIn(item *v1alpha1.DeployItem) bool {
	if item.UID != j.uid {
		return true
	}
	return versionOf(item) >= j.version && (item.Status.JobID != j.ID || item.Status.JobIDFinished == j.ID)
}

// Jobs are the running jobs of a process. It is safe for concurrent use.
type Jobs struct {
	// Released is called when a job has ended, Queue to bring an item to a worker; both with the lock not held.
	Released func(*Job)
	Queue    func(types.NamespacedName)

	mu      sync.Mutex
	running map[types.NamespacedName]*Job
	// ended are the plans of jobs that were ended by somebody else.
	ended map[types.NamespacedName]endedPlan
}

// Claim returns the running job of an item, or a new one when it is not known yet. A job of the item that is over ends.
func (js *Jobs) Claim(item *v1alpha1.DeployItem, began time.Time, planned Plan) *Job {
	key := client.ObjectKeyFromObject(item)
	if known := js.Of(key); known != nil {
		if known.IsCurrent(item) {
			return known
		}
		js.End(known)
	}
	fresh := &Job{
		Key: key, uid: item.UID, ID: item.Status.JobID, deleting: items.IsDeleting(item),
		Began: began, version: versionOf(item), Memory: map[string]any{}, Plan: &planned, queue: js.Queue,
	}
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.running == nil {
		js.running = map[types.NamespacedName]*Job{}
	}
	js.running[key] = fresh
	return fresh
}

// Of returns the running job of an item; nil when there is none.
func (js *Jobs) Of(key types.NamespacedName) *Job {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.running[key]
}

// End stops a job and forgets it.
func (js *Jobs) End(ended *Job) {
	ended.end()
	js.mu.Lock()
	if js.running[ended.Key] == ended {
		delete(js.running, ended.Key)
	}
	js.mu.Unlock()
	js.retain(ended)
	js.Released(ended)
}

// Observe stops the job of an item that an event shows to be over, or that is to be left alone.
func (js *Jobs) Observe(item *v1alpha1.DeployItem, isLeft bool) {
	known := js.Of(client.ObjectKeyFromObject(item))
	if known != nil && (known.IsOverIn(item) || isLeft && versionOf(item) >= known.version) {
		js.End(known)
	}
}

// Forget stops whatever runs for an item that is gone.
func (js *Jobs) Forget(key types.NamespacedName) {
	if known := js.Of(key); known != nil {
		js.End(known)
	}
}

// versionOf returns the resource version as a number; 0 when it is none.
func versionOf(item *v1alpha1.DeployItem) uint64 {
	version, err := strconv.ParseUint(item.ResourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return version
}
