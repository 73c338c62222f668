// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

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
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// maxDepartures is how often a job tries to uninstall what is on another cluster before it succeeds without that.
const maxDepartures = 6

// Departure counts the tries of one job. The zero value is before the first.
type Departure struct{ tries int }

// errLedElsewhere says that a Target does not lead any more to where it led.
var errLedElsewhere = errors.New("the Target leads to another cluster now")

// LeaveOrWarn is LeaveElsewhere for a job that deploys. What may pass is an error, so that the job tries again, a few times. What lasts is a
// warning: it stays in the inventory, for the next job and for the deletion.
func LeaveOrWarn(ctx context.Context, s *Session, departure *Departure, inventory *managedresource.Inventory,
	groups []managedresource.DeletionGroupDefinition, remove ReleaseRemover) (Progress, string, error) {
	progress, lasting, passing := leaveAll(ctx, s, inventory, groups, remove)
	if passing == nil && lasting == nil {
		return progress, "", nil
	}
	departure.tries++
	if passing != nil && (departure.tries < maxDepartures || ctx.Err() != nil) {
		return progress, "", passing
	}
	return progress, errors.Join(lasting, passing).Error(), nil
}

// isLasting reports whether a person has to act before a cluster can be left: nothing leads there, or what leads there may not do it.
func isLasting(err error) bool {
	var failure *protocol.Failure
	return isAstray(err) || protocol.IsUnrecoverable(err) || errors.As(err, &failure) && failure.Kind == protocol.Stalled
}

// LeaveElsewhere uninstalls what a settled inventory has on other clusters, by the Targets that led to them. Sites leave the inventory when
// nothing is left there. The progress names what is still there on clusters that can be reached. The error explains, for every other site,
// what cannot be uninstalled and why; it is worth another try. Remove uninstalls releases; nil is for deployers that make none.
func LeaveElsewhere(ctx context.Context, s *Session, inventory *managedresource.Inventory,
	groups []managedresource.DeletionGroupDefinition, remove ReleaseRemover) (Progress, error) {
	progress, lasting, passing := leaveAll(ctx, s, inventory, groups, remove)
	return progress, errors.Join(lasting, passing)
}

// leaveAll tells apart what lasts and what may pass.
func leaveAll(ctx context.Context, s *Session, inventory *managedresource.Inventory,
	groups []managedresource.DeletionGroupDefinition, remove ReleaseRemover) (progress Progress, lasting, passing error) {
	var left []managedresource.Site
	var forGood, forNow []error
	for _, site := range inventory.Sites {
		more, err := leave(ctx, s, site, groups, remove)
		switch {
		case err == nil:
		case isLasting(err):
			forGood = append(forGood, cannotLeave(site, err))
		default:
			forNow = append(forNow, cannotLeave(site, err))
		}
		if err != nil || !more.Done() {
			left = append(left, site)
		}
		progress.Add(more)
	}
	inventory.Sites = left
	return progress, fault.Join(forGood), fault.Join(forNow)
}

func cannotLeave(site managedresource.Site, err error) error {
	return fmt.Errorf("cannot uninstall %s from %s: %w; make the Target lead to that cluster again, "+
		"or delete the DeployItem with the annotation %s: \"true\" to leave it there",
		countOf(site), site.Cluster, err, v1alpha1.DeleteWithoutUninstallAnnotation)
}

func countOf(site managedresource.Site) string {
	if len(site.Releases) == 0 {
		return fmt.Sprintf("%d objects", len(site.Resources))
	}
	return fmt.Sprintf("%d releases and %d objects", len(site.Releases), len(site.Resources))
}

// leave uninstalls what is at one site, by the Target that led there or, where that leads there no more, by others of the namespace that do.
func leave(ctx context.Context, s *Session, site managedresource.Site, groups []managedresource.DeletionGroupDefinition,
	remove ReleaseRemover) (Progress, error) {
	cluster, err := s.On(ctx, &site.Cluster.Target)
	var progress Progress
	elsewhere := false
	if err == nil {
		progress, err = leaveBy(ctx, s, cluster, site, groups, remove)
		elsewhere = cluster.Address() != site.Cluster.Address
	}
	if err == nil || !isAstray(err) && !elsewhere || site.Cluster.Address == "" || s.Leading == nil {
		return progress, err
	}
	others, problem := s.Leading(ctx, site.Cluster.Address)
	if problem != nil {
		return Progress{}, problem
	}
	for _, other := range others {
		more, failed := leaveBy(ctx, s, other, site, groups, remove)
		if failed == nil || !isLasting(failed) {
			return more, failed
		}
		if !isAstray(failed) {
			err = fmt.Errorf("%w (Target %s leads there, but: %w)", err, other.Name, failed)
		}
	}
	return Progress{}, err
}

