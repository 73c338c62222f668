// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// retire implements resources.ReleaseRemover.
func (j *job) retire(ctx context.Context, cluster *target.Cluster, release managedresource.ReleaseReference) (resources.Progress, error) {
	progress, err := j.uninstall(ctx, cluster, release, j.flags())
	return progress, helmProblem(err)
}

// uninstall removes a release of the item and what failed attempts on it left; the latter first, because the history says what that is. A
// release of others stays. With flags.UntilGone the progress says what is still there: the history stays as long.
func (j *job) uninstall(
	ctx context.Context, cluster *target.Cluster, release managedresource.ReleaseReference, flags engine.Flags,
) (resources.Progress, error) {
	// Of others nothing but the labels of their records says that they are the item's. Whoever may write Secrets in some namespace of the target can write
	// such records, and may not have the rights with which the deployer uninstalls them.
	flags.OnlyMarked = contract.HasLostRecord(j.item.DeployItem) && release != releaseOf(j.config)
	history, err := j.engine.History(ctx, cluster, release.Namespace, release.Name)
	if err != nil {
		return resources.Progress{}, err
	}
	if isOurs, err := j.mayRemove(history); !isOurs || err != nil {
		return resources.Progress{}, err
	}
	leftovers, err := j.leftoversOf(ctx, cluster, history)
	if err != nil {
		return resources.Progress{}, err
	}
	progress, err := removeOwned(ctx, j.session(), cluster, release, leftovers)
	if err != nil {
		return resources.Progress{}, err
	}
	lost, err := j.removeLost(ctx, cluster, release, j.lost(release, history))
	if progress.Add(lost); err != nil {
		return resources.Progress{}, err
	}
	if !flags.UntilGone {
		progress = resources.Progress{}
	}
	last := lastOf(history)
	if last == nil {
		return progress, nil
	}
	if !last.Leaving {
		if err := j.item.Checkpoint("helm deployer: before deleting release"); err != nil {
			return resources.Progress{}, err
		}
		if last, err = j.engine.Uninstall(ctx, cluster, release.Namespace, release.Name, flags); last == nil || err != nil {
			return progress, err
		}
	}
	if flags.UntilGone || flags.Wait {
		objects, err := objectsAt(ctx, cluster, last)
		if err != nil {
			return progress, err
		}
		more, err := resources.RequestDeletion(ctx, j.session(), cluster, objects, func(live *unstructured.Unstructured) bool {
			return live.GetDeletionTimestamp() != nil && !engine.IsTaken(live, last.Namespace, last.Name)
		})
		if progress.Add(more); err != nil || !progress.Done() {
			return progress, err
		}
	}
	_, err = j.engine.Uninstall(ctx, cluster, release.Namespace, release.Name, flags)
	return resources.Progress{}, err
}

// removeLost deletes what the status lists of a release that the target has no record of any more, and warns of what does not carry its marks any more:
// that stays.
func (j *job) removeLost(
	ctx context.Context, cluster *target.Cluster, release managedresource.ReleaseReference, lost []managedresource.ManagedResourceStatus,
) (resources.Progress, error) {
	var mu sync.Mutex
	var stays resources.Progress
	isOwn := isOwnOf(release)
	progress, err := resources.RequestDeletion(ctx, j.session(), cluster, lost, func(live *unstructured.Unstructured) bool {
		if isOwn(live) {
			return true
		}
		if live.GetDeletionTimestamp() == nil && !engine.IsKept(live.GetAnnotations()) && !engine.IsTaken(live, release.Namespace, release.Name) {
			mu.Lock()
			defer mu.Unlock()
			stays.Wait(strings.Trim(fmt.Sprintf("%s %s/%s", live.GetKind(), live.GetNamespace(), live.GetName()), "/"))
		}
		return false
	})
	if !stays.Done() {
		slices.Sort(stays.Reasons)
		j.attempt.stays = fmt.Sprintf("the target has no record of helm release %s/%s any more, and %d of its objects stay, because they do not carry its marks; "+
			"delete them by hand: %s", release.Namespace, release.Name, len(stays.Reasons), stays.Waiting())
	}
	return progress, err
}

// mayRemove reports whether a release with this history is to be removed, and not one of others. It is an error, which passes, while a person
// works on it: what that operation still puts on the target would stay.
func (j *job) mayRemove(history []*engine.Release) (bool, error) {
	last := lastOf(history)
	switch {
	case last == nil:
		return true, nil
	case !j.isOwn(last):
		return false, nil
	case isOfPerson(last) && time.Since(last.Began) < foreignPending:
		return false, busy(last)
	}
	return true, nil
}

// leftoversOf returns what attempts on a release set out to apply and Helm does not uninstall: it does so with what the last revision has, in the
// versions that the target serves.
func (j *job) leftoversOf(ctx context.Context, cluster *target.Cluster, history []*engine.Release) ([]managedresource.ManagedResourceStatus, error) {
	attempted, err := locate(ctx, cluster, resources.Union(j.known.Attempted, attemptedIn(history, isAny)))
	if err != nil || len(history) == 0 {
		return attempted, err
	}
	last, err := objectsAt(ctx, cluster, lastOf(history))
	if err != nil {
		return nil, err
	}
	// In a version that the target serves no more Helm finds none, also where it still knows that version.
	var removed []managedresource.ManagedResourceStatus
	session := j.session()
	for _, object := range last {
		isServed, err := session.Served.InVersion(ctx, cluster, schema.FromAPIVersionAndKind(object.Resource.APIVersion, object.Resource.Kind))
		if err != nil {
			return nil, err
		}
		if isServed {
			removed = append(removed, object)
		}
	}
	return resources.Orphans(attempted, removed), nil
}

