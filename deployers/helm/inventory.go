// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

var _ contract.Planner = &deployer{}

// Plan returns the provider status with the release that the job sets out to make or, in template mode, with the Target that it sets out for.
// It returns nil where the status says that already, and where the configuration or the status is broken.
func (d *deployer) Plan(item *v1alpha1.DeployItem, target string) *runtime.RawExtension {
	decoded, err := configuration(item)
	if err != nil || target == "" || config.Validate(decoded) != nil {
		return nil
	}
	status, err := statusOf(item, decoded)
	if err != nil || !planned(status, decoded, target) {
		return nil
	}
	encoded, err := config.EncodeStatus(status)
	if err != nil {
		return nil
	}
	return encoded
}

// planned adds the plan to a status and reports whether that changes it.
func planned(status *helmv1alpha1.ProviderStatus, config *helmv1alpha1.ProviderConfiguration, target string) bool {
	inventory := status.Inventory
	isHere := inventory.Cluster != nil && inventory.Cluster.Target == target
	if !config.IsHelmDeployment() {
		if inventory.Cluster == nil {
			inventory.Cluster = &managedresource.ClusterReference{Target: target}
		}
		return !isHere
	}
	release := releaseOf(config)
	if isHere && slices.Contains(inventory.Releases, release) {
		return false
	}
	resources.Attempt(inventory, managedresource.ClusterReference{Target: target}, nil, release)
	return true
}

func releaseOf(config *helmv1alpha1.ProviderConfiguration) managedresource.ReleaseReference {
	return managedresource.ReleaseReference{Name: config.Name, Namespace: config.Namespace}
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

// settle sorts the inventory by the cluster that the target is.
func (j *job) settle(ctx context.Context) (resources.Progress, error) {
	search := j.mayHaveUnrecorded()
	known, err := j.session().Settle(ctx, j.status.Inventory, j.recordedObjects())
	if err != nil {
		return resources.Progress{}, err
	}
	j.known = known
	if last := j.status.Release; last != nil &&
		!slices.Contains(j.status.Inventory.Releases, managedresource.ReleaseReference{Name: last.Name, Namespace: last.Namespace}) {
		j.status.Release = nil // it is on another cluster
	}
	if j.status.Release != nil {
		_, j.workloads = split(j.status.ManagedResources)
	}
	if !search {
		return resources.Progress{}, nil
	}
	found, err := j.session().Sweep(ctx, j.config.Namespace)
	if err != nil {
		return resources.Progress{}, fmt.Errorf("cannot look for objects of an earlier job: %w", err)
	}
	j.known.Recorded = resources.Union(j.known.Recorded, found)
	return resources.Progress{}, nil
}

// recordedObjects are the objects that the status records and that were applied without a release. Those of a release are recorded for
// readiness only; they have no UID.
func (j *job) recordedObjects() []managedresource.ManagedResourceStatus {
	if j.status.Release == nil {
		return j.status.ManagedResources
	}
	withUID, _ := split(j.status.ManagedResources)
	return withUID
}

// split separates the records with UID from those without.
func split(records []managedresource.ManagedResourceStatus) (withUID, without []managedresource.ManagedResourceStatus) {
	for _, record := range records {
		if record.Resource.UID == "" {
			without = append(without, record)
		} else {
			withUID = append(withUID, record)
		}
	}
	return withUID, without
}

// mayHaveUnrecorded reports whether an earlier job may have applied objects without a release and died before it recorded them. Such a job
// leaves a plan that names a cluster and no release. The request to delete raises the generation of an item by one.
func (j *job) mayHaveUnrecorded() bool {
	cluster := j.status.Inventory.Cluster
	isPlanned := !j.config.IsHelmDeployment() || cluster != nil && !cluster.IsReached()
	return cluster != nil && isPlanned && j.item.DeployItem.Generation-1 > j.status.RecordedGeneration
}

// record returns the status that says what is known, also when the job has failed.
func (j *job) record() *helmv1alpha1.ProviderStatus {
	status, inventory := *j.status, *j.status.Inventory
	inventory.Sites = slices.Clone(inventory.Sites)
	inventory.DeletionGroups = j.config.DeletionGroups
	recorded, attempted := j.known.Recorded, resources.Union(j.known.Attempted, j.failedObjects())
	if status.Release != nil { // what has no UID counts as part of the release then
		var unsure []managedresource.ManagedResourceStatus
		recorded, unsure = split(recorded)
		attempted = resources.Union(attempted, unsure)
	}
	resources.Attempt(&inventory, *inventory.Cluster, resources.Orphans(attempted, recorded))
	status.Inventory = &inventory
	status.ManagedResources = resources.Union(recorded, j.workloads)
	status.RecordedGeneration = j.item.DeployItem.Generation
	return &status
}

// leaveElsewhere uninstalls what earlier jobs put on other clusters. What those do not allow is no failure of this job: it stays recorded and
// becomes a warning.
func (j *job) leaveElsewhere(ctx context.Context) (resources.Progress, error) {
	progress, err := j.session().LeaveElsewhere(ctx, j.status.Inventory, j.config.DeletionGroups, j.retire)
	if err != nil {
		j.attempt.warning = err.Error()
	}
	return progress, nil
}

// whereToBegin returns the cluster that a deletion begins with: the target of the item or, when that cannot be opened, the recorded one.
func (j *job) whereToBegin(ctx context.Context) (*target.Cluster, error) {
	if j.item.Target != nil {
		return j.item.Target, nil
	}
	missing := j.item.TargetProblem
	if missing == nil {
		missing = misconfigured(j.item, errNoTarget)
	}
	recorded := j.status.Inventory.Cluster
	if recorded == nil || j.item.Targets == nil {
		return nil, missing
	}
	cluster, err := j.item.Targets(ctx, recorded.Target)
	if err != nil {
		return nil, errors.Join(missing, err)
	}
	return cluster, nil
}
