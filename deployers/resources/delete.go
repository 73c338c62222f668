// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Delete removes managed resources from the target, deletion group by deletion group; an empty list of groups means the three
// predefined ones. Resources with policy keep or ignore stay, and so do resources that no group takes, those with policy fallback
// that do not carry the label of the owner, and those that another DeployItem or nobody known has put in the place of the
// recorded ones. When nothing is managed nothing is deleted, not even by groups with deleteAllResources.
// The progress names what is still there; a group begins when the one before is gone.
func Delete(ctx context.Context, s *Session, managed []managedresource.ManagedResourceStatus,
	definitions []managedresource.DeletionGroupDefinition) (Progress, error) {
	if err := s.Step("deployer: process managed resource manifests"); err != nil || len(managed) == 0 {
		return Progress{}, err
	}
	if len(definitions) == 0 {
		definitions = defaultGroups
	}
	groups, err := deletionGroups(ctx, s, definitions)
	if err != nil {
		return Progress{}, err
	}
	assign(groups, slices.DeleteFunc(slices.Clone(managed), Stays))
	for _, group := range groups {
		if err := s.Step("deployer: delete resources"); err != nil {
			return Progress{}, err
		}
		progress, err := deleteGroup(ctx, s, group)
		if err != nil || !progress.Done() {
			return progress, err
		}
	}
	return Progress{}, nil
}

func deletionGroups(ctx context.Context, s *Session, definitions []managedresource.DeletionGroupDefinition) ([]*deletionGroup, error) {
	var groups []*deletionGroup
	for _, definition := range definitions {
		var name *string
		if definition.CustomResourceGroup != nil {
			name = definition.CustomResourceGroup.TargetName
		}
		cluster, err := s.On(ctx, name)
		if err != nil {
			return nil, err
		}
		group, err := newDeletionGroup(ctx, cluster, definition)
		if err != nil {
			return nil, err
		}
		groups = append(groups, group)
	}
	return groups, nil
}

func deleteGroup(ctx context.Context, s *Session, group *deletionGroup) (Progress, error) {
	removals := make([]removal, 0, len(group.members))
	for _, member := range group.members {
		removals = append(removals, removal{ManagedResourceStatus: member, cluster: group.cluster, force: group.force})
	}
	if group.everything {
		more, err := everyOther(ctx, &s.Served, group)
		if err != nil {
			return Progress{}, err
		}
		removals = append(removals, more...)
	}
	return each(len(removals), func(i int) (Progress, error) { return remove(ctx, s, removals[i]) })
}

// everyOther lists the objects on the cluster that a group with deleteAllResources selects beside its members. A kind is listed once, however many
// selections it has, or once for each namespace where they all name one.
func everyOther(ctx context.Context, known *Served, group *deletionGroup) ([]removal, error) {
	isWhole := map[schema.GroupVersionKind]bool{}
	for _, one := range group.selections {
		isWhole[one.gvk] = isWhole[one.gvk] || len(one.Namespaces) != 1
	}
	type listing struct {
		gvk       schema.GroupVersionKind
		namespace string
	}
	members, seen := Identities(group.members), map[listing]bool{}
	var removals []removal
	for _, one := range group.selections {
		next := listing{gvk: one.gvk}
		if !isWhole[one.gvk] {
			next.namespace = one.Namespaces[0]
		}
		if seen[next] {
			continue
		}
		seen[next] = true
		found, err := list(ctx, known, group.cluster, next.gvk, next.namespace)
		if err != nil {
			return nil, err
		}
		for i := range found {
			ref := ReferenceTo(&found[i])
			if _, member := members[IdentityOf(ref)]; !member && group.selects(next.gvk, ref.Namespace, ref.Name) {
				removals = append(removals, removal{
					ManagedResourceStatus: managedresource.ManagedResourceStatus{Resource: ref},
					cluster:               group.cluster, force: group.force, anyOwner: true,
				})
			}
		}
	}
	return removals, nil
}

