// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// isRepeated reports whether the clock, a source or a hook may give an item a job of its own.
func (r *reconciler) isRepeated(item *v1alpha1.DeployItem) bool {
	if !mayRepeat(item) {
		return false
	}
	if len(r.hooks) > 0 || r.options.Sources.gives(item) {
		return true
	}
	spec, err := r.clock.spec(item)
	return err == nil && spec != nil && isActive(item)
}

// repeat gives an item that has nothing to do a job of its own when hooks, the clock or a source ask for it, as far as its owners let it, and else ends the
// pass.
func (r *reconciler) repeat(ctx context.Context, s *scope) error {
	if s.isIdle = s.item.Job().IsIdle(); !s.isIdle {
		r.waiters.end(s.key())
		return nil
	}
	if !mayRepeat(s.item) {
		return protocol.ErrStop
	}
	begins, err := slices.Concat(r.hooks, hooks{r.clock}).shouldReconcile(ctx, s)
	if err != nil {
		return err
	}
	isNew := false
	if !begins {
		isNew, err = r.options.Sources.hasNews(ctx, s.item)
	}
	if err != nil || !begins && !isNew {
		return stopAfter(err)
	}
	if last, waits := r.turns.LoadAndDelete(s.key()); !waits || last != s.item.Status.JobIDFinished {
		r.turns.Store(s.key(), s.item.Status.JobIDFinished)
		s.hookRequeue = time.Millisecond
		return protocol.ErrStop
	}
	since := time.Now()
	by, err := r.findObstacle(ctx, s.item)
	if err != nil {
		return err
	}
	if by == nil {
		r.waiters.end(s.key())
		s.begin(v1alpha1.ContinuousJobPrefix + uuid.NewString())
		return nil
	}
	if begins { // the clock comes back by itself
		isNew, err = r.options.Sources.hasNews(ctx, s.item)
	}
	if err != nil {
		return err
	}
	if !isNew || by.Kind == "" {
		r.waiters.end(s.key())
		return protocol.ErrStop
	}
	r.waiters.await(s.item, []Watched{{
		Cluster: r.landscaper, APIVersion: v1alpha1.GroupVersion.String(), Kind: by.Kind, Namespace: s.item.Namespace, Name: by.Name,
	}}, since)
	return protocol.ErrStop
}

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
	var fields struct {
		ContinuousReconcile *managedresource.ContinuousReconcileSpec `json:"continuousReconcile"`
	}
	if err := decodeField(config, "continuousReconcile", &fields); err != nil {
		return nil, err
	}
	return fields.ContinuousReconcile, errors.Join(managedresource.ValidateContinuousReconcile("continuousReconcile", fields.ContinuousReconcile)...)
}

// decodeField decodes a configuration into fields where it may have the one with a name. Most have not, and are not read.
func decodeField(config *runtime.RawExtension, name string, fields any) error {
	if config == nil || !bytes.Contains(config.Raw, []byte(`"`+name+`"`)) {
		return nil
	}
	return document.Decode(config.Raw, fields)
}

// clock starts jobs of the items of a ContinuousReconciler.
type clock struct {
	NoHooks
	// deployer is nil where it is no such one.
	deployer ContinuousReconciler
	jitter   queue.Jitter
	// rest is the least time between the end of a job and the next one.
	rest time.Duration
}

// spec returns when the clock starts jobs of an item; nil when it starts none. The error is about the configuration.
func (c *clock) spec(item *v1alpha1.DeployItem) (*managedresource.ContinuousReconcileSpec, error) {
	if c.deployer == nil {
		return nil, nil
	}
	return c.deployer.ContinuousReconcile(item)
}

