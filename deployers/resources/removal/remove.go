// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package removal

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/fields"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/neighbours"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// lingering are the kinds whose objects stay for a while after the delete request although they have no finalizer.
var lingering = map[schema.GroupKind]bool{{Kind: "Pod"}: true, {Kind: "Namespace"}: true, objects.CRDGroupKind: true}

// removal is one object to delete.
type removal struct {
	managedresource.ManagedResourceStatus
	cluster *target.Cluster
	// force removes the finalizers.
	force bool
	// anyOwner deletes the object whoever owns it.
	anyOwner bool
}

// remove deletes one object as far as that goes without waiting. The decision is made on a live read, and every call carries UID
// and resourceVersion of that read.
func remove(ctx context.Context, s *resources.Session, r removal) (resources.Progress, error) {
	var live *unstructured.Unstructured
	err := whereServed(ctx, s, r.cluster, &r.Resource, func(resource dynamic.ResourceInterface) (err error) {
		live, err = removeOnce(ctx, s, resource, r)
		return err
	})
	return leaving(r.cluster, r.Resource, live), err
}

// leaving says that an object is still there; nil is none.
func leaving(cluster *target.Cluster, ref managedresource.ResourceReference, live *unstructured.Unstructured) (progress resources.Progress) {
	if live != nil {
		progress.Wait(stillThere(ref, live.GetFinalizers()), objects.Watched(cluster, ref))
	}
	return progress
}

// Request asks for the deletion of those of the managed resources that isOwn chooses by what the target has. The progress names what of them is still
// there. An object that does not exist is none.
func Request(ctx context.Context, s *resources.Session, cluster *target.Cluster, managed []managedresource.ManagedResourceStatus,
	isOwn func(live *unstructured.Unstructured) bool) (resources.Progress, error) {
	return each(len(managed), func(i int) (resources.Progress, error) {
		ref := managed[i].Resource
		var live *unstructured.Unstructured
		err := whereServed(ctx, s, cluster, &ref, func(resource dynamic.ResourceInterface) (err error) {
			if live, err = resource.Get(ctx, ref.Name, metav1.GetOptions{}); err != nil || !isOwn(live) {
				live = nil
				return err
			}
			live, err = requested(ctx, resource, live)
			return err
		})
		return leaving(cluster, ref, live), err
	})
}

// whereServed calls act with the API of the kind of an object, in whatever version the target serves it: again when that version turns out to have
// gone, and when the object changed meanwhile. The apiVersion of ref is that version from then on. An object that is gone ends it without error.
func whereServed(ctx context.Context, s *resources.Session, cluster *target.Cluster, ref *managedresource.ResourceReference,
	act func(dynamic.ResourceInterface) error) error {
	kind, err := s.Served.OfAnyVersion(ctx, cluster, objects.GVKOf(*ref))
	for range objects.Attempts {
		if objects.IsNoMatch(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot delete %s: %w", *ref, err)
		}
		ref.APIVersion = kind.GVR.GroupVersion().String()
		problem := act(objects.Client(cluster, kind, ref.Namespace))
		switch {
		case apierrors.IsConflict(problem):
			continue
		case objects.IsUnserved(problem):
			kind, err = s.Served.Anew(ctx, cluster, objects.GVKOf(*ref).GroupKind())
			continue
		case objects.IsGone(problem):
			return nil
		case problem != nil:
			return objects.ObjectError("delete", *ref, problem)
		}
		return nil
	}
	return objects.ObjectError("delete", *ref, objects.ErrLostRace)
}

// removeOnce returns the object when it is still there, nil when it is gone or not ours to delete.
func removeOnce(ctx context.Context, s *resources.Session, resource dynamic.ResourceInterface, r removal) (*unstructured.Unstructured, error) {
	live, err := resource.Get(ctx, r.Resource.Name, metav1.GetOptions{})
	if err != nil || !mayDelete(s.Owner, r, live) {
		return nil, err
	}
	if isTaken, err := s.IsOfRival(ctx, r.cluster, live); !r.anyOwner && (isTaken || err != nil) {
		return nil, err
	}
	if isPassedOn, err := passOn(ctx, s, resource, r, live); isPassedOn || err != nil {
		return nil, err
	}
	if live.GetDeletionTimestamp() == nil {
		if live, err = PrepareDelete(ctx, resource, r.ManagedResourceStatus, live); err != nil {
			return nil, err
		}
	}
	live, err = requested(ctx, resource, live)
	if err != nil || live == nil || !r.force || len(live.GetFinalizers()) == 0 {
		return live, err
	}
	return withoutFinalizers(ctx, resource, live)
}

// requested asks for the deletion of an object, once. It returns the object while that is still there, nil when it is gone.
func requested(ctx context.Context, resource dynamic.ResourceInterface, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if live.GetDeletionTimestamp() != nil {
		return live, nil
	}
	if err := RequestDelete(ctx, resource, live); err != nil || GoneAtOnce(live) {
		return nil, err
	}
	live, err := resource.Get(ctx, live.GetName(), metav1.GetOptions{})
	if err != nil || live.GetDeletionTimestamp() == nil {
		return nil, err // made again by somebody else in between: what was ours is gone
	}
	return live, nil
}

