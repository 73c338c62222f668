// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// writer brings single objects of one owner to what their manifests want.
type writer struct {
	cluster  *target.Cluster
	owner    Owner
	strategy managedresource.UpdateStrategy
	memory   *Memory
	// others knows what other DeployItems hold of the objects.
	others *holdings
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
	progress Progress
	err      error
	// pending is what a rehearsal leaves to be written.
	pending *staged
}

// applyOne creates or updates one object. A refusal of an object whose definition comes with it may be that of the definition before.
func (w *writer) applyOne(ctx context.Context, t task) result {
	r := w.attempt(ctx, t)
	if w.defined[t.Object.GroupVersionKind().GroupKind()] {
		r.err = MayHeal(r.err)
	}
	return r
}

// attempt makes one attempt after the other as long as races are lost. An object that is not known is created right away: most are new, and the API
// server says so when one is not.
func (w *writer) attempt(ctx context.Context, t task) result {
	create := !t.known && w.strategy != managedresource.UpdateStrategyApply && !wishesOf(w.strategy, t.Object, nil).Skip
	for range Attempts {
		if err := ctx.Err(); err != nil {
			return result{err: ObjectError("apply", t.ref, err)}
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
		if !errors.Is(r.err, ErrLostRace) {
			return r
		}
	}
	return result{err: ObjectError("apply", t.ref, ErrLostRace)}
}

// create sends a new object; errLostRace says that it exists.
func (w *writer) create(ctx context.Context, t task) result {
	object := t.Object
	if len(t.AnnotateBeforeCreate) > 0 {
		object = object.DeepCopy()
		annotate(object, t.AnnotateBeforeCreate)
	}
	live, err := Client(w.cluster, t.kind, t.ref.Namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return result{err: ErrLostRace}
	}
	if err != nil {
		return result{err: ObjectError("create", t.ref, err)}
	}
	w.memory.remember(replacement(t.Object, live, t.AnnotateBeforeCreate), live)
	return result{live: live}
}

// update reads an object and follows policy and strategy; errLostRace together with NotFound says that it does not exist.
func (w *writer) update(ctx context.Context, t task) result {
	live, err := Client(w.cluster, t.kind, t.ref.Namespace).Get(ctx, t.ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return w.absent(ctx, t, err)
	case err != nil:
		return result{err: ObjectError("read", t.ref, err)}
	}
	t.asks = wishesOf(w.strategy, t.Object, live)
	if t.asks.Skip {
		return result{skipped: true, live: live, notOurs: w.owner.ClaimOf(live) != Own}
	}
	if live.GetDeletionTimestamp() != nil {
		r := result{}
		r.progress.Wait(terminating(live), Watched(w.cluster, t.ref))
		return r
	}
	switch claim := w.owner.ClaimOf(live); {
	case t.isUnchangeable() && claim == Own:
		return result{live: live}
	case t.isUnchangeable(), t.Policy == managedresource.FallbackPolicy && claim != Own:
		return w.standBack(ctx, t, live, claim)
	case claim == Foreign:
		return w.meetForeign(ctx, t, live)
	}
	return w.write(ctx, t, live)
}

// absent is the answer to an object that is not there: it is created, unless it asks not to be touched, or is a Job that has ended.
func (w *writer) absent(ctx context.Context, t task, notFound error) result {
	t.asks = wishesOf(w.strategy, t.Object, nil)
	switch {
	case t.asks.Skip:
		return result{skipped: true}
	case t.hasRun:
		return result{}
	case w.strategy == managedresource.UpdateStrategyApply:
		return w.serverSide(ctx, t, nil, nil)
	}
	return result{err: errors.Join(ErrLostRace, notFound)}
}

// afterRehearsal goes on from what a rehearsal has found.
func (w *writer) afterRehearsal(ctx context.Context, t task, first *result) result {
	switch found := first.pending; {
	case found == nil:
		return *first
	case found.answer != nil:
		t.asks = wishesOf(w.strategy, t.Object, found.live)
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
	if sameContent(next, live) || w.memory.unchanged(next, live) {
		return result{live: live}
	}
	written, err := w.send(ctx, t, next, live)
	if apierrors.IsInvalid(err) && !isWritten(live) && !merges(w.strategy) {
		next = keepAll(next, live)
		leaveRelease(w.owner, t, next, live)
		written, err = w.send(ctx, t, next, live)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return result{err: errors.Join(ErrLostRace, err)}
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
	next := mergedWith(t.Object, live, w.strategy == managedresource.UpdateStrategyMergeOverwrite)
	w.owner.Mark(next, t.Policy)
	return next
}

// merges reports whether a strategy keeps every field of an existing object.
func merges(strategy managedresource.UpdateStrategy) bool {
	return strategy == managedresource.UpdateStrategyMerge || strategy == managedresource.UpdateStrategyMergeOverwrite
}

func (w *writer) send(ctx context.Context, t task, next, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	resource := Client(w.cluster, t.kind, t.ref.Namespace)
	if w.strategy != managedresource.UpdateStrategyPatch {
		return resource.Update(ctx, next, metav1.UpdateOptions{FieldManager: FieldManager})
	}
	patch, err := difference(live, next)
	if err != nil {
		return nil, err
	}
	return patchExactly(ctx, resource, live, patch)
}

// isRefused reports whether the API server certainly did not store an object.
func isRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}

// terminating says that an object is on its way out and what holds it.
func terminating(live *unstructured.Unstructured) string {
	text := ReferenceTo(live).String() + " is being deleted"
	if finalizers := live.GetFinalizers(); len(finalizers) > 0 {
		text += ", held by " + strings.Join(finalizers, ", ")
	}
	return text
}

// aboutImmutable are the words in which API servers and the rules of definitions say that a value must not change.
var aboutImmutable = regexp.MustCompile(`(?i)immutable|updates? to .* (is|are) forbidden|updates? may not change|` +
	`\b(may|can|must|should) ?not (be )?(chang|modif|updat)|\bcannot (be )?(chang|modif|updat)`)

// immutableFields returns the fields that must not change; none when something else is wrong with the object too, so that one which is deleted
// can be made anew.
func immutableFields(err error) []string {
	var status apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if !aboutImmutable.MatchString(cause.Message) {
			return nil
		}
		if !slices.Contains(fields, cause.Field) {
			fields = append(fields, cause.Field)
		}
	}
	return fields
}

// precious reports whether data, or objects of others, would go with an object of a kind.
func precious(kind schema.GroupKind) bool {
	return containing[kind] || kind == schema.GroupKind{Kind: "PersistentVolume"}
}

// immutable is the answer to an API server that does not take a change: the object is made anew, or the error says what a person may do.
func (w *writer) immutable(ctx context.Context, t task, verb string, live *unstructured.Unstructured, cause error) result {
	fields := immutableFields(cause)
	if len(fields) == 0 {
		return result{err: ObjectError(verb, t.ref, cause)}
	}
	if obstacle := w.keepsFromRecreating(t, live); obstacle != "" {
		text := fmt.Sprintf("cannot %s %s: %s; %s cannot be changed: %s", verb, t.ref, target.ShownError(cause), strings.Join(fields, ", "), obstacle)
		return result{err: protocol.Coded(&ObjectFailure{Cause: cause, Text: text}, v1alpha1.ErrorConfigurationProblem)}
	}
	if t.rehearsing {
		return result{pending: &staged{live: live}}
	}
	return w.recreate(ctx, t, live)
}

// keepsFromRecreating says why an object is not made anew and what a person may do; empty when it may be.
func (w *writer) keepsFromRecreating(t task, live *unstructured.Unstructured) string {
	kind, allowed := live.GroupVersionKind().GroupKind(), t.asks.Recreate
	consent := fmt.Sprintf("the annotation %s: %s", managedresource.ForceAnnotation, enabled)
	switch {
	case isKept(live):
		return "its annotations keep it from being deleted; restore the fields in the manifest, or remove them"
	case w.owner.ClaimOf(live) != Own && !t.known:
		return "the object was made by somebody else; restore the fields in the manifest, or delete the object"
	case allowed:
		return ""
	case precious(kind):
		return fmt.Sprintf("a %s takes data or other objects with it; restore the fields in the manifest, or set %s on it", kind.Kind, consent)
	case t.onImmutable == managedresource.OnImmutableRecreate:
		return ""
	}
	return fmt.Sprintf("restore the fields in the manifest, or set onImmutable: %s or %s to have it deleted and created anew",
		managedresource.OnImmutableRecreate, consent)
}

// recreate deletes exactly the object that was read. The next attempt creates it.
func (w *writer) recreate(ctx context.Context, t task, live *unstructured.Unstructured) result {
	resource := Client(w.cluster, t.kind, t.ref.Namespace)
	removed := managedresource.ManagedResourceStatus{
		Resource: t.ref, AnnotateBeforeDelete: t.AnnotateBeforeDelete, PatchBeforeDelete: t.PatchBeforeDelete,
	}
	live, err := prepareDelete(ctx, resource, removed, live)
	if err == nil {
		err = requestDelete(ctx, resource, live)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return result{err: errors.Join(ErrLostRace, err)}
	case err != nil:
		return result{err: ObjectError("delete", t.ref, err)}
	case goneAtOnce(live):
		return result{err: errors.Join(ErrLostRace, apierrors.NewNotFound(t.kind.GVR.GroupResource(), t.ref.Name))}
	}
	r := result{}
	r.progress.Wait(terminating(live), Watched(w.cluster, t.ref))
	return r
}
