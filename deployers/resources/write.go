// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// attempts bounds how often one call answers a lost race with another read.
const attempts = 5

// writer brings single objects of one owner to what their manifests want.
type writer struct {
	cluster  *target.Cluster
	owner    Owner
	strategy managedresource.UpdateStrategy
	memory   *Memory
	// others knows what other DeployItems hold of the objects.
	others *holdings
}

// result is what became of one object.
type result struct {
	live *unstructured.Unstructured
	// notOurs says that the object is left alone because it is not the owner's.
	notOurs bool
	// aside says that the object asks not to be touched. It may have no live object.
	aside    bool
	progress Progress
	err      error
	// pending is what a rehearsal leaves to be written.
	pending *staged
}

// errLostRace says that the object changed, came or went between read and write.
var errLostRace = errors.New("the object keeps changing")

// applyOne creates or updates one object. An object that is not known is created right away: most are new, and the API server
// says so when one is not.
func (w *writer) applyOne(ctx context.Context, t task) result {
	create := !t.known && w.strategy != managedresource.UpdateStrategyApply && !wishesOf(w.strategy, t.Object, nil).aside
	for range attempts {
		if err := ctx.Err(); err != nil {
			return result{err: objectError("apply", t.ref, err)}
		}
		var r result
		if first := t.rehearsed; first != nil && !first.open {
			t.rehearsed = nil
			r = w.afterRehearsal(ctx, t, first)
		} else if create {
			r = w.create(ctx, t)
			create = false
		} else {
			r = w.update(ctx, t)
			create = apierrors.IsNotFound(r.err) && w.strategy != managedresource.UpdateStrategyApply
		}
		if !errors.Is(r.err, errLostRace) {
			return r
		}
	}
	return result{err: objectError("apply", t.ref, errLostRace)}
}

// create sends a new object; errLostRace says that it exists.
func (w *writer) create(ctx context.Context, t task) result {
	object := t.Object
	if len(t.AnnotateBeforeCreate) > 0 {
		object = object.DeepCopy()
		annotate(object, t.AnnotateBeforeCreate)
	}
	live, err := client(w.cluster, t.kind, t.ref.Namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return result{err: errLostRace}
	}
	if err != nil {
		return result{err: objectError("create", t.ref, err)}
	}
	w.memory.remember(replacement(t.Object, live, t.AnnotateBeforeCreate), live)
	return result{live: live}
}

// update reads an object and follows policy and strategy; errLostRace together with NotFound says that it does not exist.
func (w *writer) update(ctx context.Context, t task) result {
	live, err := client(w.cluster, t.kind, t.ref.Namespace).Get(ctx, t.ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return w.absent(ctx, t, err)
	case err != nil:
		return result{err: objectError("read", t.ref, err)}
	}
	t.asks = wishesOf(w.strategy, t.Object, live)
	if t.asks.aside {
		return result{aside: true, live: live, notOurs: w.owner.claimOf(live) != own}
	}
	if live.GetDeletionTimestamp() != nil {
		r := result{}
		r.progress.wait(terminating(live), watched(w.cluster, t.ref))
		return r
	}
	switch claim := w.owner.claimOf(live); {
	case t.isUnchangeable() && claim == own:
		return result{live: live}
	case t.isUnchangeable(), t.Policy == managedresource.FallbackPolicy && claim != own:
		return w.standBack(ctx, t, live, claim)
	case claim == foreign:
		return w.meetForeign(ctx, t, live)
	}
	return w.write(ctx, t, live)
}

// absent is the answer to an object that is not there: it is created, unless it asks not to be touched.
func (w *writer) absent(ctx context.Context, t task, notFound error) result {
	t.asks = wishesOf(w.strategy, t.Object, nil)
	switch {
	case t.asks.aside:
		return result{aside: true}
	case w.strategy == managedresource.UpdateStrategyApply:
		return w.serverSide(ctx, t, nil, nil)
	}
	return result{err: errors.Join(errLostRace, notFound)}
}

// afterRehearsal goes on from what a rehearsal has found.
func (w *writer) afterRehearsal(ctx context.Context, t task, first *rehearsal) result {
	switch {
	case first.settled != nil:
		return *first.settled
	case first.staged.answer != nil:
		t.asks = wishesOf(w.strategy, t.Object, first.staged.live)
		return w.serverSide(ctx, t, first.staged.live, first.staged.answer)
	}
	return w.update(ctx, t)
}

// isUnchangeable reports whether an object is created and never changed.
func (t task) isUnchangeable() bool {
	return t.Policy == managedresource.ImmutablePolicy || t.asks.once
}

func (w *writer) write(ctx context.Context, t task, live *unstructured.Unstructured) result {
	if w.strategy == managedresource.UpdateStrategyApply {
		return w.serverSide(ctx, t, live, nil)
	}
	if t.rehearsing {
		return result{pending: &staged{live: live}}
	}
	next := w.next(t, live)
	if same(next, live) || w.memory.unchanged(next, live) {
		return result{live: live}
	}
	written, err := w.send(ctx, t, next, live)
	if apierrors.IsInvalid(err) && !ownershipOf(live).written && !merges(w.strategy) {
		next = keepAll(next, live)
		leaveRelease(w.owner, t, next, live)
		written, err = w.send(ctx, t, next, live)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return result{err: errors.Join(errLostRace, err)}
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
		return replacement(t.Object, live, t.AnnotateBeforeCreate)
	}
	next := merged(t.Object, live, w.strategy == managedresource.UpdateStrategyMergeOverwrite)
	w.owner.mark(next, t.Policy)
	return next
}

// merges reports whether a strategy keeps every field of an existing object.
func merges(strategy managedresource.UpdateStrategy) bool {
	return strategy == managedresource.UpdateStrategyMerge || strategy == managedresource.UpdateStrategyMergeOverwrite
}

func (w *writer) send(ctx context.Context, t task, next, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource := client(w.cluster, t.kind, t.ref.Namespace)
	if w.strategy != managedresource.UpdateStrategyPatch {
		return resource.Update(ctx, next, metav1.UpdateOptions{FieldManager: FieldManager})
	}
	patch, err := difference(live, next)
	if err != nil {
		return nil, err
	}
	return patchExactly(ctx, resource, live, patch)
}

// difference returns the JSON merge patch from live to next. It leaves what only the API server writes alone.
func difference(live, next *unstructured.Unstructured) (map[string]any, error) {
	_, withStatus := next.Object["status"]
	from, err := json.Marshal(comparable(live, withStatus))
	if err != nil {
		return nil, fmt.Errorf("cannot encode the object: %w", err)
	}
	to, err := json.Marshal(comparable(next, withStatus))
	if err != nil {
		return nil, fmt.Errorf("cannot encode the manifest: %w", err)
	}
	raw, err := jsonpatch.CreateMergePatch(from, to)
	if err != nil {
		return nil, fmt.Errorf("cannot compute the patch: %w", err)
	}
	patch := map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &patch); err != nil {
		return nil, fmt.Errorf("cannot compute the patch: %w", err)
	}
	return patch, nil
}

// isRefused reports whether the API server certainly did not store an object.
func isRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}
