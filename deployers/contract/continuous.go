// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/schedule"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// ContinuousReconciler is a Deployer whose items may ask to be carried out again by the clock, without a job of their Execution.
type ContinuousReconciler interface {
	Deployer
	// ContinuousReconcile returns what an item says about it; nil when it says nothing. The error names the field that is wrong: the job of
	// the item fails with it, and the clock starts none. For a field continuousReconcile of spec.config return
	// ContinuousReconcileIn(item.Spec.Configuration). It is called often and only looks at the item.
	ContinuousReconcile(item *v1alpha1.DeployItem) (*managedresource.ContinuousReconcileSpec, error)
}

// DefaultMinContinuousInterval is Options.MinContinuousInterval where that is not set.
const DefaultMinContinuousInterval = 10 * time.Second

// ContinuousReconcileIn reads and checks the field continuousReconcile of a configuration; nil when there is none. Errors name the field.
func ContinuousReconcileIn(config *runtime.RawExtension) (*managedresource.ContinuousReconcileSpec, error) {
	if config == nil || !bytes.Contains(config.Raw, []byte(`"continuousReconcile"`)) {
		return nil, nil
	}
	var fields struct {
		ContinuousReconcile *managedresource.ContinuousReconcileSpec `json:"continuousReconcile"`
	}
	if err := document.Decode(config.Raw, &fields); err != nil {
		return nil, err
	}
	if errs := managedresource.ValidateContinuousReconcile("continuousReconcile", fields.ContinuousReconcile); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return fields.ContinuousReconcile, nil
}

// continuousSpec returns when the clock starts jobs of an item; nil when it starts none. The error is about the configuration.
func (r *reconciler) continuousSpec(item *v1alpha1.DeployItem) (*managedresource.ContinuousReconcileSpec, error) {
	continuous, ok := r.deployer.(ContinuousReconciler)
	if !ok {
		return nil, nil
	}
	return continuous.ContinuousReconcile(item)
}

// mayRepeat reports whether an item may get a job of its own: it has had one, for its present spec, and stays.
func mayRepeat(item *v1alpha1.DeployItem) bool {
	return item.Job().IsIdle() && !isDeleting(item) && item.Status.JobID != "" && item.Status.ObservedGeneration == item.Generation &&
		item.Status.LastReconcileTime != nil
}

// isRepeated reports whether the clock, a source or a hook may give an item a job of its own.
func (r *reconciler) isRepeated(item *v1alpha1.DeployItem) bool {
	if !mayRepeat(item) {
		return false
	}
	if r.isHooked || r.followsSources(item) {
		return true
	}
	spec, err := r.continuousSpec(item)
	return err == nil && spec != nil && isActive(item)
}

func isActive(item *v1alpha1.DeployItem) bool {
	return item.Annotations[v1alpha1.ContinuousReconcileActiveAnnotation] != "false"
}

const (
	// precision is by how much a moment may be later than the status says, which has whole seconds.
	precision = time.Second
	// longest is the longest interval that can be added to.
	longest = 100 * 365 * 24 * time.Hour
)

// rhythm says how jobs that the clock starts follow each other.
type rhythm struct {
	jitter kit.Jitter
	// rest is the least time between the end of a job and the next one.
	rest time.Duration
}

// due returns when the clock starts the next job of an item; false when it starts none. The instant follows from what the status says, so that
// it is the same after a restart. It is never before that of the configuration.
func (r rhythm) due(item *v1alpha1.DeployItem, spec *managedresource.ContinuousReconcileSpec) (time.Time, bool) {
	due, found := r.after(item, spec, item.Status.LastReconcileTime.Time)
	if !found {
		return time.Time{}, false
	}
	if spec.Every != nil && spec.Every.Duration < longest {
		due = due.Add(precision)
	}
	if times := item.Status.TransitionTimes; times != nil && times.FinishedTime != nil {
		if rested := times.FinishedTime.Add(precision + r.rest); rested.After(due) {
			return rested, true
		}
	}
	return due, true
}

// after returns the instant that follows a moment. An interval is made longer by the jitter; a schedule is exact.
func (r rhythm) after(item *v1alpha1.DeployItem, spec *managedresource.ContinuousReconcileSpec, moment time.Time) (time.Time, bool) {
	if spec.Every != nil {
		return moment.Add(r.jitter.Delay(spec.Every.Duration, string(item.UID)+"/"+item.Status.JobIDFinished)), true
	}
	parsed, err := schedule.Parse(spec.Cron)
	if err != nil {
		return time.Time{}, false
	}
	return parsed.Next(moment)
}

