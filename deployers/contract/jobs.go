// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// errInterrupted is why the context of a call ends when the job was ended or replaced by somebody else.
var errInterrupted = errors.New("the job was interrupted")

// job is what this process remembers of a running job between two calls of the deployer. Everything that must survive a restart
// is in the status of the item.
type job struct {
	key types.NamespacedName
	uid types.UID
	id  string
	// deleting says that the job uninstalls.
	deleting bool
	// began is when the job began, for deadline and visibility.
	began time.Time
	// version of the item from which on events of the item concern this job.
	version uint64
	// memory belongs to the deployer.
	memory map[string]any
	// plan is what the job recorded before it began to work.
	plan plan

	mu sync.Mutex
	// cancel ends the running call.
	cancel context.CancelCauseFunc
	// woken says that something the job waits for has changed, news what.
	woken bool
	news  news
	ended bool
	// closing says that this process itself is about to write the end of the job.
	closing bool

	// The rest is only used by the worker that holds the item.
	called   bool
	attempts int
	retryAt  time.Time
	// answers says that the request for this job is forgotten: a test annotation that comes now asks for another one.
	answers bool
	// checkpoint is the step the deployer last reported, cause the last error or what the job waits for.
	checkpoint, cause string
	// outcome and failure are the answer of the last call, nil where there is none to show.
	outcome Outcome
	failure *kit.Failure
	// quiet says that the failure is shown only once it lasts.
	quiet bool
}

// wake notes that something the job waits for has changed; without keys that may be anything.
func (j *job) wake(changed ...watchKey) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.woken = true
	j.news.add(changed)
}

// isWoken reports whether a wake-up has not been taken yet.
func (j *job) isWoken() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.woken
}

// hold makes the deployer be called in the next pass, whatever brings that about.
func (j *job) hold() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.called = false
}

// close notes whether this process is about to write the end of the job.
func (j *job) close(closing bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closing = closing
}

func (j *job) isClosing() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.closing
}

// due reports whether the deployer has something to do, and takes the wake-up with its news.
func (j *job) due(now time.Time) (news, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	again := !j.called || !j.retryAt.IsZero() && !now.Before(j.retryAt)
	if !again && !j.woken {
		return news{}, false
	}
	taken := j.news
	taken.anything = taken.anything || again
	j.called, j.woken, j.retryAt, j.news = true, false, time.Time{}, news{}
	return taken, true
}

// run returns the context of one call of the deployer. It ends with the job.
func (j *job) run(ctx context.Context) (context.Context, context.CancelCauseFunc) {
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

func (j *job) hasEnded() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended
}

// isCurrent reports whether this is the job that the item asks for.
func (j *job) isCurrent(item *v1alpha1.DeployItem) bool {
	return j.uid == item.UID && j.id == item.Status.JobID && j.deleting == isDeleting(item) && !j.hasEnded()
}

// isOverIn reports whether an item, as an event shows it, has left this job behind.
func (j *job) isOverIn(item *v1alpha1.DeployItem) bool {
	if item.UID != j.uid {
		return true
	}
	return versionOf(item) >= j.version && (item.Status.JobID != j.id || item.Status.JobIDFinished == j.id)
}

// jobs holds the running jobs of a process. It is safe for concurrent use.
type jobs struct {
	mu      sync.Mutex
	running map[types.NamespacedName]*job
	// ended are jobs that planned something and were ended by somebody else.
	ended map[types.NamespacedName]*job
	// interrupted are the items whose job somebody else has ended, until takeInterrupted; only with notesInterrupted.
	interrupted      map[types.NamespacedName]struct{}
	notesInterrupted bool
	// released is called when a job has ended, with the lock not held.
	released func(*job)
}

// claim returns the running job of an item, or a new one when it is not known yet. A job of the item that is over ends.
func (js *jobs) claim(item *v1alpha1.DeployItem, began time.Time, planned plan) *job {
	key := client.ObjectKeyFromObject(item)
	if known := js.of(key); known != nil {
		if known.isCurrent(item) {
			return known
		}
		js.end(known)
	}
	fresh := &job{
		key: key, uid: item.UID, id: item.Status.JobID, deleting: isDeleting(item),
		began: began, version: versionOf(item), memory: map[string]any{}, plan: planned,
	}
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.running == nil {
		js.running = map[types.NamespacedName]*job{}
	}
	js.running[key] = fresh
	return fresh
}

// of returns the running job of an item; nil when there is none.
func (js *jobs) of(key types.NamespacedName) *job {
	js.mu.Lock()
	defer js.mu.Unlock()
	return js.running[key]
}

// end stops a job and forgets it.
func (js *jobs) end(ended *job) {
	ended.end()
	js.mu.Lock()
	if js.running[ended.key] == ended {
		delete(js.running, ended.key)
	}
	js.mu.Unlock()
	js.retain(ended)
	js.released(ended)
}

// observe stops the job of an item that an event shows to be over.
func (js *jobs) observe(item *v1alpha1.DeployItem) {
	if known := js.of(client.ObjectKeyFromObject(item)); known != nil && known.isOverIn(item) {
		if !known.isClosing() {
			js.interrupt(known)
		}
		js.end(known)
	}
}

// interrupt notes that somebody else has ended a job.
func (js *jobs) interrupt(ended *job) {
	if !js.notesInterrupted {
		return
	}
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.interrupted == nil {
		js.interrupted = map[types.NamespacedName]struct{}{}
	}
	js.interrupted[ended.key] = struct{}{}
}

// takeInterrupted reports whether somebody else has ended the job of an item, once.
func (js *jobs) takeInterrupted(key types.NamespacedName) bool {
	js.mu.Lock()
	defer js.mu.Unlock()
	_, noted := js.interrupted[key]
	delete(js.interrupted, key)
	return noted
}

// isInterrupted reports whether takeInterrupted will.
func (js *jobs) isInterrupted(key types.NamespacedName) bool {
	js.mu.Lock()
	defer js.mu.Unlock()
	_, noted := js.interrupted[key]
	return noted
}

// forget stops whatever runs for an item that is gone.
func (js *jobs) forget(key types.NamespacedName) {
	if known := js.of(key); known != nil {
		js.end(known)
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
