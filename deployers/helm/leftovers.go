// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// objectsAt returns the objects of a revision, as they are on a cluster, without its hooks.
func objectsAt(ctx context.Context, cluster *target.Cluster, release *engine.Release) ([]managedresource.ManagedResourceStatus, error) {
	objects, err := release.Objects()
	if err != nil {
		return nil, err
	}
	return locate(ctx, cluster, objects)
}

// locate takes the namespace off the objects whose kind has none on the cluster.
func locate(
	ctx context.Context, cluster *target.Cluster, objects []managedresource.ManagedResourceStatus,
) ([]managedresource.ManagedResourceStatus, error) {
	located, mapper := slices.Clone(objects), cluster.MapperFor(ctx)
	for i := range located {
		ref := &located[i].Resource
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil && !meta.IsNoMatchError(err) {
			return nil, fmt.Errorf("%s: %w", ref, err)
		}
		if err == nil && mapping.Scope.Name() == meta.RESTScopeNameRoot {
			ref.Namespace = ""
		}
	}
	return located, nil
}

// attemptedIn returns the objects of the revisions that a condition selects. What cannot be read was never applied either.
func attemptedIn(revisions []*engine.Release, selects func(*engine.Release) bool) []managedresource.ManagedResourceStatus {
	var all []managedresource.ManagedResourceStatus
	for _, revision := range revisions {
		if selects(revision) {
			objects, _ := revision.Objects()
			all = append(all, objects...)
		}
	}
	return resources.Distinct(slices.Values(all))
}

// removeLeftovers deletes what earlier attempts and jobs put on the target and the release does not have: Helm compares with the last revision
// that ended well only, and goes on when it may not delete something.
func (j *job) removeLeftovers(ctx context.Context) error {
	differs := func(r *engine.Release) bool { return r.Manifest != j.release.Manifest }
	attempted := resources.Union(j.known.Attempted, attemptedIn(j.revisions, differs))
	if len(attempted) == 0 && len(j.known.Recorded) == 0 {
		j.revisions = nil
		return nil
	}
	objects, err := objectsAt(ctx, j.item.Target, j.release)
	if err != nil {
		return err
	}
	if attempted, err = locate(ctx, j.item.Target, attempted); err != nil {
		return err
	}
	j.known.Attempted = resources.Orphans(attempted, objects) // on record until they are gone
	if _, err := removeOwned(ctx, j.session(), j.item.Target, releaseOf(j.config), j.known.Attempted); err != nil {
		return helmProblem(err)
	}
	if err := j.unmark(ctx, objects); err != nil {
		return helmProblem(err)
	}
	if err := until(resources.Delete(ctx, j.session(), resources.Orphans(j.known.Recorded, objects), j.config.DeletionGroupsDuringUpdate)); err != nil {
		return err
	}
	j.known, j.revisions = resources.KnownObjects{}, nil
	return nil
}

// removeOwned deletes those of the leftovers that the release owns on the cluster and that are not to be kept. The progress names what is still there.
func removeOwned(
	ctx context.Context, s *resources.Session, cluster *target.Cluster, release managedresource.ReleaseReference,
	leftovers []managedresource.ManagedResourceStatus,
) (resources.Progress, error) {
	progress, err := resources.RequestDeletion(ctx, s, cluster, leftovers, isOwnOf(release))
	if err != nil {
		err = fmt.Errorf("an earlier attempt on helm release %s/%s left an object: %w", release.Namespace, release.Name, err)
	}
	return progress, err
}

// isOwnOf returns what tells the objects that a release owns and that are not to be kept.
func isOwnOf(release managedresource.ReleaseReference) func(live *unstructured.Unstructured) bool {
	return func(live *unstructured.Unstructured) bool {
		return engine.Owns(live, release.Namespace, release.Name) && !engine.IsKept(live.GetAnnotations())
	}
}

func metadataOf(ref managedresource.ResourceReference) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: ref.Name}}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind))
	return object
}

// adopt makes the objects that were applied without a release those of the wanted release, so that they stay what they are.
func (j *job) adopt(ctx context.Context) error {
	found, err := resources.Confirm(ctx, j.session(), j.known.Attempted)
	if err != nil {
		return err
	}
	j.known.Recorded = resources.Union(j.known.Recorded, found)
	owner := j.session().Owner
	labels, annotations := engine.Ownership(j.config.Namespace, j.config.Name)
	for _, recorded := range j.known.Recorded {
		isOurs := func(object *metav1.PartialObjectMetadata) bool {
			return isMarked(owner, object) && !engine.IsOwned(object)
		}
		if err := mark(ctx, j.item.Target, recorded.Resource, isOurs, labels, annotations); err != nil {
			return fmt.Errorf("%s cannot be made part of helm release %s/%s: %w", recorded.Resource, j.config.Namespace, j.config.Name, err)
		}
	}
	return nil
}

