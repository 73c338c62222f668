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
)

// attempts bounds how often one call answers a lost race with another read.
const attempts = 5

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
func (s *Session) applyOne(ctx context.Context, t task, strategy managedresource.UpdateStrategy) result {
	create := !t.known && strategy != managedresource.UpdateStrategyApply && !wishesOf(strategy, t.Object, nil).aside
	for range attempts {
		if err := ctx.Err(); err != nil {
			return result{err: objectError("apply", t.ref, err)}
		}
		var r result
		if first := t.rehearsed; first != nil && !first.open {
			t.rehearsed = nil
			r = s.afterRehearsal(ctx, t, strategy, first)
		} else if create {
			r = s.create(ctx, t)
			create = false
		} else {
			r = s.update(ctx, t, strategy)
			create = apierrors.IsNotFound(r.err) && strategy != managedresource.UpdateStrategyApply
		}
		if !errors.Is(r.err, errLostRace) {
			return r
		}
	}
	return result{err: objectError("apply", t.ref, errLostRace)}
}

// create sends a new object; errLostRace says that it exists.
func (s *Session) create(ctx context.Context, t task) result {
	object := t.Object
	if len(t.AnnotateBeforeCreate) > 0 {
		object = object.DeepCopy()
		annotate(object, t.AnnotateBeforeCreate)
	}
	live, err := client(s.Cluster, t.kind, t.ref.Namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return result{err: errLostRace}
	}
	if err != nil {
		return result{err: objectError("create", t.ref, err)}
	}
	s.Memory.remember(replacement(t.Object, live, t.AnnotateBeforeCreate), live)
	return result{live: live}
}

// update reads an object and follows policy and strategy; errLostRace together with NotFound says that it does not exist.
func (s *Session) update(ctx context.Context, t task, strategy managedresource.UpdateStrategy) result {
	live, err := client(s.Cluster, t.kind, t.ref.Namespace).Get(ctx, t.ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return s.absent(ctx, t, strategy, err)
	case err != nil:
		return result{err: objectError("read", t.ref, err)}
	}
	t.asks = wishesOf(strategy, t.Object, live)
	if t.asks.aside {
		return result{aside: true, live: live, notOurs: s.Owner.claimOf(live) != own}
	}
	if live.GetDeletionTimestamp() != nil {
		r := result{}
		r.progress.wait(terminating(live), watched(s.Cluster, t.ref))
		return r
	}
	switch claim := s.Owner.claimOf(live); {
	case t.isUnchangeable() && claim == own:
		return result{live: live}
	case t.isUnchangeable(), t.Policy == managedresource.FallbackPolicy && claim != own:
		return s.standBack(ctx, t, strategy, live, claim)
	case claim == foreign:
		return s.meetForeign(ctx, t, strategy, live)
	}
	return s.write(ctx, t, strategy, live)
}

// absent is the answer to an object that is not there: it is created, unless it asks not to be touched.
func (s *Session) absent(ctx context.Context, t task, strategy managedresource.UpdateStrategy, notFound error) result {
	t.asks = wishesOf(strategy, t.Object, nil)
	switch {
	case t.asks.aside:
		return result{aside: true}
	case strategy == managedresource.UpdateStrategyApply:
		return s.serverSide(ctx, t, nil, nil)
	}
	return result{err: errors.Join(errLostRace, notFound)}
}

// afterRehearsal goes on from what a rehearsal has found.
func (s *Session) afterRehearsal(ctx context.Context, t task, strategy managedresource.UpdateStrategy, first *rehearsal) result {
	switch {
	case first.settled != nil:
		return *first.settled
	case first.staged.answer != nil:
		t.asks = wishesOf(strategy, t.Object, first.staged.live)
		return s.serverSide(ctx, t, first.staged.live, first.staged.answer)
	}
	return s.update(ctx, t, strategy)
}

// isUnchangeable reports whether an object is created and never changed.
func (t task) isUnchangeable() bool {
	return t.Policy == managedresource.ImmutablePolicy || t.asks.once
}

// standBack leaves an object alone that is not the owner's, unless it is about to be deleted: then it becomes the owner's. What is never to be
// updated only gets the marks.
func (s *Session) standBack(ctx context.Context, t task, strategy managedresource.UpdateStrategy, live *unstructured.Unstructured, claim claim) result {
	if claim != foreign || !s.standingOf(ctx, live).abandoned {
		return result{live: live, notOurs: true}
	}
	if t.isUnchangeable() {
		t.Object = live.DeepCopy()
		s.Owner.mark(t.Object, t.Policy)
		strategy = managedresource.UpdateStrategyMergeOverwrite
	}
	return s.write(ctx, t, strategy, live)
}

func (s *Session) write(ctx context.Context, t task, strategy managedresource.UpdateStrategy, live *unstructured.Unstructured) result {
	if strategy == managedresource.UpdateStrategyApply {
		return s.serverSide(ctx, t, live, nil)
	}
	if t.rehearsing {
		return result{pending: &staged{live: live}}
	}
	next := s.next(t, strategy, live)
	if same(next, live) || s.Memory.unchanged(next, live) {
		return result{live: live}
	}
	written, err := s.send(ctx, t, strategy, next, live)
	if apierrors.IsInvalid(err) && !ownershipOf(live).written && !merges(strategy) {
		next = keepAll(next, live)
		s.leaveRelease(t, next, live)
		written, err = s.send(ctx, t, strategy, next, live)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return result{err: errors.Join(errLostRace, err)}
	}
	if err != nil {
		return s.immutable(ctx, t, "update", live, err)
	}
	s.Memory.remember(s.next(t, strategy, written), written)
	return result{live: written}
}

// next computes the object that the strategy leads to from live.
func (s *Session) next(t task, strategy managedresource.UpdateStrategy, live *unstructured.Unstructured) *unstructured.Unstructured {
	next := s.wanted(t, strategy, live)
	s.leaveRelease(t, next, live)
	return next
}

func (s *Session) wanted(t task, strategy managedresource.UpdateStrategy, live *unstructured.Unstructured) *unstructured.Unstructured {
	if !merges(strategy) {
		return replacement(t.Object, live, t.AnnotateBeforeCreate)
	}
	next := merged(t.Object, live, strategy == managedresource.UpdateStrategyMergeOverwrite)
	s.Owner.mark(next, t.Policy)
	return next
}

// merges reports whether a strategy keeps every field of an existing object.
func merges(strategy managedresource.UpdateStrategy) bool {
	return strategy == managedresource.UpdateStrategyMerge || strategy == managedresource.UpdateStrategyMergeOverwrite
}

func (s *Session) send(ctx context.Context, t task, strategy managedresource.UpdateStrategy, next, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource := client(s.Cluster, t.kind, t.ref.Namespace)
	if strategy != managedresource.UpdateStrategyPatch {
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