// isAstray reports whether a Target leads to nothing that a site could be on.
func isAstray(err error) bool {
	var problem *target.Error
	return errors.Is(err, errLedElsewhere) || errors.As(err, &problem) && problem.Reason != target.ReasonTokenRequest
}

// leaveBy uninstalls what is at one site if a cluster is that of the site.
func leaveBy(ctx context.Context, s *Session, cluster *target.Cluster, site managedresource.Site,
	groups []managedresource.DeletionGroupDefinition, remove ReleaseRemover) (Progress, error) {
	there := &Session{Cluster: cluster, Targets: s.Targets, Owner: s.Owner, Checkpoint: s.Checkpoint}
	now, err := LocationOf(ctx, there)
	if err != nil {
		return Progress{}, err
	}
	isThere, err := isAt(ctx, there, now, site)
	if err != nil {
		return Progress{}, err
	}
	if !isThere {
		return Progress{}, errLedElsewhere
	}
	return uninstall(ctx, there, site, groups, remove)
}

// uninstall removes releases and objects from the session's cluster.
func uninstall(ctx context.Context, s *Session, site managedresource.Site, groups []managedresource.DeletionGroupDefinition,
	remove ReleaseRemover) (Progress, error) {
	var progress Progress
	for _, release := range site.Releases {
		if remove == nil {
			return progress, fmt.Errorf("release %s/%s is not of this deployer", release.Namespace, release.Name)
		}
		more, err := remove(ctx, s.Cluster, release)
		if err != nil {
			return progress, err
		}
		progress.Add(more)
	}
	confirmed, attempted := SplitConfirmed(site.Resources)
	found, err := Confirm(ctx, s, attempted)
	if err != nil {
		return progress, err
	}
	more, err := Delete(ctx, s, Union(confirmed, found), groups)
	progress.Add(more)
	return progress, err
}

// Sweep looks through all kinds of the target for objects that certainly are the owner's, by label and UID. It costs one list
// of metadata a kind, so it is for the rare case that something may have been deployed without being recorded. Kinds that the
// credentials may not list everywhere are looked for in the given namespaces, as far as they may be listed there.
func Sweep(ctx context.Context, s *Session, namespaces ...string) ([]managedresource.ManagedResourceStatus, error) {
	found, _, err := Search(ctx, s, namespaces...)
	return found, err
}

// Search is Sweep for those to whom it matters whether anything could be looked at. If the credentials may list no kind anywhere, it returns one of
// the refusals beside.
func Search(ctx context.Context, s *Session, namespaces ...string) (found []managedresource.ManagedResourceStatus, refusal, err error) {
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
	*Session
	found []managedresource.ManagedResourceStatus
}

// kind looks for the objects of one kind. The refusal is set if it may be listed nowhere.
func (s *sweep) kind(ctx context.Context, gvk schema.GroupVersionKind, namespaces []string) (refusal, err error) {
	refusal = s.marked(ctx, gvk, metav1.NamespaceAll)
	if !IsUnauthorized(refusal) {
		return nil, refusal
	}
	isListed := false
	for _, namespace := range namespaces {
		err := s.marked(ctx, gvk, namespace)
		if err != nil && !IsUnauthorized(err) {
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
func NamespacesOf(objects ...managedresource.ManagedResourceStatus) []string {
	var namespaces []string
	for _, object := range objects {
		if namespace := object.Resource.Namespace; namespace != "" && !slices.Contains(namespaces, namespace) {
			namespaces = append(namespaces, namespace)
		}
	}
	return namespaces
}

// deletableKinds lists the kinds whose objects can be listed and deleted. Groups whose API server is down are left out.
func deletableKinds(ctx context.Context, s *Session) ([]schema.GroupVersionKind, error) {
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
			crclient.MatchingLabels{v1alpha1.ManifestDeployItemLabel: LabelValue(s.Owner.Item)})
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
	if IsGone(err) {
		return nil
	}
	return fmt.Errorf("cannot list %s on target %s: %w", gvk.Kind, s.Cluster.Name, err)
}

// isSwept reports whether an object certainly is the owner's. Objects that controllers make copy labels (Endpoints) or annotations (ReplicaSets) of the
// deployed ones, never both without naming an owner. Copies by backups and replicators have both, but nobody writes them under a name of ours.
func isSwept(owner Owner, item *metav1.PartialObjectMetadata) bool {
	return item.Annotations[OwnerUIDAnnotation] == string(owner.UID) && len(item.OwnerReferences) == 0 && isWrittenByUs(item)
}