// continuously is the hook that lets the clock start jobs. Of a job that is due it names the instant after it, for the case that it is skipped.
func (r *reconciler) continuously(_ context.Context, call HookCall) (*HookResult, error) {
	item := call.DeployItem
	spec, err := r.continuousSpec(item)
	if err != nil || spec == nil || !isActive(item) {
		return nil, nil // the job of the configuration has failed with the error
	}
	rhythm := rhythm{jitter: kit.Jitter(r.options.JitterPercentage), rest: r.options.MinContinuousInterval}
	due, found := rhythm.due(item, spec)
	if !found {
		return nil, nil
	}
	now := time.Now()
	if wait := due.Sub(now); wait > 0 {
		return &HookResult{RequeueAfter: wait, AbortReconcile: true}, nil
	}
	answer := &HookResult{}
	if next, found := rhythm.after(item, spec, now); found {
		answer.RequeueAfter = max(next.Sub(now), rhythm.rest)
	}
	return answer, nil
}

// repeat gives an item that has nothing to do a job of its own when hooks ask for it, and else ends the pass.
func (r *reconciler) repeat(ctx context.Context, s *scope) error {
	if s.isIdle = s.item.Job().IsIdle(); !s.isIdle {
		r.releaseHeld(s.key())
		return nil
	}
	if s.hookErr != nil {
		return s.hookErr
	}
	if !mayRepeat(s.item) {
		return kit.ErrStop
	}
	answer, err := r.hook(ctx, s, HookShouldReconcile)
	if err != nil {
		return err
	}
	if answer == nil || answer.AbortReconcile {
		return kit.ErrStop
	}
	if !r.turns.take(s.item) {
		s.hookRequeue = time.Millisecond
		return kit.ErrStop
	}
	since := time.Now()
	switch by, err := r.obstacle(ctx, s.item); {
	case err != nil:
		return err
	case by != nil:
		return stopAfter(r.awaitObstacle(ctx, s.item, by, since))
	}
	r.releaseHeld(s.key())
	s.own, s.isIdle = true, false
	s.item.Status.JobID = v1alpha1.ContinuousJobPrefix + uuid.NewString()
	s.item.Status.JobIDGenerationTime = &metav1.Time{Time: time.Now()}
	return nil
}

// turns holds items that are to get a job of their own, from the pass that found that out to the one that begins it. The queue lets that one wait
// for everything that an event asks for, which the first may be itself. It is safe for concurrent use.
type turns struct {
	mu sync.Mutex
	// after is the last job of each item.
	after map[types.NamespacedName]string
}

// take reports whether it is the turn of an item; else its turn comes in the next pass.
func (t *turns) take(item *v1alpha1.DeployItem) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := client.ObjectKeyFromObject(item)
	if last, waits := t.after[key]; waits && last == item.Status.JobIDFinished {
		delete(t.after, key)
		return true
	}
	if t.after == nil {
		t.after = map[types.NamespacedName]string{}
	}
	t.after[key] = item.Status.JobIDFinished
	return false
}

// forget drops an item that is gone.
func (t *turns) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.after, key)
}

// maxAncestors bounds the walk over the owners of an item.
const maxAncestors = 64

// obstacle returns the owner that does not let an item have a job of its own, nil when all do: the Execution while it runs one, which has its own
// place for the item, and whatever above is suspended or on its way out. They are read live, as the deployer keeps no cache of them.
func (r *reconciler) obstacle(ctx context.Context, item *v1alpha1.DeployItem) (*obstacle, error) {
	owner := kit.ControllerOf(item, "Execution")
	if owner == nil {
		return nil, nil
	}
	execution := &v1alpha1.Execution{}
	if found, err := r.readOwner(ctx, item.Namespace, owner, execution); err != nil || !found {
		return &obstacle{}, err
	}
	if !execution.Status.IsIdle() {
		return &obstacle{owner.Kind, owner.Name}, nil
	}
	var child client.Object = execution
	for seen := map[types.UID]bool{}; len(seen) < maxAncestors; {
		owner := kit.ControllerOf(child, "Installation")
		if owner == nil || seen[owner.UID] {
			return nil, nil
		}
		seen[owner.UID] = true
		inst := &v1alpha1.Installation{}
		if found, err := r.readOwner(ctx, item.Namespace, owner, inst); err != nil || !found {
			return &obstacle{}, err
		}
		if inst.Spec.Suspend {
			return &obstacle{owner.Kind, owner.Name}, nil
		}
		child = inst
	}
	return nil, nil
}

// isFree reports whether the owners of an item let it have a job of its own.
func (r *reconciler) isFree(ctx context.Context, item *v1alpha1.DeployItem) (bool, error) {
	by, err := r.obstacle(ctx, item)
	return by == nil, err
}

// readOwner reads an owner and reports whether it is there to stay.
func (r *reconciler) readOwner(ctx context.Context, namespace string, owner *metav1.OwnerReference, into client.Object) (bool, error) {
	err := r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: owner.Name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the owner %s %s of the item: %w", owner.Kind, owner.Name, err)
	}
	return into.GetUID() == owner.UID && into.GetDeletionTimestamp().IsZero(), nil
}
