// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

var _ contract.SiteKeeper = &deployer{}

// Plan returns the provider status with the release that the job sets out to make. It returns nil where the status says that already, where
// the configuration or the status is broken, and in template mode: what that makes is known only when the chart is rendered, see recordObjects.
func (d *deployer) Plan(item *v1alpha1.DeployItem, to managedresource.ClusterReference) *runtime.RawExtension {
	decoded, err := configuration(item)
	if err != nil || to.Target == "" || config.Validate(decoded) != nil {
		return nil
	}
	status, err := statusOf(item, decoded)
	if err != nil || !planned(status, decoded, to) {
		return nil
	}
	encoded, err := config.EncodeStatus(status)
	if err != nil {
		return nil
	}
	return encoded
}

// IsAt compares with the cluster of the inventory. A record without one tells nothing.
func (d *deployer) IsAt(item *v1alpha1.DeployItem, to managedresource.ClusterReference) bool {
	status, err := config.DecodeStatus(providerStatus(item))
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
	recorded, err := config.DecodeStatus(status.Raw)
	if err != nil || recorded.Inventory == nil || !resources.ForgetRefused(recorded.Inventory, item.Status.JobID) {
		return status
	}
	encoded, err := config.EncodeStatus(recorded)
	if err != nil {
		return status
	}
	return encoded
}

// statusOf reads the provider status of an item and gives it an inventory. A status of Gardener Landscaper records no release: there it is
// that of the configuration, with revision 0 as long as no job of ours has made one.
func statusOf(item *v1alpha1.DeployItem, decoded *helmv1alpha1.ProviderConfiguration) (*helmv1alpha1.ProviderStatus, error) {
	status, err := config.DecodeStatus(providerStatus(item))
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
