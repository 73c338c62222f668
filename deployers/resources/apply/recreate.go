// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/fields"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/removal"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

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
	return removal.Containing[kind] || kind == schema.GroupKind{Kind: "PersistentVolume"}
}

// immutable is the answer to an API server that does not take a change: the object is made anew, or the error says what a person may do.
func (w *writer) immutable(ctx context.Context, t task, verb string, live *unstructured.Unstructured, cause error) result {
	fields := immutableFields(cause)
	if len(fields) == 0 {
		return result{err: objects.ObjectError(verb, t.ref, cause)}
	}
	if obstacle := w.keepsFromRecreating(t, live); obstacle != "" {
		text := fmt.Sprintf("cannot %s %s: %s; %s cannot be changed: %s", verb, t.ref, target.ShownError(cause), strings.Join(fields, ", "), obstacle)
		return result{err: protocol.Coded(&objects.Failure{Cause: cause, Text: text}, v1alpha1.ErrorConfigurationProblem)}
	}
	if t.rehearsing {
		return result{pending: &staged{live: live}}
	}
	return w.recreate(ctx, t, live)
}

// keepsFromRecreating says why an object is not made anew and what a person may do; empty when it may be.
func (w *writer) keepsFromRecreating(t task, live *unstructured.Unstructured) string {
	kind, allowed := live.GroupVersionKind().GroupKind(), t.asks.Recreate
	consent := fmt.Sprintf("the annotation %s: %s", managedresource.ForceAnnotation, fields.Enabled)
	switch {
	case fields.IsKept(live):
		return "its annotations keep it from being deleted; restore the fields in the manifest, or remove them"
	case w.owner.ClaimOf(live) != resources.Own && !t.known:
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
	resource := objects.Client(w.cluster, t.kind, t.ref.Namespace)
	removed := managedresource.ManagedResourceStatus{
		Resource: t.ref, AnnotateBeforeDelete: t.AnnotateBeforeDelete, PatchBeforeDelete: t.PatchBeforeDelete,
	}
	live, err := removal.PrepareDelete(ctx, resource, removed, live)
	if err == nil {
		err = removal.RequestDelete(ctx, resource, live)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return result{err: errors.Join(objects.ErrLostRace, err)}
	case err != nil:
		return result{err: objects.ObjectError("delete", t.ref, err)}
	case removal.GoneAtOnce(live):
		return result{err: errors.Join(objects.ErrLostRace, apierrors.NewNotFound(t.kind.GVR.GroupResource(), t.ref.Name))}
	}
	r := result{}
	r.progress.Wait(terminating(live), objects.Watched(w.cluster, t.ref))
	return r
}
