// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package removal

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/neighbours"
)

// Containing are the kinds whose objects take with them what others have put there: custom resources, whole namespaces, data.
var Containing = map[schema.GroupKind]bool{objects.CRDGroupKind: true, {Kind: "Namespace"}: true, {Kind: "PersistentVolumeClaim"}: true}

// passOn makes an object that is to be deleted that of a DeployItem whose manifests have it, if there is one. It is for kinds that must not be
// deleted and made anew.
func passOn(ctx context.Context, s *resources.Session, resource dynamic.ResourceInterface, r removal, live *unstructured.Unstructured) (bool, error) {
	if s.Siblings == nil || r.anyOwner || live.GetDeletionTimestamp() != nil || !Containing[live.GroupVersionKind().GroupKind()] {
		return false, nil
	}
	next, policy, err := neighbours.Heir(ctx, s.Siblings, s.Owner, r.cluster.Name, live)
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