// isMarked reports whether an object carries the marks of the item. Those of an item of the same name in another namespace have that on them.
func isMarked(owner resources.Owner, object *metav1.PartialObjectMetadata) bool {
	return owner.Labelled(object) && !owner.Taken(object)
}

// unmark takes the marks of the item off those of the objects that were applied without a release and belong to the release now.
func (j *job) unmark(ctx context.Context, objects []managedresource.ManagedResourceStatus) error {
	owner := j.session().Owner
	labels, annotations := owner.Marks()
	for _, adopted := range resources.Orphans(j.known.Recorded, resources.Orphans(j.known.Recorded, objects)) {
		isOurs := func(object *metav1.PartialObjectMetadata) bool {
			return isMarked(owner, object) && engine.Owns(object, j.config.Namespace, j.config.Name)
		}
		if err := mark(ctx, j.item.Target, adopted.Resource, isOurs, nulls(slices.Values(labels)), nulls(slices.Values(annotations))); err != nil {
			return fmt.Errorf("%s cannot be handed over to helm release %s/%s: %w", adopted.Resource, j.config.Namespace, j.config.Name, err)
		}
	}
	return nil
}

// disown takes the marks of a release off the objects that the job has applied without one.
func (j *job) disown(ctx context.Context, release managedresource.ReleaseReference) error {
	labels, annotations := engine.Ownership(release.Namespace, release.Name)
	for _, subject := range j.applied.Subjects {
		isOwned := func(object *metav1.PartialObjectMetadata) bool {
			return engine.Owns(object, release.Namespace, release.Name)
		}
		if subject.Live == nil {
			continue
		}
		if err := mark(ctx, j.item.Target, subject.Resource, isOwned, nulls(maps.Keys(labels)), nulls(maps.Keys(annotations))); err != nil {
			return fmt.Errorf("%s cannot be taken out of helm release %s/%s: %w", subject.Resource, release.Namespace, release.Name, err)
		}
	}
	return nil
}

// mark merges labels and annotations into an object of which a condition holds, unless it is not there.
func mark(
	ctx context.Context, cluster *target.Cluster, ref managedresource.ResourceReference, condition func(*metav1.PartialObjectMetadata) bool, labels, annotations any,
) error {
	object := metadataOf(ref)
	err := cluster.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
	if err == nil && condition(object) {
		var patch []byte
		if patch, err = json.Marshal(map[string]any{"metadata": map[string]any{
			"uid": object.UID, "resourceVersion": object.ResourceVersion, "labels": labels, "annotations": annotations,
		}}); err != nil {
			return err
		}
		err = cluster.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
	}
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// nulls returns what removes the keys when it is merged.
func nulls(keys iter.Seq[string]) map[string]any {
	removed := map[string]any{}
	for key := range keys {
		removed[key] = nil
	}
	return removed
}

// retireOthers uninstalls the releases that earlier jobs made on the target under another name or in another namespace.
func (j *job) retireOthers(ctx context.Context) error {
	for _, release := range slices.Clone(j.status.Inventory.Releases) {
		if release == releaseOf(j.config) {
			continue
		}
		j.touched = true
		flags := j.flags()
		flags.UntilGone = true // the new release may have objects of the same names
		if err := until(j.uninstall(ctx, j.item.Target, release, flags)); err != nil {
			return helmProblem(err)
		}
		j.dropRelease(release)
	}
	return nil
}

func isAny(*engine.Release) bool { return true }

// leaveReleases removes what releases of the item have on the target and the objects of template mode do not, and then their records. What
// both have stays.
func (j *job) leaveReleases(ctx context.Context) error {
	for _, release := range slices.Clone(j.status.Inventory.Releases) {
		history, err := j.engine.History(ctx, j.item.Target, release.Namespace, release.Name)
		if err != nil {
			return helmProblem(err)
		}
		isOurs, err := j.mayRemove(history)
		if err != nil {
			return err
		}
		if !isOurs {
			j.dropRelease(release)
			continue
		}
		attempted, err := locate(ctx, j.item.Target, resources.Union(j.known.Attempted, resources.Union(attemptedIn(history, isAny), j.lost(release, history))))
		if err != nil {
			return err
		}
		if err := until(removeOwned(ctx, j.session(), j.item.Target, release, resources.Orphans(attempted, j.applied.Managed))); err != nil {
			return helmProblem(err)
		}
		if err := j.disown(ctx, release); err != nil {
			return helmProblem(err)
		}
		for _, revision := range history {
			if err := j.engine.Forget(ctx, j.item.Target, revision); err != nil {
				return helmProblem(err)
			}
		}
		j.dropRelease(release)
	}
	j.known.Attempted = nil
	return nil
}
