// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/fields"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/neighbours"
)

// meetForeign takes an object over that its owner has let go of, and leaves any other alone. That is an error, because its owner may delete
// it at any time; policy keep, which never deletes, is content with an object that is as the manifest wants it.
func (w *writer) meetForeign(ctx context.Context, t task, live *unstructured.Unstructured) result {
	now := w.others.StandingOf(ctx, live)
	switch {
	case !now.Held:
		return w.write(ctx, t, live)
	case t.Policy == managedresource.KeepPolicy && fields.Same(fields.Merged(t.unmarked, live, true), live):
		return result{live: live, notOurs: true}
	}
	return result{notOurs: true, err: ofAnother(t.ref, now)}
}

// reasonOfAnother says that something on the target belongs to another DeployItem.
const reasonOfAnother = "ObjectOfAnother"

// ofAnother is the error about an object of another DeployItem. It passes when that one lets go of the object.
func ofAnother(ref managedresource.ResourceReference, now neighbours.Standing) error {
	text := fmt.Sprintf("cannot update %s: it belongs to %s; remove it there, give it the policy fallback here, or %s", ref, now.Owner, now.Handover)
	if now.Unknown != nil {
		text += " (" + now.Unknown.Error() + ")"
	}
	return &protocol.Failure{Kind: protocol.Retry, Reason: reasonOfAnother, Err: &objects.Failure{Text: text}}
}

// standBack leaves an object alone that is not the owner's, unless it is about to be deleted: then it becomes the owner's. What is never to be
// updated only gets the marks.
func (w *writer) standBack(ctx context.Context, t task, live *unstructured.Unstructured, claim resources.Claim) result {
	if claim != resources.Foreign || !w.others.StandingOf(ctx, live).Abandoned {
		return result{live: live, notOurs: true}
	}
	if t.isUnchangeable() {
		t.Object = live.DeepCopy()
		w.owner.Mark(t.Object, t.Policy)
		merging := *w
		merging.strategy = managedresource.UpdateStrategyMergeOverwrite
		w = &merging
	}
	return w.write(ctx, t, live)
}

// leaveRelease takes the marks of a Helm release off an object that is being taken over. Those that the manifest has stay.
func leaveRelease(owner resources.Owner, t task, next, live *unstructured.Unstructured) {
	if _, found := helm.ReleaseOn(live); !found || owner.Labelled(live) {
		return
	}
	if _, isWanted := t.unmarked.GetLabels()[helm.ManagedByLabel]; !isWanted && next.GetLabels()[helm.ManagedByLabel] == helm.ManagedByHelm {
		unstructured.RemoveNestedField(next.Object, "metadata", "labels", helm.ManagedByLabel)
	}
	for _, annotation := range []string{helm.ReleaseNameAnnotation, helm.ReleaseNamespaceAnnotation} {
		if _, isWanted := t.unmarked.GetAnnotations()[annotation]; !isWanted {
			unstructured.RemoveNestedField(next.Object, "metadata", "annotations", annotation)
		}
	}
}