// flags returns the settings of uninstalls; malformed ones count as unset, because nobody may be able to correct them any more. An uninstall waits unless
// they say otherwise: whoever goes next may be the operator that the objects wait for.
func (j *job) flags() engine.Flags {
	settings, err := j.settings("uninstall")
	if err != nil {
		return engine.Flags{UntilGone: true}
	}
	flags := engine.Flags{ReleaseSettings: settings}
	isSet := j.config.HelmDeploymentConfig != nil && len(j.config.HelmDeploymentConfig.Uninstall["wait"].RawMessage) > 0
	flags.Wait, flags.UntilGone = false, settings.Wait || !isSet
	return flags
}

// isOwn reports whether a release belongs to the item. One that no DeployItem made does if the status was written by Gardener Landscaper, which
// labels no releases, and no job has upgraded it since.
func (j *job) isOwn(last *engine.Release) bool {
	if last.Labels[ownerLabel] == "" {
		recorded := j.status.Release
		return recorded != nil && recorded.Revision == 0 && recorded.Name == last.Name && recorded.Namespace == last.Namespace
	}
	return !isOthers(last, itemLabels(j.item.DeployItem))
}

// deleteSteps are the steps of a deletion. All look at what the status records, because mode, names and Target may have changed between jobs.
var deleteSteps = []step{
	{"helm deployer: start delete", (*job).findOut},         // status + target, and marks where the record is lost → what is where
	{"", (*job).retireAll},                                  // releases        → gone
	{"helm deployer: start deleting", (*job).deleteObjects}, // objects         → gone
	{"", (*job).leaveAllElsewhere},                          // other clusters  → gone
}

// scatteredSteps are those of a deletion whose target cannot be opened.
var scatteredSteps = []step{
	{"helm deployer: start delete", (*job).scatter}, // status         → what is where
	{"", (*job).leaveAllElsewhere},                  // all clusters   → gone
}

// Delete uninstalls the releases, and deletes the objects that were applied without one. It needs no chart and no valid configuration, and a
// target only if something was deployed.
func (d *deployer) Delete(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	j, err := d.beginDelete(item)
	if err != nil || j == nil {
		return contract.Outcome{Done: err == nil}, err
	}
	steps := deleteSteps
	if j.item.Target == nil {
		steps = scatteredSteps
	}
	ctx, end := d.engine.Session(engine.OnWait(ctx, item.Waits))
	defer end()
	outcome, err := j.walk(ctx, steps)
	outcome.ProviderStatus = nil // what was recorded stays recorded until the item is gone
	return outcome, err
}

// beginDelete returns the job, nil if there is nothing to delete.
func (d *deployer) beginDelete(item *contract.Item) (*job, error) {
	decoded, err := configuration(item.DeployItem)
	if err != nil {
		decoded = &helmv1alpha1.ProviderConfiguration{}
	}
	status, err := statusOf(item.DeployItem, decoded)
	if err != nil {
		return nil, misconfigured(item, fmt.Errorf("status.providerStatus: %w", err))
	}
	if isNothing(status) && !contract.HasLostRecord(item.DeployItem) {
		return nil, nil
	}
	return &job{deployer: d, item: item, config: decoded, status: status, attempt: &attempt{}}, nil
}

// scatter finds out what is where by the record alone.
func (j *job) scatter(context.Context) error {
	isKnown := !contract.HasLostRecord(j.item.DeployItem) && resources.Scatter(j.status.Inventory, j.recordedObjects())
	switch problem := j.item.TargetProblem; {
	case isKnown:
		return nil
	case problem != nil:
		return contract.CannotLook(j.item.DeployItem, problem)
	}
	return contract.CannotLook(j.item.DeployItem, misconfigured(j.item, errNoTarget))
}

// findOut is settle and find for a deletion, which does not end where nothing could be looked at.
func (j *job) findOut(ctx context.Context) error {
	err := j.settle(ctx)
	if err == nil {
		var refusal error
		if refusal, err = j.find(ctx); err == nil && refusal != nil {
			err = fmt.Errorf("cannot look for objects of an earlier job: %w", refusal)
		}
	}
	return contract.CannotLook(j.item.DeployItem, err)
}

// isNothing reports whether no job of an item has set out to put anything anywhere.
func isNothing(status *helmv1alpha1.ProviderStatus) bool {
	inventory := status.Inventory
	return inventory.Cluster == nil && len(inventory.Releases) == 0 && len(inventory.Sites) == 0 && len(status.ManagedResources) == 0
}

// retireAll uninstalls the releases on the target.
func (j *job) retireAll(ctx context.Context) error {
	for _, release := range slices.Clone(j.status.Inventory.Releases) {
		if err := until(j.retire(ctx, j.item.Target, release)); err != nil {
			return err
		}
	}
	return nil
}

// deleteObjects removes the objects that were applied without a release.
func (j *job) deleteObjects(ctx context.Context) error {
	found, err := resources.Confirm(ctx, j.session(), slices.Concat(j.known.Attempted, j.known.Planned))
	if err != nil {
		return err
	}
	return until(resources.Delete(ctx, j.session(), resources.Union(j.known.Recorded, found), j.deletionGroups()))
}

// leaveAllElsewhere uninstalls what is on other clusters. The deletion waits for those that cannot be reached.
func (j *job) leaveAllElsewhere(ctx context.Context) error {
	return until(resources.LeaveElsewhere(ctx, j.session(), j.status.Inventory, j.deletionGroups(), j.retire))
}
