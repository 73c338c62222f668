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
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/readiness"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/removal"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/sites"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// objectsOf returns the objects of a revision without its hooks. Those without a namespace get that of the release, also where their kind has
// none; see locate.
func objectsOf(release *engine.Release) ([]managedresource.ManagedResourceStatus, error) {
	references, err := release.References()
	if err != nil {
		return nil, err
	}
	var objects []managedresource.ManagedResourceStatus
	for _, reference := range references {
		objects = append(objects, managedresource.ManagedResourceStatus{Policy: managedresource.ManagePolicy, Resource: reference})
	}
	return objects, nil
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
	return resources.Distinct(func(yield func(managedresource.ManagedResourceStatus) bool) {
		for _, revision := range revisions {
			if !selects(revision) {
				continue
			}
			objects, _ := objectsOf(revision)
			for _, object := range objects {
				if !yield(object) {
					return
				}
			}
		}
	})
}

// removeLeftovers deletes what earlier attempts and jobs put on the target and the release does not have: Helm compares with the last revision
// that ended well only, and goes on when it may not delete something.
func (j *job) removeLeftovers(ctx context.Context) (resources.Progress, error) {
	differs := func(r *engine.Release) bool { return r.Manifest != j.release.Manifest }
	attempted := resources.Union(j.record.known.Attempted, attemptedIn(j.record.revisions, differs))
	if len(attempted) == 0 && len(j.record.known.Recorded) == 0 {
		j.record.revisions = nil
		return resources.Progress{}, nil
	}
	objects, err := objectsOf(j.release)
	if err != nil {
		return resources.Progress{}, err
	}
	if objects, err = locate(ctx, j.item.Target, objects); err != nil {
		return resources.Progress{}, err
	}
	if attempted, err = locate(ctx, j.item.Target, attempted); err != nil {
		return resources.Progress{}, err
	}
	j.record.known.Attempted = resources.Orphans(attempted, objects) // on record until they are gone
	if _, err := removeOwned(ctx, j.record.session(), j.item.Target, releaseOf(j.config), j.record.known.Attempted); err != nil {
		return resources.Progress{}, helmProblem(err)
	}
	if err := unmark(ctx, j.record, objects); err != nil {
		return resources.Progress{}, helmProblem(err)
	}
	progress, err := removal.Delete(ctx, j.record.session(), resources.Orphans(j.record.known.Recorded, objects), j.config.DeletionGroupsDuringUpdate)
	if err == nil && progress.Done() {
		j.record.known, j.record.revisions = sites.Known{}, nil
	}
	return progress, err
}

// removeOwned deletes those of the leftovers that the release owns on the cluster and that are not to be kept. The progress names what is still there.
func removeOwned(
	ctx context.Context, s *resources.Session, cluster *target.Cluster, release managedresource.ReleaseReference,
	leftovers []managedresource.ManagedResourceStatus,
) (resources.Progress, error) {
	progress, err := removal.Request(ctx, s, cluster, leftovers, isOwnOf(release))
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
func adopt(ctx context.Context, r *record) error {
	found, err := sites.Confirm(ctx, r.session(), r.known.Attempted)
	if err != nil {
		return err
	}
	r.known.Recorded = resources.Union(r.known.Recorded, found)
	labels, annotations := engine.Ownership(r.config.Namespace, r.config.Name)
	for _, recorded := range r.known.Recorded {
		object := metadataOf(recorded.Resource)
		err := r.item.Target.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			continue
		}
		if err == nil && mayAdopt(r.session().Owner, object) {
			err = mark(ctx, r.item.Target, object, labels, annotations)
		}
		if err != nil {
			return fmt.Errorf("%s cannot be made part of helm release %s/%s: %w", recorded.Resource, r.config.Namespace, r.config.Name, err)
		}
	}
	return nil
}

// mayAdopt reports whether an object carries the marks of the item and belongs to no release.
func mayAdopt(owner resources.Owner, object *metav1.PartialObjectMetadata) bool {
	return isMarked(owner, object) && !engine.IsOwned(object)
}

// isMarked reports whether an object carries the marks of the item. Those of an item of the same name in another namespace have that on them.
func isMarked(owner resources.Owner, object *metav1.PartialObjectMetadata) bool {
	return owner.Labelled(object) && !owner.Taken(object)
}

