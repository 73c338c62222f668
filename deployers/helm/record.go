// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"slices"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// settle sorts the inventory by the cluster that the target is.
func (j *job) settle(ctx context.Context) error {
	j.before = *j.status.Inventory
	known, err := resources.Settle(ctx, j.session(), j.status.Inventory, j.recordedObjects())
	if err != nil {
		return err
	}
	j.known = known
	if last := j.status.Release; last != nil &&
		!slices.Contains(j.status.Inventory.Releases, managedresource.ReleaseReference{Name: last.Name, Namespace: last.Namespace}) {
		j.status.Release = nil // it is on another cluster
	}
	if j.status.Release != nil {
		_, j.workloads = resources.SplitConfirmed(j.status.ManagedResources)
	}
	return nil
}

// recordedObjects are the objects that the status records and that were applied without a release. Those of a release are recorded for
// readiness only; they have no UID.
func (j *job) recordedObjects() []managedresource.ManagedResourceStatus {
	if j.status.Release == nil {
		return j.status.ManagedResources
	}
	withUID, _ := resources.SplitConfirmed(j.status.ManagedResources)
	return withUID
}

// now returns the status that says what is known, also when the job has failed.
func (j *job) now() *helmv1alpha1.ProviderStatus {
	status, inventory := *j.status, *j.status.Inventory
	inventory.Sites = slices.Clone(inventory.Sites)
	inventory.DeletionGroups = j.config.DeletionGroups
	recorded, attempted := j.known.Recorded, resources.Union(j.known.Attempted, j.failedObjects())
	if status.Release != nil { // what has no UID counts as part of the release then
		var unsure []managedresource.ManagedResourceStatus
		recorded, unsure = resources.SplitConfirmed(recorded)
		attempted = resources.Union(attempted, unsure)
	}
	resources.Attempt(&inventory, *inventory.Cluster, resources.Orphans(attempted, recorded))
	resources.AttemptBy(&inventory, j.item.DeployItem.Status.JobID, *inventory.Cluster, j.known.Planned)
	status.Inventory = &inventory
	status.ManagedResources = resources.Union(recorded, j.workloads)
	status.RecordedGeneration = j.item.DeployItem.Generation
	return &status
}

// noteRelease makes the wanted release one of those of the inventory.
func (j *job) noteRelease() {
	j.status.Inventory.Releases = resources.WithReleases(j.status.Inventory.Releases, releaseOf(j.config))
}

func (j *job) recordAhead(ctx context.Context) error {
	encoded, err := config.EncodeStatus(j.now())
	if err != nil {
		return err
	}
	return j.item.Record(ctx, encoded)
}

// lost returns the objects that the status lists of a release of whose revision the target has no record any more, as after the deletion of its
// namespace. They are the release's as long as they carry its marks.
func (j *job) lost(release managedresource.ReleaseReference, history []*engine.Release) []managedresource.ManagedResourceStatus {
	last := j.status.Release
	isKept := func(revision *engine.Release) bool { return revision.Revision == last.Revision }
	if last == nil || last.Name != release.Name || last.Namespace != release.Namespace || slices.ContainsFunc(history, isKept) {
		return nil
	}
	var objects []managedresource.ManagedResourceStatus
	for _, ref := range referencesIn(last.Inventory) {
		objects = append(objects, managedresource.ManagedResourceStatus{Policy: managedresource.ManagePolicy, Resource: ref})
	}
	return objects
}

// noteLoss puts what the target has lost of the wanted release on record as objects that an earlier attempt may have left.
func (j *job) noteLoss(ctx context.Context, history []*engine.Release) error {
	lost := j.lost(releaseOf(j.config), history)
	if len(lost) == 0 {
		return nil
	}
	j.known.Attempted = resources.Union(j.known.Attempted, lost)
	j.status.Release, j.workloads = nil, nil
	return j.recordAhead(ctx)
}

// noteAttempts remembers the revisions of the wanted release: each says what an attempt set out to apply, from before it applied anything.
func (j *job) noteAttempts(history []*engine.Release) {
	for _, revision := range history {
		last := j.status.Release
		isKnown := last != nil && last.Name == revision.Name && last.Namespace == revision.Namespace && revision.Revision < last.Revision
		if !isKnown {
			j.revisions = append(j.revisions, revision)
		}
	}
}

// failedObjects returns what those attempts on the wanted release set out to apply that have not ended well. Helm itself removes the objects
// of the others.
func (j *job) failedObjects() []managedresource.ManagedResourceStatus {
	return attemptedIn(j.revisions, func(revision *engine.Release) bool {
		return revision.Status == engine.StatusFailed || revision.Status.IsPending()
	})
}

// dropRelease takes a release that is gone from the target off the record.
func (j *job) dropRelease(release managedresource.ReleaseReference) {
	inventory := j.status.Inventory
	inventory.Releases = slices.DeleteFunc(slices.Clone(inventory.Releases), func(other managedresource.ReleaseReference) bool { return other == release })
	if last := j.status.Release; last != nil && last.Name == release.Name && last.Namespace == release.Namespace {
		j.status.Release, j.workloads = nil, nil
	}
}

// isRecorded reports whether the status of the item has all objects of a revision.
func (j *job) isRecorded(revision *engine.Release) bool {
	objects, err := objectsOf(revision)
	return err == nil && len(resources.Orphans(objects, resources.Union(j.known.Recorded, j.known.Attempted))) == 0
}

// attempts returns the counters of the job.
func (j *job) attempts() *helmv1alpha1.Attempts {
	if job := j.item.DeployItem.Status.JobID; j.status.LastAttemptedJobID != job {
		j.status.Attempts = helmv1alpha1.Attempts{LastAttemptedJobID: job}
	}
	return &j.status.Attempts
}

// session is the way to the objects of the item.
func (j *job) session() *resources.Session {
	labels := map[string]string{v1alpha1.HelmDeployItemLabel: resources.LabelValue(j.item.DeployItem.Name)}
	session := resources.NewSession(j.item, labels)
	session.Owner.Releases = j.status.Inventory.Releases
	return session
}

// deletionGroups returns those of the configuration. When they are broken they were never in force, and those of the last valid configuration
// count.
func (j *job) deletionGroups() []managedresource.DeletionGroupDefinition {
	isMissing := j.config.Name == "" // the configuration cannot be read at all
	if isMissing || errors.Join(managedresource.ValidateDeletionGroups("deletionGroups", j.config.DeletionGroups)...) != nil {
		return j.status.Inventory.DeletionGroups
	}
	return j.config.DeletionGroups
}
