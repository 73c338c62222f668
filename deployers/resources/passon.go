// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"bytes"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/manifest"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// containing are the kinds whose objects take with them what others have put there: custom resources, whole namespaces, data.
var containing = map[schema.GroupKind]bool{crdGroupKind: true, {Kind: "Namespace"}: true, {Kind: "PersistentVolumeClaim"}: true}

// passOn makes an object that is to be deleted that of a DeployItem whose manifests have it, if there is one. It is for kinds that must not be
// deleted and made anew.
func passOn(ctx context.Context, s *Session, resource dynamic.ResourceInterface, r removal, live *unstructured.Unstructured) (bool, error) {
	if s.Siblings == nil || r.anyOwner || live.GetDeletionTimestamp() != nil || !containing[live.GroupVersionKind().GroupKind()] {
		return false, nil
	}
	next, policy, err := heir(ctx, s.Siblings, s.Owner, r.cluster.Name, live)
	if next == nil || err != nil {
		return false, err
	}
	labels := map[string]any{}
	for label := range s.Owner.Labels {
		labels[label] = nil
	}
	labels[v1alpha1.ManifestDeployItemLabel] = LabelValue(next.Name)
	annotations := map[string]any{OwnerNamespaceAnnotation: next.Namespace, OwnerUIDAnnotation: string(next.UID)}
	if policy == managedresource.KeepPolicy {
		annotations[OwnerUIDAnnotation] = nil
	}
	_, err = patchExactly(ctx, resource, live, map[string]any{"metadata": map[string]any{"labels": labels, "annotations": annotations}})
	return err == nil, err
}

// heir finds another DeployItem of the namespace and the Target whose manifests have an object, with the policy that they give it.
func heir(ctx context.Context, siblings crclient.Reader, owner Owner, target string, live *unstructured.Unstructured) (*v1alpha1.DeployItem, managedresource.ManifestPolicy, error) {
	items := &v1alpha1.DeployItemList{}
	if err := siblings.List(ctx, items, crclient.InNamespace(owner.Namespace), crclient.UnsafeDisableDeepCopy); err != nil {
		return nil, "", fmt.Errorf("cannot list the DeployItems of namespace %s: %w", owner.Namespace, err)
	}
	for i := range items.Items {
		item := &items.Items[i]
		isCandidate := item.Name != owner.Item && item.Spec.Type == v1alpha1.ManifestDeployItemType && item.DeletionTimestamp.IsZero() &&
			item.Spec.Target != nil && item.Spec.Target.Name == target && item.Spec.Configuration != nil
		if !isCandidate || !bytes.Contains(item.Spec.Configuration.Raw, []byte(live.GetName())) {
			continue // most are told apart without being decoded
		}
		if policy := policyOf(item, live); policy != "" && policy != managedresource.IgnorePolicy {
			return item, policy, nil
		}
	}
	return nil, "", nil
}

// policyOf returns the policy that the manifests of a DeployItem give an object, empty if they do not have it or cannot be read.
func policyOf(item *v1alpha1.DeployItem, live *unstructured.Unstructured) managedresource.ManifestPolicy {
	config, err := manifest.DecodeConfiguration(item.Spec.Configuration.Raw)
	if err != nil {
		return ""
	}
	desired, err := Expand(config.Manifests)
	if err != nil {
		return ""
	}
	var policy managedresource.ManifestPolicy
	for _, d := range desired {
		ref := referenceTo(d.Object)
		if live.GetNamespace() == "" {
			ref.Namespace = ""
		}
		if identityOf(ref) == identityOf(referenceTo(live)) {
			policy = d.Policy
		}
	}
	return policy
}
