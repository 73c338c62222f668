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
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/sites"
)

// record is what the status of an item says, and what its job has found out since.
type record struct {
	item   *contract.Item
	config *helmv1alpha1.ProviderConfiguration
	status *helmv1alpha1.ProviderStatus
	// before is the inventory that the job found.
	before managedresource.Inventory
	// known is what the status says about the target, see settle.
	known sites.Known
	// revisions are those of the wanted release that may have left something.
	revisions []*engine.Release
	// workloads are the objects of the wanted release, once it is made, with a readiness rule.
	workloads []managedresource.ManagedResourceStatus
}

// settle sorts the inventory by the cluster that the target is.
func (r *record) settle(ctx context.Context) error {
	r.before = *r.status.Inventory
	known, err := sites.Settle(ctx, r.session(), r.status.Inventory, r.recordedObjects())
	if err != nil {
		return err
	}
	r.known = known
	if last := r.status.Release; last != nil &&
		!slices.Contains(r.status.Inventory.Releases, managedresource.ReleaseReference{Name: last.Name, Namespace: last.Namespace}) {
		r.status.Release = nil // it is on another cluster
	}
	if r.status.Release != nil {
		_, r.workloads = sites.Split(r.status.ManagedResources)
	}
	return nil
}

// recordedObjects are the objects that the status records and that were applied without a release. Those of a release are recorded for
// readiness only; they have no UID.
func (r *record) recordedObjects() []managedresource.ManagedResourceStatus {
	if r.status.Release == nil {
		return r.status.ManagedResources
	}
	withUID, _ := sites.Split(r.status.ManagedResources)
	return withUID
}

// now returns the status that says what is known, also when the job has failed.
func (r *record) now() *helmv1alpha1.ProviderStatus {
	status, inventory := *r.status, *r.status.Inventory
	inventory.Sites = slices.Clone(inventory.Sites)
	inventory.DeletionGroups = r.config.DeletionGroups
	recorded, attempted := r.known.Recorded, resources.Union(r.known.Attempted, r.failedObjects())
	if status.Release != nil { // what has no UID counts as part of the release then
		var unsure []managedresource.ManagedResourceStatus
		recorded, unsure = sites.Split(recorded)
		attempted = resources.Union(attempted, unsure)
	}
	sites.Attempt(&inventory, *inventory.Cluster, resources.Orphans(attempted, recorded))
	sites.AttemptBy(&inventory, r.item.DeployItem.Status.JobID, *inventory.Cluster, r.known.Planned)
	status.Inventory = &inventory
	status.ManagedResources = resources.Union(recorded, r.workloads)
	status.RecordedGeneration = r.item.DeployItem.Generation
	return &status
}

// noteRelease makes the wanted release one of those of the inventory.
func (r *record) noteRelease() {
	r.status.Inventory.Releases = sites.WithReleases(r.status.Inventory.Releases, releaseOf(r.config))
}

func (r *record) recordAhead(ctx context.Context) error {
	encoded, err := config.EncodeStatus(r.now())
	if err != nil {
		return err
	}
	return r.item.Record(ctx, encoded)
}

// lost returns the objects that the status lists of a release of whose revision the target has no record any more, as after the deletion of its
// namespace. They are the release's as long as they carry its marks.
func (r *record) lost(release managedresource.ReleaseReference, history []*engine.Release) []managedresource.ManagedResourceStatus {
	last := r.status.Release
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
func (r *record) noteLoss(ctx context.Context, history []*engine.Release) error {
	lost := r.lost(releaseOf(r.config), history)
	if len(lost) == 0 {
		return nil
	}
	r.known.Attempted = resources.Union(r.known.Attempted, lost)
	r.status.Release, r.workloads = nil, nil
	return r.recordAhead(ctx)
}

// noteAttempts remembers the revisions of the wanted release: each says what an attempt set out to apply, from before it applied anything.
func (r *record) noteAttempts(history []*engine.Release) {
	for _, revision := range history {
		last := r.status.Release
		isKnown := last != nil && last.Name == revision.Name && last.Namespace == revision.Namespace && revision.Revision < last.Revision
		if !isKnown {
			r.revisions = append(r.revisions, revision)
		}
	}
}

// failedObjects returns what those attempts on the wanted release set out to apply that have not ended well. Helm itself removes the objects
// of the others.
func (r *record) failedObjects() []managedresource.ManagedResourceStatus {
	return attemptedIn(r.revisions, func(revision *engine.Release) bool {
		return revision.Status == engine.StatusFailed || revision.Status.IsPending()
	})
}

// dropRelease takes a release that is gone from the target off the record.
func (r *record) dropRelease(release managedresource.ReleaseReference) {
	inventory := r.status.Inventory
	inventory.Releases = slices.DeleteFunc(slices.Clone(inventory.Releases), func(other managedresource.ReleaseReference) bool { return other == release })
	if last := r.status.Release; last != nil && last.Name == release.Name && last.Namespace == release.Namespace {
		r.status.Release, r.workloads = nil, nil
	}
}

// isRecorded reports whether the status of the item has all objects of a revision.
func (r *record) isRecorded(revision *engine.Release) bool {
	objects, err := objectsOf(revision)
	return err == nil && len(resources.Orphans(objects, resources.Union(r.known.Recorded, r.known.Attempted))) == 0
}

// attempts returns the counters of the job.
func (r *record) attempts() *helmv1alpha1.Attempts {
	if job := r.item.DeployItem.Status.JobID; r.status.LastAttemptedJobID != job {
		r.status.Attempts = helmv1alpha1.Attempts{LastAttemptedJobID: job}
	}
	return &r.status.Attempts
}

// session is the way to the objects of the item.
func (r *record) session() *resources.Session {
	labels := map[string]string{v1alpha1.HelmDeployItemLabel: resources.LabelValue(r.item.DeployItem.Name)}
	session := resources.NewSession(r.item, labels)
	session.Owner.Releases = r.status.Inventory.Releases
	return session
}

// deletionGroups returns those of the configuration. When they are broken they were never in force, and those of the last valid configuration
// count.
func (r *record) deletionGroups() []managedresource.DeletionGroupDefinition {
	isMissing := r.config.Name == "" // the configuration cannot be read at all
	if isMissing || errors.Join(managedresource.ValidateDeletionGroups("deletionGroups", r.config.DeletionGroups)...) != nil {
		return r.status.Inventory.DeletionGroups
	}
	return r.config.DeletionGroups
}