// ShouldReconcile lets the clock start jobs. Of a job that is due it names the instant after it, for the case that it is skipped.
func (c *clock) ShouldReconcile(_ context.Context, item *v1alpha1.DeployItem) (*HookResult, error) {
	spec, err := c.spec(item)
	if err != nil || spec == nil || !isActive(item) {
		return nil, nil // the job of the configuration has failed with the error
	}
	due, found := c.due(item, spec)
	if !found {
		return nil, nil
	}
	now := time.Now()
	if wait := due.Sub(now); wait > 0 && !clockIsAhead(item, now) {
		return &HookResult{RequeueAfter: wait, AbortReconcile: true}, nil
	}
	answer := &HookResult{}
	if next, found := c.after(item, spec, now); found {
		answer.RequeueAfter = max(next.Sub(now), c.rest)
	}
	return answer, nil
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

// due returns when the clock starts the next job of an item; false when it starts none. The instant follows from what the status says, so that
// it is the same after a restart. It is never before that of the configuration.
func (c *clock) due(item *v1alpha1.DeployItem, spec *managedresource.ContinuousReconcileSpec) (time.Time, bool) {
	due, found := c.after(item, spec, item.Status.LastReconcileTime.Time)
	if !found {
		return time.Time{}, false
	}
	if spec.Every != nil && spec.Every.Duration < longest {
		due = due.Add(precision)
	}
	if times := item.Status.TransitionTimes; times != nil && times.FinishedTime != nil {
		if rested := times.FinishedTime.Add(precision + c.rest); rested.After(due) {
			return rested, true
		}
	}
	return due, true
}

// clockIsAhead reports whether the last job was, as the status says, at a time that is still to come.
func clockIsAhead(item *v1alpha1.DeployItem, now time.Time) bool {
	times := item.Status.TransitionTimes
	return protocol.IsAhead(item.Status.LastReconcileTime.Time, now) || times != nil && times.FinishedTime != nil && protocol.IsAhead(times.FinishedTime.Time, now)
}

// after returns the instant that follows a moment. An interval is made longer by the jitter; a schedule is exact.
func (c *clock) after(item *v1alpha1.DeployItem, spec *managedresource.ContinuousReconcileSpec, moment time.Time) (time.Time, bool) {
	if spec.Every != nil {
		return moment.Add(c.jitter.Delay(spec.Every.Duration, string(item.UID)+"/"+item.Status.JobIDFinished)), true
	}
	parsed, err := managedresource.ParseSchedule(spec.Cron)
	if err != nil {
		return time.Time{}, false
	}
	return parsed.Next(moment)
}

// SourceWatch makes items follow the sources that they name: an item gets a job of its own when a source offers something else than the last
// job of the item used, once for each thing offered, however that job ends. While a source offers nothing, its items stay as they are. All
// fields are required.
type SourceWatch struct {
	// Kinds are empty objects of the kinds of sources, which are watched with the cache of the manager.
	Kinds []client.Object
	// News passes the events of a source after which it may offer something else.
	News predicate.Predicate
	// KeyOf identifies a source. KeysOf identifies in the same way those that an item names; it is called often and only looks at the item.
	KeyOf  func(source client.Object) string
	KeysOf func(item *v1alpha1.DeployItem) []string
	// Offered returns what the sources of an item offer, as the cache knows them; nothing while one of them offers nothing.
	Offered func(ctx context.Context, item *v1alpha1.DeployItem) ([]v1alpha1.SourceStatus, error)
}

// gives reports whether sources may give an item jobs. A nil SourceWatch gives none.
func (w *SourceWatch) gives(item *v1alpha1.DeployItem) bool {
	return w != nil && len(w.KeysOf(item)) > 0
}

// offered returns what the sources of an item offer; nothing where it names none.
func (w *SourceWatch) offered(ctx context.Context, item *v1alpha1.DeployItem) ([]v1alpha1.SourceStatus, error) {
	if !w.gives(item) {
		return nil, nil
	}
	return w.Offered(ctx, item)
}

// hasNews reports whether a source of an item offers something else than its last job used.
func (w *SourceWatch) hasNews(ctx context.Context, item *v1alpha1.DeployItem) (bool, error) {
	offered, err := w.offered(ctx, item)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(offered, func(one v1alpha1.SourceStatus) bool {
		return !slices.ContainsFunc(item.Status.Sources, func(used v1alpha1.SourceStatus) bool {
			used.ContentDigest, used.Verified = one.ContentDigest, one.Verified
			return used == one
		})
	}), nil
}

// isUsed reports whether the last job of an item used what its sources offer now.
func (w *SourceWatch) isUsed(ctx context.Context, item *v1alpha1.DeployItem) bool {
	isNew, err := w.hasNews(ctx, item)
	return err == nil && !isNew
}

// note writes into the status what a job that begins finds offered, so that a job that fails before it comes to its sources is not
// followed by another one for the same. The deployer makes it what the job has used.
func (w *SourceWatch) note(ctx context.Context, item *v1alpha1.DeployItem) error {
	if !w.gives(item) || isDeleting(item) {
		return nil
	}
	offered, err := w.offered(ctx, item)
	if err == nil {
		item.Status.Sources = offered
	}
	return err
}

// Hooks take part in the work on items. A Deployer may have them itself, and the program that serves it adds others by Options.Hooks; those of the
// Deployer run first. They have to return soon, because they hold a worker, and must not change the item. An error is one of the item, as errors of
// Deployer are: a job that has begun shows it and is tried again, or fails if the error says so. Where there is no job it is logged.
type Hooks interface {
	// ShouldReconcile decides whether an item that has no job to do, and whose last job was for its present spec, gets one of its own. It does
	// where one of the hooks answers without an abort; a nil result is no answer.
	ShouldReconcile(ctx context.Context, item *v1alpha1.DeployItem) (*HookResult, error)
	// BeforeReconcile comes before each call of Deployer.Ensure and Deployer.Delete. An abort holds that back: the job waits, and its time goes on.
	BeforeReconcile(ctx context.Context, item *v1alpha1.DeployItem) (*HookResult, error)
	// AfterReconcile comes when what such a call achieved is in the status.
	AfterReconcile(ctx context.Context, item *v1alpha1.DeployItem)
}

// HookResult is what a hook asks for.
type HookResult struct {
	// RequeueAfter asks for another look at the item after this time at the latest; 0 asks for none.
	RequeueAfter time.Duration
	// AbortReconcile asks to leave the item as it is.
	AbortReconcile bool
}

// NoHooks ask for nothing. Embed it to have some of the Hooks.
type NoHooks struct{}

// ShouldReconcile has no answer.
func (NoHooks) ShouldReconcile(context.Context, *v1alpha1.DeployItem) (*HookResult, error) {
	return nil, nil
}

// BeforeReconcile has no answer.
func (NoHooks) BeforeReconcile(context.Context, *v1alpha1.DeployItem) (*HookResult, error) {
	return nil, nil
}

// AfterReconcile does nothing.
func (NoHooks) AfterReconcile(context.Context, *v1alpha1.DeployItem) {}

// hooks run in their order.
type hooks []Hooks

// shouldReconcile reports whether an item gets a job of its own.
func (h hooks) shouldReconcile(ctx context.Context, s *scope) (begins bool, err error) {
	for _, hook := range h {
		answer, err := hook.ShouldReconcile(ctx, s.item)
		if err != nil {
			return false, fmt.Errorf("hook ShouldReconcile: %w", err)
		}
		if answer != nil {
			s.hookRequeue = sooner(s.hookRequeue, answer.RequeueAfter)
			begins = begins || !answer.AbortReconcile
		}
	}
	return begins, nil
}

// beforeReconcile returns what a job waits for where a hook holds the call back.
func (h hooks) beforeReconcile(ctx context.Context, s *scope) (held string, err error) {
	for _, hook := range h {
		answer, err := hook.BeforeReconcile(ctx, s.item)
		if err != nil {
			return "", fmt.Errorf("hook BeforeReconcile: %w", err)
		}
		if answer == nil {
			continue
		}
		s.hookRequeue = sooner(s.hookRequeue, answer.RequeueAfter)
		if answer.AbortReconcile {
			s.job.Hold()
			held = "a hook holds the job back"
		}
	}
	return held, nil
}

// sooner returns the smaller of two times, of which 0 is never.
func sooner(a, b time.Duration) time.Duration {
	if a <= 0 || b > 0 && b < a {
		return max(b, 0)
	}
	return a
}
