// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// HookType is a point of the work on an item at which hooks run.
type HookType string

// Points at which hooks run, in the order in which they come. A pass is one look at one item: after an event of the item or of what it uses,
// or by the clock.
const (
	// HookStart begins each pass, before anything is decided. An abort ends the pass.
	HookStart HookType = "Start"
	// HookDuringResponsibilityCheck follows the selectors, where they select the item. When every hook aborts, the item is left to others.
	HookDuringResponsibilityCheck HookType = "DuringResponsibilityCheck"
	// HookAfterResponsibilityCheck runs once the deployer is responsible. An abort ends the pass.
	HookAfterResponsibilityCheck HookType = "AfterResponsibilityCheck"
	// HookShouldReconcile decides whether an item that has no job to do, and whose last job was for its present spec, gets one of its own. It
	// does unless every hook that answers aborts. Without an answer it does not.
	HookShouldReconcile HookType = "ShouldReconcile"
	// HookBeforeAbort runs after somebody has ended or replaced the job that this process runs, and its call has returned, before anything else is
	// done for the item. An abort ends the pass.
	HookBeforeAbort HookType = "BeforeAbort"
	// HookBeforeForceReconcile comes before HookBeforeReconcile in jobs that the operation test-reconcile asked for.
	HookBeforeForceReconcile HookType = "BeforeForceReconcile"
	// HookBeforeDelete runs before each call of Deployer.Delete, HookBeforeReconcile before each of Deployer.Ensure. Such a call does not take
	// place when one of its hooks aborts: the job waits, and its time goes on.
	HookBeforeDelete    HookType = "BeforeDelete"
	HookBeforeReconcile HookType = "BeforeReconcile"
	// HookBeforeAnyReconcile runs after HookBeforeDelete or HookBeforeReconcile.
	HookBeforeAnyReconcile HookType = "BeforeAnyReconcile"
	// HookEnd runs after what a call achieved is in the status.
	HookEnd HookType = "End"
)

// hookTypes are all points.
var hookTypes = []HookType{
	HookStart, HookDuringResponsibilityCheck, HookAfterResponsibilityCheck, HookShouldReconcile, HookBeforeAbort, HookBeforeForceReconcile,
	HookBeforeDelete, HookBeforeReconcile, HookBeforeAnyReconcile, HookEnd,
}

// HookCall is what a hook is told.
type HookCall struct {
	// Type is the point of the work.
	Type HookType
	// DeployItem as the process knows it. Hooks must not change it.
	DeployItem *v1alpha1.DeployItem
	// Target of the item as the cache knows it; nil when the item names none, and when it does not exist. Hooks must not change it.
	Target *v1alpha1.Target
}

// HookResult is what a hook asks for.
type HookResult struct {
	// RequeueAfter asks for another pass after this time at the latest; 0 asks for none.
	RequeueAfter time.Duration
	// AbortReconcile asks to leave the item as it is. The HookType says what that means.
	AbortReconcile bool
}

// Hook is called at a point of the work. It has to return soon, because it holds a worker, and it may be called again at the same point of the
// same job. A nil result is no answer. An error is one of the item, as errors of Deployer are: a job that has begun or is to begin shows it
// and is tried again, or fails if the error says so. Where there is no job it is logged, and the pass is tried again with back-off.
type Hook func(ctx context.Context, call HookCall) (*HookResult, error)

// Hooks by the point at which they run.
type Hooks map[HookType][]Hook

// Hooked is a Deployer that brings hooks of its own. They run before those of Options.
type Hooked interface {
	Deployer
	// Hooks is called when the deployer is served.
	Hooks() Hooks
}

// hooksOf returns the hooks that a deployer brings.
func hooksOf(deployer Deployer) Hooks {
	if hooked, ok := deployer.(Hooked); ok {
		return hooked.Hooks()
	}
	return nil
}

// validate returns an error that names a point that does not exist.
func (h Hooks) validate() error {
	for at := range h {
		if !slices.Contains(hookTypes, at) {
			return fmt.Errorf("hooks at %q never run; use one of %v", at, hookTypes)
		}
	}
	return nil
}

// add returns the hooks of both.
func (h Hooks) add(others Hooks) Hooks {
	all := Hooks{}
	for _, each := range []Hooks{h, others} {
		for at, hooks := range each {
			all[at] = append(all[at], hooks...)
		}
	}
	return all
}

// run calls the hooks of a point until one fails. The result is nil when none answers.
func (h Hooks) run(ctx context.Context, call HookCall) (*HookResult, error) {
	var answers []HookResult
	for _, hook := range h[call.Type] {
		answer, err := hook(ctx, call)
		if err != nil {
			return nil, fmt.Errorf("hook %s: %w", call.Type, err)
		}
		if answer != nil {
			answers = append(answers, *answer)
		}
	}
	return aggregate(call.Type, answers), nil
}

