// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"bytes"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/manifest"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
)

// Heir finds another DeployItem of the namespace and the Target whose manifests have an object, with the policy that they give it.
func Heir(ctx context.Context, siblings crclient.Reader, owner resources.Owner, target string, live *unstructured.Unstructured) (*v1alpha1.DeployItem, managedresource.ManifestPolicy, error) {
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
	desired, err := resources.Expand(config.Manifests)
	if err != nil {
		return ""
	}
	var policy managedresource.ManifestPolicy
	for _, d := range desired {
		ref := objects.ReferenceTo(d.Object)
		if live.GetNamespace() == "" {
			ref.Namespace = ""
		}
		if objects.IdentityOf(ref) == objects.IdentityOf(objects.ReferenceTo(live)) {
			policy = d.Policy
		}
	}
	return policy
}
