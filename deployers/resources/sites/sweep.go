// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	crclient "sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/fields"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Sweep looks through all kinds of the target for objects that certainly are the owner's, by label and UID. It costs one list
// of metadata a kind, so it is for the rare case that something may have been deployed without being recorded. Kinds that the
// credentials may not list everywhere are looked for in the given namespaces, as far as they may be listed there.
func Sweep(ctx context.Context, s *resources.Session, namespaces ...string) ([]managedresource.ManagedResourceStatus, error) {
	found, _, err := Search(ctx, s, namespaces...)
	return found, err
}

// Search is Sweep for those to whom it matters whether anything could be looked at. If the credentials may list no kind anywhere, it returns one of
// the refusals beside.
func Search(ctx context.Context, s *resources.Session, namespaces ...string) (found []managedresource.ManagedResourceStatus, refusal, err error) {
	kinds, err := deletableKinds(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	isListed, swept := false, &sweep{Session: s}
	for _, gvk := range kinds {
		refused, err := swept.kind(ctx, gvk, namespaces)
		if err != nil {
			return nil, nil, err
		}
		refusal, isListed = refused, isListed || refused == nil
	}
	if isListed {
		refusal = nil
	}
	return swept.found, refusal, nil
}

// sweep is one search.
type sweep struct {
	*resources.Session
	found []managedresource.ManagedResourceStatus
}

// kind looks for the objects of one kind. The refusal is set if it may be listed nowhere.
func (s *sweep) kind(ctx context.Context, gvk schema.GroupVersionKind, namespaces []string) (refusal, err error) {
	refusal = s.marked(ctx, gvk, metav1.NamespaceAll)
	if !objects.IsUnauthorized(refusal) {
		return nil, refusal
	}
	isListed := false
	for _, namespace := range namespaces {
		err := s.marked(ctx, gvk, namespace)
		if err != nil && !objects.IsUnauthorized(err) {
			return nil, err
		}
		isListed = isListed || err == nil
	}
	if isListed {
		refusal = nil
	}
	return refusal, nil
}

// Namespaces returns the namespaces of objects, each once.
func Namespaces(objects ...managedresource.ManagedResourceStatus) []string {
	var namespaces []string
	for _, object := range objects {
		if namespace := object.Resource.Namespace; namespace != "" && !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}

// deletableKinds lists the kinds whose objects can be listed and deleted. Groups whose API server is down are left out.
func deletableKinds(ctx context.Context, s *resources.Session) ([]schema.GroupVersionKind, error) {
	client, err := s.Cluster.DiscoveryFor(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot ask target %s for its kinds: %w", s.Cluster.Name, err)
	}
	lists, err := discovery.ServerPreferredResources(client)
	if err != nil && !isRefusedInPart(err) {
		return nil, fmt.Errorf("cannot ask target %s for its kinds: %w", s.Cluster.Name, err)
	}
	if !slices.ContainsFunc(lists, func(l *metav1.APIResourceList) bool { return l.GroupVersion == corev1.SchemeGroupVersion.String() }) {
		return nil, fmt.Errorf("cannot ask target %s for its kinds: what answers there serves none; the cluster may be switched off, or the server of the "+
			"Target wrong", s.Cluster.Name)
	}
	var kinds []schema.GroupVersionKind
	for _, list := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists) {
		for _, resource := range list.APIResources {
			kinds = append(kinds, schema.FromAPIVersionAndKind(list.GroupVersion, resource.Kind))
		}
	}
	return kinds, nil
}

// isRefusedInPart reports whether the target has answered for every group, if only that it does not serve it now. What was not read is not taken for absent.
func isRefusedInPart(err error) bool {
	groups, isPart := discovery.GroupDiscoveryFailedErrorGroups(err)
	for _, cause := range groups {
		_, isStale := errors.AsType[discovery.StaleGroupVersionError](cause)
		_, isStatus := errors.AsType[*apierrors.StatusError](cause)
		isPart = isPart && (isStale || isStatus)
	}
	return isPart
}

// marked finds the objects of a kind in a namespace, or in all, that carry the owner's marks. Those of a list that fails count for nothing.
func (s *sweep) marked(ctx context.Context, gvk schema.GroupVersionKind, namespace string) error {
	before := len(s.found)
	err := target.Pages(math.MaxInt, func(limit int64, next string) (string, error) {
		if next == "" {
			s.found = s.found[:before]
		}
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
		err := s.Cluster.Client.List(ctx, list, crclient.InNamespace(namespace), crclient.Limit(limit), crclient.Continue(next),
			crclient.MatchingLabels{v1alpha1.ManifestDeployItemLabel: resources.LabelValue(s.Owner.Item)})
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			if item := &list.Items[i]; isSwept(s.Owner, item) {
				s.found = append(s.found, managedresource.ManagedResourceStatus{Policy: managedresource.ManagePolicy,
					Resource: managedresource.ResourceReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind,
						Name: item.Name, Namespace: item.Namespace, UID: item.UID}})
			}
		}
		return list.Continue, nil
	})
	if err == nil {
		return nil
	}
	s.found = s.found[:before]
	if objects.IsGone(err) {
		return nil
	}
	return fmt.Errorf("cannot list %s on target %s: %w", gvk.Kind, s.Cluster.Name, err)
}

// isSwept reports whether an object certainly is the owner's. Objects that controllers make copy labels (Endpoints) or annotations (ReplicaSets) of the
// deployed ones, never both without naming an owner. Copies by backups and replicators have both, but nobody writes them under a name of ours.
func isSwept(owner resources.Owner, item *metav1.PartialObjectMetadata) bool {
	return item.Annotations[resources.OwnerUIDAnnotation] == string(owner.UID) && len(item.OwnerReferences) == 0 && fields.IsWrittenByUs(item)
}