// aggregate makes one answer of several. One abort is enough, except where hooks decide together; the smallest time counts.
func aggregate(at HookType, answers []HookResult) *HookResult {
	if len(answers) == 0 {
		return nil
	}
	aborts := func(answer HookResult) bool { return answer.AbortReconcile }
	goesOn := func(answer HookResult) bool { return !answer.AbortReconcile }
	all := &HookResult{AbortReconcile: slices.ContainsFunc(answers, aborts)}
	if at == HookDuringResponsibilityCheck || at == HookShouldReconcile {
		all.AbortReconcile = !slices.ContainsFunc(answers, goesOn)
	}
	for _, answer := range answers {
		all.RequeueAfter = sooner(all.RequeueAfter, answer.RequeueAfter)
	}
	return all
}

// sooner returns the smaller of two times, of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}

// hookRunner runs the hooks of items.
type hookRunner struct {
	client   client.Client
	recorder record.EventRecorder
	jobs     *jobs.Jobs
	hooks    Hooks
}

// run runs the hooks of a point for an item and notes when they want another pass. The result is nil when none answers.
func (r *hookRunner) run(ctx context.Context, s *scope, at HookType) (*HookResult, error) {
	if len(r.hooks[at]) == 0 {
		return nil, nil
	}
	call := HookCall{Type: at, DeployItem: s.item}
	if name := items.TargetName(s.item); name != "" {
		found := &v1alpha1.Target{}
		err := r.client.Get(ctx, client.ObjectKey{Namespace: s.item.Namespace, Name: name}, found)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil {
			call.Target = found
		}
	}
	answer, err := r.hooks.run(ctx, call)
	if answer != nil {
		s.hookRequeue = sooner(s.hookRequeue, answer.RequeueAfter)
	}
	return answer, err
}

// step returns the step that runs the hooks of a point. An error is kept for the job of the item.
func (r *hookRunner) step(at HookType) kit.Step[*scope] {
	return func(ctx context.Context, s *scope) error {
		if s.hookErr != nil {
			return nil
		}
		answer, err := r.run(ctx, s, at)
		s.hookErr = err
		if answer != nil && answer.AbortReconcile {
			return kit.ErrStop
		}
		return nil
	}
}

// prepare runs the hooks before a call of the deployer. It returns what the job waits for when one of them does not let the call take place.
func (r *hookRunner) prepare(ctx context.Context, s *scope) (held string, err error) {
	if s.hookErr != nil {
		return "", s.hookErr
	}
	points := []HookType{HookBeforeReconcile, HookBeforeAnyReconcile}
	switch {
	case s.deleting():
		points[0] = HookBeforeDelete
	case items.IsTestJob(s.job.ID):
		points = slices.Insert(points, 0, HookBeforeForceReconcile)
	}
	for _, at := range points {
		answer, err := r.run(ctx, s, at)
		if err != nil {
			return "", err
		}
		if answer != nil && answer.AbortReconcile {
			s.job.Hold()
			return fmt.Sprintf("a hook holds the job back at %s", at), nil
		}
	}
	return "", nil
}

// atEnd runs the hooks after a call. What they say about the call comes too late for the job, so an error is only told.
func (r *hookRunner) atEnd(ctx context.Context, s *scope) {
	if s.called.IsZero() {
		return
	}
	if _, err := r.run(ctx, s, HookEnd); err != nil {
		r.tell(ctx, s.item, err)
	}
}

// beforeAbort runs the hooks for the job that this process ran and somebody else has ended. It reports whether the pass goes on.
func (r *hookRunner) beforeAbort(ctx context.Context, s *scope) bool {
	if !r.jobs.TakeInterrupted(s.key()) {
		return true
	}
	answer, err := r.run(ctx, s, HookBeforeAbort)
	if err != nil {
		r.tell(ctx, s.item, err)
	}
	return answer == nil || !answer.AbortReconcile
}

// abort runs the hooks for a job whose end by somebody else shows in what the pass met.
func (r *hookRunner) abort(ctx context.Context, s *scope) {
	if s.job != nil {
		r.jobs.Interrupt(s.job)
		r.beforeAbort(ctx, s)
	}
}

// reasonHookFailed is the reason of events about errors of hooks that no job can show.
const reasonHookFailed = "HookFailed"

func (r *hookRunner) tell(ctx context.Context, item *v1alpha1.DeployItem, err error) {
	if ctx.Err() == nil {
		r.recorder.Event(item, corev1.EventTypeWarning, reasonHookFailed, kit.Message(err.Error()))
	}
}
