// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Recorded returns those of the desired objects that exist and certainly are the owner's, as records. It finds what a call left
// that died before its objects were recorded.
func (s *Session) Recorded(ctx context.Context, desired []Desired, defaultNamespace string) ([]managedresource.ManagedResourceStatus, error) {
	plan, _ := s.plan(desired, ApplyOptions{DefaultNamespace: defaultNamespace})
	var found []managedresource.ManagedResourceStatus
	for _, t := range slices.Concat(plan[:]...) {
		live, err := s.get(ctx, s.Cluster, t.ref)
		if isGone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if s.Owner.proven(live) {
			found = append(found, managedresource.ManagedResourceStatus{Policy: t.Policy, Resource: referenceTo(live),
				AnnotateBeforeDelete: t.AnnotateBeforeDelete, PatchBeforeDelete: t.PatchBeforeDelete})
		}
	}
	return found, nil
}

// Sweep looks through all kinds of the target for objects that certainly are the owner's, by label and UID. It costs one list
// of metadata a kind, so it is for the rare case that something may have been deployed without being recorded.
func (s *Session) Sweep(ctx context.Context) ([]managedresource.ManagedResourceStatus, error) {
	kinds, err := s.deletableKinds()
	if err != nil {
		return nil, err
	}
	var found []managedresource.ManagedResourceStatus
	for _, gvk := range kinds {
		more, err := s.sweepKind(ctx, gvk)
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}

// deletableKinds lists the kinds whose objects can be listed and deleted. Groups whose API server is down are left out.
func (s *Session) deletableKinds() ([]schema.GroupVersionKind, error) {
	client, err := discovery.NewDiscoveryClientForConfig(s.Cluster.Config)
	if err != nil {
		return nil, fmt.Errorf("cannot ask target %s for its kinds: %w", s.Cluster.Name, err)
	}
	lists, err := discovery.ServerPreferredResources(client)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fmt.Errorf("cannot ask target %s for its kinds: %w", s.Cluster.Name, err)
	}
	var kinds []schema.GroupVersionKind
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		for _, resource := range list.APIResources {
			kinds = append(kinds, schema.FromAPIVersionAndKind(list.GroupVersion, resource.Kind))
		}
	}
	return kinds, nil
}

func (s *Session) sweepKind(ctx context.Context, gvk schema.GroupVersionKind) ([]managedresource.ManagedResourceStatus, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	err := s.Cluster.Client.List(ctx, list, crclient.MatchingLabels{v1alpha1.ManifestDeployItemLabel: LabelValue(s.Owner.Item)})
	if isGone(err) || isUnauthorized(err) {
		// What may not be listed was not deployed with these credentials.
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot list %s on target %s: %w", gvk.Kind, s.Cluster.Name, err)
	}
	var found []managedresource.ManagedResourceStatus
	for _, item := range list.Items {
		// Objects that controllers make copy labels (Endpoints) or annotations (ReplicaSets) of the deployed ones, never both
		// without naming an owner.
		if item.Annotations[OwnerUIDAnnotation] == string(s.Owner.UID) && len(item.OwnerReferences) == 0 {
			found = append(found, managedresource.ManagedResourceStatus{Policy: managedresource.ManagePolicy,
				Resource: managedresource.ResourceReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
					Name: item.Name, Namespace: item.Namespace, UID: item.UID}})
		}
	}
	return found, nil
}
