// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/watches"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// visibleAfter is how long a job may take before intermediate states are written.
const visibleAfter = 2 * time.Second

// operationReconcile is the lastError.operation of errors that name none, as in the existing API.
const operationReconcile = "reconcilePrivate"

// deadline returns when the job times out; zero means never.
func (s *scope) deadline() time.Time {
	timeout := items.Timeout(s.item, s.maxTimeout)
	if timeout == 0 {
		return time.Time{}
	}
	deadline := s.job.Began.Add(timeout)
	if longer := s.goneDeadline(); longer.After(deadline) {
		return longer
	}
	return deadline
}

func (s *scope) isLate(now time.Time) bool {
	deadline := s.deadline()
	return !deadline.IsZero() && !now.Before(deadline)
}

// expire fails a job whose time was up while nothing was running.
func (r *reporter) expire(ctx context.Context, s *scope) error {
	if !s.isLate(time.Now()) {
		return nil
	}
	return r.fail(ctx, s, s.timeout(nil))
}

// timeout is the failure of a late job: first the step, for tools that look for it, then the root cause.
func (s *scope) timeout(err error) *kit.Failure {
	message := fmt.Sprintf("timeout at: %q", s.checkpoint())
	if cause := s.rootCause(err); cause != "" {
		message += ": " + cause
	}
	return &kit.Failure{
		Kind: kit.Stalled, Operation: operationOf(err), Reason: "ProgressingTimeout",
		Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorTimeout}, Err: errors.New(message),
	}
}

func (s *scope) checkpoint() string {
	switch {
	case s.job.Checkpoint != "":
		return s.job.Checkpoint
	case s.deleting():
		return "start delete"
	}
	return "start reconcile"
}

// rootCause prefers what went wrong over that a context ended.
func (s *scope) rootCause(err error) string {
	if err != nil && !isEndOfContext(err) && !isCheckpoint(err) {
		return err.Error()
	}
	if s.job.Cause != "" {
		return s.job.Cause
	}
	if last := s.item.Status.LastError; last != nil {
		return last.Message
	}
	if err != nil && !isCheckpoint(err) {
		return err.Error()
	}
	return ""
}

func isEndOfContext(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.Is(err, jobs.ErrInterrupted)
}

// errCheckpoint marks the errors of Item.Checkpoint.
var errCheckpoint = errors.New("timeout")

func isCheckpoint(err error) bool { return errors.Is(err, errCheckpoint) }

// checkpointOf returns the function that notes the current step and stops the call when its time is up.
func (s *scope) checkpointOf(ctx context.Context) func(string) error {
	return func(name string) error {
		s.job.Checkpoint = name
		if s.isLate(time.Now()) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return kit.Coded(fmt.Errorf("%w at: %q", errCheckpoint, name), v1alpha1.ErrorTimeout)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return nil
	}
}

// idleUntilDue ends the pass when the deployer has nothing to do: then only the state of a job that takes long is shown.
func (r *reporter) idleUntilDue(ctx context.Context, s *scope) error {
	var due bool
	if s.news, due = s.job.Due(time.Now()); due {
		return nil
	}
	return stopAfter(r.show(ctx, s))
}

// nextLook returns when the item has to be looked at again without an event.
func (s *scope) nextLook(now time.Time) time.Duration {
	var next time.Time
	earliest := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	earliest(s.deadline())
	earliest(s.job.RetryAt)
	if visible := s.job.Began.Add(visibleAfter); now.Before(visible) {
		earliest(visible)
	}
	if next.IsZero() {
		return 0
	}
	return max(next.Sub(now), time.Millisecond)
}

// vigils watch what held uninstalls whose time was over, as a finalizer of others does. They end with the process; what is asked for by hand needs none.
type vigils struct {
	watches *watches.Watches
	// queue brings an item to a worker.
	queue func(types.NamespacedName)

	mu sync.Mutex
	of map[types.NamespacedName]*vigil
}

// vigil is that of one item.
type vigil struct {
	all *vigils
	key types.NamespacedName
	// uid of the item, job that failed.
	uid     types.UID
	job     string
	watched []watches.Object
	woken   atomic.Bool
}

// Wake brings the item to a worker.
func (v *vigil) Wake(...watches.Key) {
	v.woken.Store(true)
	v.all.queue(v.key)
}

// keep begins to watch what a job waits for whose time is over.
func (vs *vigils) keep(item *v1alpha1.DeployItem, job *jobs.Job) {
	v := &vigil{all: vs, key: job.Key, uid: item.UID, job: job.ID}
	for _, one := range job.Watched {
		if one.Name != "" {
			v.watched = append(v.watched, one)
		}
	}
	vs.end(job.Key)
	if len(v.watched) == 0 {
		return
	}
	vs.mu.Lock()
	vs.of[v.key] = v
	vs.mu.Unlock()
	vs.watches.Follow(v, v.watched, time.Now())
}

// end ends the vigil of an item.
func (vs *vigils) end(key types.NamespacedName) {
	vs.mu.Lock()
	v := vs.of[key]
	delete(vs.of, key)
	vs.mu.Unlock()
	if v != nil {
		vs.watches.Release(v)
	}
}

func (vs *vigils) at(key types.NamespacedName) *vigil {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.of[key]
}

// isWoken reports whether something has changed that held the uninstall of an item.
func (vs *vigils) isWoken(item *v1alpha1.DeployItem) bool {
	v := vs.at(client.ObjectKeyFromObject(item))
	return v != nil && v.woken.Load()
}

// resume begins the uninstall again when all is gone that held it. The vigil of an item that has got another job ends.
func (vs *vigils) resume(ctx context.Context, s *scope) error {
	v := vs.at(s.key())
	switch {
	case v == nil, s.item.Status.JobID == v.job && !s.item.Job().IsIdle(): // the end of the job is being written
		return nil
	case s.item.Status.JobID != v.job, s.item.UID != v.uid, !s.deleting():
		vs.end(s.key())
		return nil
	case !v.woken.Swap(false):
		return nil
	}
	for _, one := range v.watched {
		there, err := isThere(ctx, one)
		if err != nil {
			v.woken.Store(true)
			return stopAfter(err)
		}
		if there {
			return nil
		}
	}
	vs.end(s.key())
	s.own = true
	s.item.Status.JobID = uuid.NewString()
	s.item.Status.JobIDGenerationTime = &metav1.Time{Time: time.Now()}
	return nil
}

// isThere asks the cluster of an object for it.
func isThere(ctx context.Context, one watches.Object) (bool, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(one.APIVersion, one.Kind))
	err := one.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: one.Namespace, Name: one.Name}, object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