// mayDelete reports whether an object is the recorded one and still belongs to the owner. One that was made anew since, or that the record
// does not know by UID, has to carry the owner's label.
func mayDelete(owner resources.Owner, r removal, live *unstructured.Unstructured) bool {
	switch {
	case fields.IsKept(live):
		return false
	case r.anyOwner:
		return r.Resource.UID == live.GetUID()
	case owner.Taken(live):
		return false
	case r.Policy == managedresource.FallbackPolicy, r.Resource.UID != live.GetUID():
		return owner.Labelled(live)
	}
	return true
}

// PrepareDelete puts annotations and patch on an object that is about to be deleted and returns it as it is then.
func PrepareDelete(ctx context.Context, resource dynamic.ResourceInterface, r managedresource.ManagedResourceStatus,
	live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	patch := map[string]any{}
	if r.PatchBeforeDelete != nil && len(r.PatchBeforeDelete.Raw) > 0 {
		if err := json.Unmarshal(r.PatchBeforeDelete.Raw, &patch); err != nil {
			return nil, objects.Misconfigured("patchBeforeDelete of %s: is not an object, write one there", r.Resource)
		}
	}
	if len(r.AnnotateBeforeDelete) > 0 {
		annotations := map[string]any{}
		for key, value := range r.AnnotateBeforeDelete {
			annotations[key] = value
		}
		fields.MergeInto(patch, map[string]any{"metadata": map[string]any{"annotations": annotations}}, true)
	}
	if len(patch) == 0 {
		return live, nil
	}
	return PatchExactly(ctx, resource, live, patch)
}

func withoutFinalizers(ctx context.Context, resource dynamic.ResourceInterface, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	patch := map[string]any{"metadata": map[string]any{"finalizers": nil}}
	if _, err := PatchExactly(ctx, resource, live, patch); err != nil {
		return nil, err
	}
	return resource.Get(ctx, live.GetName(), metav1.GetOptions{})
}

// PatchExactly sends a merge patch that only this state of this object takes.
func PatchExactly(ctx context.Context, resource dynamic.ResourceInterface, live *unstructured.Unstructured, patch map[string]any) (*unstructured.Unstructured, error) {
	fields.MergeInto(patch, map[string]any{"metadata": map[string]any{
		"uid": string(live.GetUID()), "resourceVersion": live.GetResourceVersion(),
	}}, true)
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the patch: %w", err)
	}
	return resource.Patch(ctx, live.GetName(), types.MergePatchType, raw, metav1.PatchOptions{FieldManager: resources.FieldManager})
}

// RequestDelete asks for the deletion of an object in exactly the state that was read.
func RequestDelete(ctx context.Context, resource dynamic.ResourceInterface, live *unstructured.Unstructured) error {
	background := metav1.DeletePropagationBackground
	return resource.Delete(ctx, live.GetName(), metav1.DeleteOptions{
		Preconditions: objects.Preconditions(live), PropagationPolicy: &background,
	})
}

// GoneAtOnce reports whether a delete request that was accepted has removed the object, which saves a read.
func GoneAtOnce(live *unstructured.Unstructured) bool {
	return len(live.GetFinalizers()) == 0 && !lingering[live.GroupVersionKind().GroupKind()]
}

// Containing are the kinds whose objects take with them what others have put there: custom resources, whole namespaces, data.
var Containing = map[schema.GroupKind]bool{objects.CRDGroupKind: true, {Kind: "Namespace"}: true, {Kind: "PersistentVolumeClaim"}: true}

// passOn makes an object that is to be deleted that of a DeployItem whose manifests have it, if there is one. It is for kinds that must not be
// deleted and made anew.
func passOn(ctx context.Context, s *resources.Session, resource dynamic.ResourceInterface, r removal, live *unstructured.Unstructured) (bool, error) {
	if s.Siblings == nil || r.anyOwner || live.GetDeletionTimestamp() != nil || !Containing[live.GroupVersionKind().GroupKind()] {
		return false, nil
	}
	next, policy, err := neighbours.SuccessorOf(ctx, s.Siblings, s.Owner, r.cluster.Name, live)
	if next == nil || err != nil {
		return false, err
	}
	labels := map[string]any{}
	for label := range s.Owner.Labels {
		labels[label] = nil
	}
	labels[v1alpha1.ManifestDeployItemLabel] = resources.LabelValue(next.Name)
	annotations := map[string]any{resources.OwnerNamespaceAnnotation: next.Namespace, resources.OwnerUIDAnnotation: string(next.UID)}
	if policy == managedresource.KeepPolicy {
		annotations[resources.OwnerUIDAnnotation] = nil
	}
	_, err = PatchExactly(ctx, resource, live, map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}})
	return err == nil, err
}
