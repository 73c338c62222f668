// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

var _ contract.SiteKeeper = &deployer{}

// Plan returns the provider status with the release that the job sets out to make. It returns nil where the status says that already, where
// the configuration or the status is broken, and in template mode: what that makes is known only when the chart is rendered, see recordObjects.
func (d *deployer) Plan(item *v1alpha1.DeployItem, to managedresource.ClusterReference) *runtime.RawExtension {
	decoded, err := configuration(item)
	if err != nil || to.Target == "" || helmv1alpha1.Validate(decoded) != nil {
		return nil
	}
	status, err := statusOf(item, decoded)
	if err != nil || !planned(status, decoded, to) {
		return nil
	}
	encoded, err := helmv1alpha1.EncodeStatus(status)
	if err != nil {
		return nil
	}
	return encoded
}

// IsAt compares with the cluster of the inventory. A record without one tells nothing.
func (d *deployer) IsAt(item *v1alpha1.DeployItem, to managedresource.ClusterReference) bool {
	status, err := helmv1alpha1.DecodeStatus(providerStatus(item))
	return err == nil && resources.IsAt(status.Inventory, to)
}

// Sites returns what the inventory says.
func (d *deployer) Sites(item *v1alpha1.DeployItem) ([]managedresource.Site, bool) {
	decoded, err := configuration(item)
	if err != nil {
		decoded = &helmv1alpha1.ProviderConfiguration{}
	}
	status, err := statusOf(item, decoded)
	if err != nil {
		return nil, false
	}
	if contract.HasLostRecord(item) {
		return nil, false
	}
	isKnown := resources.Scatter(status.Inventory, (&job{status: status}).recordedObjects())
	return status.Inventory.Sites, isKnown
}

// planned adds the plan to a status and reports whether that changes it.
func planned(status *helmv1alpha1.ProviderStatus, config *helmv1alpha1.ProviderConfiguration, to managedresource.ClusterReference) bool {
	inventory := status.Inventory
	if !config.IsHelmDeployment() {
		return false
	}
	isHere := inventory.Cluster != nil && resources.SameCluster(*inventory.Cluster, to)
	release := releaseOf(config)
	if isHere && slices.Contains(inventory.Releases, release) {
		return false
	}
	resources.Attempt(inventory, to, nil, release)
	return true
}

func releaseOf(config *helmv1alpha1.ProviderConfiguration) managedresource.ReleaseReference {
	return managedresource.ReleaseReference{Name: config.Name, Namespace: config.Namespace}
}

// Close leaves out what the API server refused.
func (d *deployer) Close(item *v1alpha1.DeployItem, status *runtime.RawExtension) *runtime.RawExtension {
	recorded, err := helmv1alpha1.DecodeStatus(status.Raw)
	if err != nil || recorded.Inventory == nil || !resources.ForgetRefused(recorded.Inventory, item.Status.JobID) {
		return status
	}
	encoded, err := helmv1alpha1.EncodeStatus(recorded)
	if err != nil {
		return status
	}
	return encoded
}

// statusOf reads the provider status of an item and gives it an inventory. A status of Gardener Landscaper records no release: there it is
// that of the configuration, with revision 0 as long as no job of ours has made one.
func statusOf(item *v1alpha1.DeployItem, decoded *helmv1alpha1.ProviderConfiguration) (*helmv1alpha1.ProviderStatus, error) {
	status, err := helmv1alpha1.DecodeStatus(providerStatus(item))
	if err != nil {
		return nil, err
	}
	isForeign := item.Status.ProviderStatus != nil && status.Inventory == nil && status.RecordedGeneration == 0
	if isForeign && status.Release == nil && decoded.IsHelmDeployment() && decoded.Name != "" && decoded.Namespace != "" {
		status.Release = &helmv1alpha1.ReleaseStatus{Name: decoded.Name, Namespace: decoded.Namespace}
	}
	if status.Inventory == nil {
		status.Inventory = &managedresource.Inventory{}
		if status.Release != nil {
			status.Inventory.Releases = []managedresource.ReleaseReference{{Name: status.Release.Name, Namespace: status.Release.Namespace}}
		}
	}
	return status, nil
}

// recordRelease records the release that the job sets out to make where the plan does not say it: the Target leads to another cluster than
// when the job was picked up, or its cluster did not answer then.
func (j *job) recordRelease(ctx context.Context) error {
	if resources.IsPlanned(j.before, *j.status.Inventory.Cluster, releaseOf(j.config)) {
		return nil
	}
	j.noteRelease()
	return j.recordAhead(ctx)
}

// recordObjects records the objects that the job sets out to apply where they are not on record.
func (j *job) recordObjects(ctx context.Context) error {
	attempted := resources.Attempted(j.desired, nil)
	for i := range attempted {
		attempted[i].Resource.Namespace = cmp.Or(attempted[i].Resource.Namespace, j.config.Namespace)
	}
	attempted, err := locate(ctx, j.item.Target, attempted)
	if err != nil {
		return err
	}
	missing := resources.Unplanned(j.before, j.recordedObjects(), *j.status.Inventory.Cluster, attempted)
	if len(missing) == 0 {
		return nil
	}
	j.known.Planned = resources.Union(j.known.Planned, resources.Orphans(missing, slices.Concat(j.known.Recorded, j.known.Attempted)))
	return j.recordAhead(ctx)
}

// leaveElsewhere uninstalls what earlier jobs put on other clusters. What those do not allow is no failure of this job: it stays recorded and
// becomes a warning.
func (j *job) leaveElsewhere(ctx context.Context) error {
	var progress resources.Progress
	var err error
	progress, j.attempt.warning, err = resources.LeaveOrWarn(ctx, j.session(), &j.attempt.departure, j.status.Inventory, j.config.DeletionGroups, j.retire)
	return until(progress, err)
}

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
	encoded, err := helmv1alpha1.EncodeStatus(j.now())
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
	objects, err := revision.Objects()
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

// search finds on the target what the record of the item has lost: releases and objects that carry its marks, UID included. An item with a
// record searches nothing.
func (j *job) search(ctx context.Context) error {
	_, err := j.find(ctx)
	return err
}

// find adds what the record has lost to what is known. If the credentials may list no objects at all it returns a refusal. That they may not list
// releases is an error, unless the item is known to have none.
func (j *job) find(ctx context.Context) (refusal, err error) {
	if !contract.HasLostRecord(j.item.DeployItem) {
		return nil, nil
	}
	var namespaces []string
	if j.config.Namespace != "" {
		namespaces = []string{j.config.Namespace}
	}
	found, err := j.engine.Labelled(ctx, j.item.Target, itemLabels(j.item.DeployItem), namespaces...)
	if err != nil && (j.config.IsHelmDeployment() || !apierrors.IsForbidden(err)) {
		return nil, helmProblem(err)
	}
	inventory := j.status.Inventory
	inventory.Releases = resources.WithReleases(inventory.Releases, found...)
	objects, refusal, err := resources.Search(ctx, j.session(), namespaces...)
	if err != nil {
		return nil, fmt.Errorf("cannot look for objects of an earlier job: %w", err)
	}
	j.known.Recorded = resources.Union(j.known.Recorded, objects)
	return refusal, nil
}
