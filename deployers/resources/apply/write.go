// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/fields"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/neighbours"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/removal"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// writer brings single objects of one owner to what their manifests want.
type writer struct {
	cluster  *target.Cluster
	owner    resources.Owner
	strategy managedresource.UpdateStrategy
	memory   *Memory
	// others knows what other DeployItems hold of the objects.
	others *neighbours.Holdings
	// needed are the kinds of the objects that come after the definitions, defined those of the definitions.
	needed, defined map[schema.GroupKind]bool
}

// result is what became of one object.
type result struct {
	live *unstructured.Unstructured
	// notOurs says that the object is left alone because it is not the owner's.
	notOurs bool
	// skipped says that the object asks not to be touched. It may have no live object.
	skipped  bool
	progress resources.Progress
	err      error
	// pending is what a rehearsal leaves to be written.
	pending *staged
}

// applyOne creates or updates one object. A refusal of an object whose definition comes with it may be that of the definition before.
func (w *writer) applyOne(ctx context.Context, t task) result {
	r := w.attempt(ctx, t)
	if w.defined[t.Object.GroupVersionKind().GroupKind()] {
		r.err = objects.MayHeal(r.err)
	}
	return r
}

// attempt makes one attempt after the other as long as races are lost. An object that is not known is created right away: most are new, and the API
// server says so when one is not.
func (w *writer) attempt(ctx context.Context, t task) result {
	create := !t.known && w.strategy != managedresource.UpdateStrategyApply && !fields.OptionsOf(w.strategy, t.Object, nil).Skip
	for range objects.Attempts {
		if err := ctx.Err(); err != nil {
			return result{err: objects.ObjectError("apply", t.ref, err)}
		}
		var r result
		if first := t.rehearsed; first != nil && first.err == nil {
			t.rehearsed = nil
			r = w.afterRehearsal(ctx, t, first)
		} else if create {
			r = w.create(ctx, t)
			create = false
		} else {
			r = w.update(ctx, t)
			create = apierrors.IsNotFound(r.err) && w.strategy != managedresource.UpdateStrategyApply
		}
		if !errors.Is(r.err, objects.ErrLostRace) {
			return r
		}
	}
	return result{err: objects.ObjectError("apply", t.ref, objects.ErrLostRace)}
}

// create sends a new object; errLostRace says that it exists.
func (w *writer) create(ctx context.Context, t task) result {
	object := t.Object
	if len(t.AnnotateBeforeCreate) > 0 {
		object = object.DeepCopy()
		fields.Annotate(object, t.AnnotateBeforeCreate)
	}
	live, err := objects.Client(w.cluster, t.kind, t.ref.Namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: resources.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return result{err: objects.ErrLostRace}
	}
	if err != nil {
		return result{err: objects.ObjectError("create", t.ref, err)}
	}
	w.memory.remember(fields.Replacement(t.Object, live, t.AnnotateBeforeCreate), live)
	return result{live: live}
}

// update reads an object and follows policy and strategy; errLostRace together with NotFound says that it does not exist.
func (w *writer) update(ctx context.Context, t task) result {
	live, err := objects.Client(w.cluster, t.kind, t.ref.Namespace).Get(ctx, t.ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return w.absent(ctx, t, err)
	case err != nil:
		return result{err: objects.ObjectError("read", t.ref, err)}
	}
	t.asks = fields.OptionsOf(w.strategy, t.Object, live)
	if t.asks.Skip {
		return result{skipped: true, live: live, notOurs: w.owner.ClaimOf(live) != resources.Own}
	}
	if live.GetDeletionTimestamp() != nil {
		r := result{}
		r.progress.Wait(terminating(live), objects.Watched(w.cluster, t.ref))
		return r
	}
	switch claim := w.owner.ClaimOf(live); {
	case t.isUnchangeable() && claim == resources.Own:
		return result{live: live}
	case t.isUnchangeable(), t.Policy == managedresource.FallbackPolicy && claim != resources.Own:
		return w.standBack(ctx, t, live, claim)
	case claim == resources.Foreign:
		return w.meetForeign(ctx, t, live)
	}
	return w.write(ctx, t, live)
}