// unmark takes the marks of the item off those of the objects that were applied without a release and belong to the release now.
func unmark(ctx context.Context, r *record, objects []managedresource.ManagedResourceStatus) error {
	others := resources.Orphans(r.known.Recorded, objects)
	labels, annotations := r.session().Owner.Marks()
	for _, adopted := range resources.Orphans(r.known.Recorded, others) {
		object := metadataOf(adopted.Resource)
		err := r.item.Target.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		if err == nil && isMarked(r.session().Owner, object) && engine.Owns(object, r.config.Namespace, r.config.Name) {
			err = mark(ctx, r.item.Target, object, nulls(slices.Values(labels)), nulls(slices.Values(annotations)))
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("%s cannot be handed over to helm release %s/%s: %w", adopted.Resource, r.config.Namespace, r.config.Name, err)
		}
	}
	return nil
}

// mark merges labels and annotations into an object, as long as nobody has changed it.
func mark(ctx context.Context, cluster *target.Cluster, object *metav1.PartialObjectMetadata, labels, annotations any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.UID, "resourceVersion": object.ResourceVersion, "labels": labels, "annotations": annotations,
	}})
	if err != nil {
		return err
	}
	return cluster.Client.Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
}

// disown takes the marks of a release off the objects that the job has applied without one.
func disown(ctx context.Context, cluster *target.Cluster, applied []readiness.Subject, release managedresource.ReleaseReference) error {
	labels, annotations := engine.Ownership(release.Namespace, release.Name)
	for _, subject := range applied {
		if subject.Live == nil || !engine.Owns(subject.Live, release.Namespace, release.Name) {
			continue
		}
		object := metadataOf(subject.Resource)
		object.UID, object.ResourceVersion = subject.Live.GetUID(), subject.Live.GetResourceVersion()
		err := mark(ctx, cluster, object, nulls(maps.Keys(labels)), nulls(maps.Keys(annotations)))
		if client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err) {
			return fmt.Errorf("%s cannot be taken out of helm release %s/%s: %w", subject.Resource, release.Namespace, release.Name, err)
		}
	}
	return nil
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
func (j *job) retireOthers(ctx context.Context) (resources.Progress, error) {
	for _, release := range slices.Clone(j.record.status.Inventory.Releases) {
		if release == releaseOf(j.config) {
			continue
		}
		j.touched = true
		flags := j.uninstaller.flags()
		flags.UntilGone = true // the new release may have objects of the same names
		if progress, err := j.uninstaller.uninstall(ctx, j.item.Target, release, flags); err != nil || !progress.Done() {
			return progress, helmProblem(err)
		}
		j.record.dropRelease(release)
	}
	return resources.Progress{}, nil
}

func isAny(*engine.Release) bool { return true }

// leaveReleases removes what releases of the item have on the target and the objects of template mode do not, and then their records. What
// both have stays.
func (j *job) leaveReleases(ctx context.Context) (resources.Progress, error) {
	for _, release := range slices.Clone(j.record.status.Inventory.Releases) {
		history, err := j.engine.History(ctx, j.item.Target, release.Namespace, release.Name)
		if err != nil {
			return resources.Progress{}, helmProblem(err)
		}
		isOurs, err := j.uninstaller.mayRemove(history)
		if err != nil {
			return resources.Progress{}, err
		}
		if !isOurs {
			j.record.dropRelease(release)
			continue
		}
		attempted, err := locate(ctx, j.item.Target, resources.Union(j.record.known.Attempted, resources.Union(attemptedIn(history, isAny), j.record.lost(release, history))))
		if err != nil {
			return resources.Progress{}, err
		}
		progress, err := removeOwned(ctx, j.record.session(), j.item.Target, release, resources.Orphans(attempted, j.applied.Managed))
		if err != nil || !progress.Done() {
			return progress, helmProblem(err)
		}
		if err := disown(ctx, j.item.Target, j.applied.Subjects, release); err != nil {
			return resources.Progress{}, helmProblem(err)
		}
		for _, revision := range history {
			if err := j.engine.Forget(ctx, j.item.Target, revision); err != nil {
				return resources.Progress{}, helmProblem(err)
			}
		}
		j.record.dropRelease(release)
	}
	j.record.known.Attempted = nil
	return resources.Progress{}, nil
}