func list(ctx context.Context, known *Served, cluster *target.Cluster, gvk schema.GroupVersionKind, namespace string) ([]unstructured.Unstructured, error) {
	kind, err := Lookup(ctx, cluster, gvk)
	if IsNoMatch(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := Client(cluster, kind, namespace).List(ctx, metav1.ListOptions{})
	if IsUnserved(err) {
		if _, err = known.Anew(ctx, cluster, gvk.GroupKind()); err == nil {
			err = ErrLostRace // the kind has just come, or this version of it has gone
		}
	}
	switch {
	case IsGone(err):
		return nil, nil
	case err != nil:
		whole := managedresource.ResourceReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
		return nil, ObjectError("list all of kind", whole, err)
	}
	return found.Items, nil
}

// each works on so many objects in parallel. Errors are collected.
func each(count int, work func(i int) (Progress, error)) (Progress, error) {
	remaining, problems := make([]Progress, count), make([]error, count)
	Each(count, func(i int) { remaining[i], problems[i] = work(i) })
	var progress Progress
	for _, r := range remaining {
		progress.Add(r)
	}
	return progress, joinSorted(problems)
}

// stillThere says what keeps an object from being gone.
func stillThere(ref managedresource.ResourceReference, finalizers []string) string {
	text := fmt.Sprintf("%s is still there", ref)
	if len(finalizers) > 0 {
		text += fmt.Sprintf(", held by %v", finalizers)
	}
	return text
}

// joinSorted joins errors in an order that does not depend on which object was recorded first.
func joinSorted(problems []error) error {
	problems = slices.DeleteFunc(problems, func(err error) bool { return err == nil })
	slices.SortFunc(problems, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(problems...)
}

// lingering are the kinds whose objects stay for a while after the delete request although they have no finalizer.
var lingering = map[schema.GroupKind]bool{{Kind: "Pod"}: true, {Kind: "Namespace"}: true, CRDGroupKind: true}

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
func remove(ctx context.Context, s *Session, r removal) (Progress, error) {
	var live *unstructured.Unstructured
	err := whereServed(ctx, s, r.cluster, &r.Resource, func(resource dynamic.ResourceInterface) (err error) {
		live, err = removeOnce(ctx, s, resource, r)
		return err
	})
	return leaving(r.cluster, r.Resource, live), err
}

// leaving says that an object is still there; nil is none.
func leaving(cluster *target.Cluster, ref managedresource.ResourceReference, live *unstructured.Unstructured) (progress Progress) {
	if live != nil {
		progress.Wait(stillThere(ref, live.GetFinalizers()), Watched(cluster, ref))
	}
	return progress
}

// Request asks for the deletion of those of the managed resources that isOwn chooses by what the target has. The progress names what of them is still
// there. An object that does not exist is none.
func RequestDeletion(ctx context.Context, s *Session, cluster *target.Cluster, managed []managedresource.ManagedResourceStatus,
	isOwn func(live *unstructured.Unstructured) bool) (Progress, error) {
	return each(len(managed), func(i int) (Progress, error) {
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
func whereServed(ctx context.Context, s *Session, cluster *target.Cluster, ref *managedresource.ResourceReference,
	act func(dynamic.ResourceInterface) error) error {
	kind, err := s.Served.OfAnyVersion(ctx, cluster, GVKOf(*ref))
	for range Attempts {
		if IsNoMatch(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot delete %s: %w", *ref, err)
		}
		ref.APIVersion = kind.GVR.GroupVersion().String()
		problem := act(Client(cluster, kind, ref.Namespace))
		switch {
		case apierrors.IsConflict(problem):
			continue
		case IsUnserved(problem):
			kind, err = s.Served.Anew(ctx, cluster, GVKOf(*ref).GroupKind())
			continue
		case IsGone(problem):
			return nil
		case problem != nil:
			return ObjectError("delete", *ref, problem)
		}
		return nil
	}
	return ObjectError("delete", *ref, ErrLostRace)
}

// removeOnce returns the object when it is still there, nil when it is gone or not ours to delete.
func removeOnce(ctx context.Context, s *Session, resource dynamic.ResourceInterface, r removal) (*unstructured.Unstructured, error) {
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
		if live, err = prepareDelete(ctx, resource, r.ManagedResourceStatus, live); err != nil {
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
	if err := requestDelete(ctx, resource, live); err != nil || goneAtOnce(live) {
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
func mayDelete(owner Owner, r removal, live *unstructured.Unstructured) bool {
	switch {
	case isKept(live):
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
func prepareDelete(ctx context.Context, resource dynamic.ResourceInterface, r managedresource.ManagedResourceStatus,
	live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	patch := map[string]any{}
	if r.PatchBeforeDelete != nil && len(r.PatchBeforeDelete.Raw) > 0 {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(r.PatchBeforeDelete.Raw, &patch); err != nil {
			return nil, Misconfigured("patchBeforeDelete of %s: is not an object, write one there", r.Resource)
		}
	}
	if len(r.AnnotateBeforeDelete) > 0 {
		annotations := map[string]any{}
		for key, value := range r.AnnotateBeforeDelete {
			annotations[key] = value
		}
		mergeInto(patch, map[string]any{"metadata": map[string]any{"annotations": annotations}}, true)
	}
	if len(patch) == 0 {
		return live, nil
	}
	return patchExactly(ctx, resource, live, patch)
}

func withoutFinalizers(ctx context.Context, resource dynamic.ResourceInterface, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	patch := map[string]any{"metadata": map[string]any{"finalizers": nil}}
	if _, err := patchExactly(ctx, resource, live, patch); err != nil {
		return nil, err
	}
	return resource.Get(ctx, live.GetName(), metav1.GetOptions{})
}

// PatchExactly sends a merge patch that only this state of this object takes.
func patchExactly(ctx context.Context, resource dynamic.ResourceInterface, live *unstructured.Unstructured, patch map[string]any) (*unstructured.Unstructured, error) {
	mergeInto(patch, map[string]any{"metadata": map[string]any{
		"uid": string(live.GetUID()), "resourceVersion": live.GetResourceVersion(),
	}}, true)
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("cannot encode the patch: %w", err)
	}
	return resource.Patch(ctx, live.GetName(), types.MergePatchType, raw, metav1.PatchOptions{FieldManager: FieldManager})
}

// RequestDelete asks for the deletion of an object in exactly the state that was read.
func requestDelete(ctx context.Context, resource dynamic.ResourceInterface, live *unstructured.Unstructured) error {
	background := metav1.DeletePropagationBackground
	return resource.Delete(ctx, live.GetName(), metav1.DeleteOptions{
		Preconditions: Preconditions(live), PropagationPolicy: &background,
	})
}

// GoneAtOnce reports whether a delete request that was accepted has removed the object, which saves a read.
func goneAtOnce(live *unstructured.Unstructured) bool {
	return len(live.GetFinalizers()) == 0 && !lingering[live.GroupVersionKind().GroupKind()]
}

// Containing are the kinds whose objects take with them what others have put there: custom resources, whole namespaces, data.
var containing = map[schema.GroupKind]bool{CRDGroupKind: true, {Kind: "Namespace"}: true, {Kind: "PersistentVolumeClaim"}: true}

// passOn makes an object that is to be deleted that of a DeployItem whose manifests have it, if there is one. It is for kinds that must not be
// deleted and made anew.
func passOn(ctx context.Context, s *Session, resource dynamic.ResourceInterface, r removal, live *unstructured.Unstructured) (bool, error) {
	if s.Siblings == nil || r.anyOwner || live.GetDeletionTimestamp() != nil || !containing[live.GroupVersionKind().GroupKind()] {
		return false, nil
	}
	next, policy, err := successorOf(ctx, s.Siblings, s.Owner, r.cluster.Name, live)
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

// defaultGroups are the deletion groups of configurations that have none.
var defaultGroups = []managedresource.DeletionGroupDefinition{
	predefined(managedresource.NamespacedResources),
	predefined(managedresource.ClusterScopedResources),
	predefined(managedresource.CRDs),
}

func predefined(kind managedresource.PredefinedResourceGroupType) managedresource.DeletionGroupDefinition {
	return managedresource.DeletionGroupDefinition{
		PredefinedResourceGroup: &managedresource.PredefinedResourceGroup{Type: kind},
	}
}

// selection is one resource type of a custom group, with its kind as the target names it.
type selection struct {
	managedresource.ResourceType
	gvk schema.GroupVersionKind
}

func (s selection) selects(gvk schema.GroupVersionKind, namespace, name string) bool {
	return s.gvk == gvk && (len(s.Names) == 0 || slices.Contains(s.Names, name)) && (len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, namespace))
}

// deletionGroup is a deletion group with its managed resources.
type deletionGroup struct {
	cluster *target.Cluster
	// predefined is empty for a custom group.
	predefined managedresource.PredefinedResourceGroupType
	selections []selection
	// force removes finalizers, everything means also what is not managed, elsewhere that the group is for another target.
	force, everything, elsewhere bool
	members                      []managedresource.ManagedResourceStatus
}

// newDeletionGroup resolves the kinds of a group on the target it is about.
func newDeletionGroup(ctx context.Context, cluster *target.Cluster, definition managedresource.DeletionGroupDefinition) (*deletionGroup, error) {
	if given := definition.PredefinedResourceGroup; given != nil {
		return &deletionGroup{cluster: cluster, predefined: given.Type, force: given.ForceDelete}, nil
	}
	given := definition.CustomResourceGroup
	if given == nil {
		return &deletionGroup{cluster: cluster}, nil
	}
	group := &deletionGroup{
		cluster: cluster, force: given.ForceDelete, everything: given.DeleteAllResources, elsewhere: given.TargetName != nil && *given.TargetName != "",
	}
	for _, kind := range given.Resources {
		gvk, err := KindNamed(ctx, cluster, kind.APIVersion, kind.Kind)
		if err != nil {
			return nil, err
		}
		group.selections = append(group.selections, selection{kind, gvk})
	}
	return group, nil
}

// takes reports whether a managed resource belongs to the group. Groups for other targets take none.
func (g *deletionGroup) takes(ref managedresource.ResourceReference) bool {
	gvk := GVKOf(ref)
	isDefinition := gvk.GroupKind() == CRDGroupKind
	switch g.predefined {
	case "":
		return !g.elsewhere && g.selects(gvk, ref.Namespace, ref.Name)
	case managedresource.NamespacedResources:
		return ref.Namespace != ""
	case managedresource.ClusterScopedResources:
		return ref.Namespace == "" && !isDefinition
	case managedresource.CRDs:
		return isDefinition
	}
	return false
}

func (g *deletionGroup) selects(gvk schema.GroupVersionKind, namespace, name string) bool {
	return slices.ContainsFunc(g.selections, func(s selection) bool { return s.selects(gvk, namespace, name) })
}

// assign gives every managed resource to the first group that takes it. Resources that no group takes are left alone.
func assign(groups []*deletionGroup, managed []managedresource.ManagedResourceStatus) {
	for _, m := range managed {
		if at := slices.IndexFunc(groups, func(g *deletionGroup) bool { return g.takes(m.Resource) }); at >= 0 {
			groups[at].members = append(groups[at].members, m)
		}
	}
}