// absent is the answer to an object that is not there: it is created, unless it asks not to be touched, or is a Job that has ended.
func (w *writer) absent(ctx context.Context, t task, notFound error) result {
	t.asks = fields.OptionsOf(w.strategy, t.Object, nil)
	switch {
	case t.asks.Skip:
		return result{skipped: true}
	case t.hasRun:
		return result{}
	case w.strategy == managedresource.UpdateStrategyApply:
		return w.serverSide(ctx, t, nil, nil)
	}
	return result{err: errors.Join(objects.ErrLostRace, notFound)}
}

// afterRehearsal goes on from what a rehearsal has found.
func (w *writer) afterRehearsal(ctx context.Context, t task, first *result) result {
	switch found := first.pending; {
	case found == nil:
		return *first
	case found.answer != nil:
		t.asks = fields.OptionsOf(w.strategy, t.Object, found.live)
		return w.serverSide(ctx, t, found.live, found.answer)
	}
	return w.update(ctx, t)
}

// isUnchangeable reports whether an object is created and never changed.
func (t task) isUnchangeable() bool {
	return t.Policy == managedresource.ImmutablePolicy || t.asks.Once
}

func (w *writer) write(ctx context.Context, t task, live *unstructured.Unstructured) result {
	if w.strategy == managedresource.UpdateStrategyApply {
		return w.serverSide(ctx, t, live, nil)
	}
	if t.rehearsing {
		return result{pending: &staged{live: live}}
	}
	next := w.next(t, live)
	if fields.Same(next, live) || w.memory.unchanged(next, live) {
		return result{live: live}
	}
	written, err := w.send(ctx, t, next, live)
	if apierrors.IsInvalid(err) && !fields.IsWritten(live) && !merges(w.strategy) {
		next = fields.KeepAll(next, live)
		leaveRelease(w.owner, t, next, live)
		written, err = w.send(ctx, t, next, live)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return result{err: errors.Join(objects.ErrLostRace, err)}
	}
	if err != nil {
		return w.immutable(ctx, t, "update", live, err)
	}
	w.memory.remember(w.next(t, written), written)
	return result{live: written}
}

// next computes the object that the strategy leads to from live.
func (w *writer) next(t task, live *unstructured.Unstructured) *unstructured.Unstructured {
	next := w.wanted(t, live)
	leaveRelease(w.owner, t, next, live)
	return next
}

func (w *writer) wanted(t task, live *unstructured.Unstructured) *unstructured.Unstructured {
	if !merges(w.strategy) {
		return fields.Replacement(t.Object, live, t.AnnotateBeforeCreate)
	}
	next := fields.Merged(t.Object, live, w.strategy == managedresource.UpdateStrategyMergeOverwrite)
	w.owner.Mark(next, t.Policy)
	return next
}

// merges reports whether a strategy keeps every field of an existing object.
func merges(strategy managedresource.UpdateStrategy) bool {
	return strategy == managedresource.UpdateStrategyMerge || strategy == managedresource.UpdateStrategyMergeOverwrite
}

func (w *writer) send(ctx context.Context, t task, next, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource := objects.Client(w.cluster, t.kind, t.ref.Namespace)
	if w.strategy != managedresource.UpdateStrategyPatch {
		return resource.Update(ctx, next, metav1.UpdateOptions{FieldManager: resources.FieldManager})
	}
	patch, err := fields.Difference(live, next)
	if err != nil {
		return nil, err
	}
	return removal.PatchExactly(ctx, resource, live, patch)
}

// isRefused reports whether the API server certainly did not store an object.
func isRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// terminating says that an object is on its way out and what holds it.
func terminating(live *unstructured.Unstructured) string {
	text := objects.ReferenceTo(live).String() + " is being deleted"
	if finalizers := live.GetFinalizers(); len(finalizers) > 0 {
		text += ", held by " + strings.Join(finalizers, ", ")
	}
	return text
}
