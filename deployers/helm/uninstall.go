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

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// retire implements sites.ReleaseRemover.
func (j *job) retire(ctx context.Context, cluster *target.Cluster, release managedresource.ReleaseReference) (resources.Progress, error) {
	progress, err := j.uninstall(ctx, cluster, release, j.flags())
	return progress, helmProblem(err)
}

// isOnlyFound reports whether nothing but the labels of its records says that a release is the item's. Whoever may write Secrets in some namespace of
// the target can write such records, and may not have the rights with which the deployer uninstalls them.
func (j *job) isOnlyFound(release managedresource.ReleaseReference) bool {
	return contract.HasLostRecord(j.item.DeployItem) && release != releaseOf(j.config)
}

// uninstall removes a release of the item and what failed attempts on it left; the latter first, because the history says what that is. A
// release of others stays. With flags.UntilGone the progress says what is still there: the history stays as long.
func (j *job) uninstall(
	ctx context.Context, cluster *target.Cluster, release managedresource.ReleaseReference, flags engine.Flags,
) (resources.Progress, error) {
	flags.OnlyMarked = j.isOnlyFound(release)
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
	if len(history) == 0 {
		return progress, nil
	}
	last := history[len(history)-1]
	if !last.Leaving {
		if err := j.item.Checkpoint("helm deployer: before deleting release"); err != nil {
			return resources.Progress{}, err
		}
		if last, err = j.engine.Uninstall(ctx, cluster, release.Namespace, release.Name, flags); last == nil || err != nil {
			return progress, err
		}
	}
	if flags.UntilGone || flags.Wait {
		more, err := j.awaitObjects(ctx, cluster, last)
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

// awaitObjects says which objects of a release that is leaving are still there.
func (j *job) awaitObjects(ctx context.Context, cluster *target.Cluster, last *engine.Release) (resources.Progress, error) {
	objects, err := objectsAt(ctx, cluster, last)
	if err != nil {
		return resources.Progress{}, err
	}
	return resources.RequestDeletion(ctx, j.session(), cluster, objects, func(live *unstructured.Unstructured) bool {
		return live.GetDeletionTimestamp() != nil && !engine.IsTaken(live, last.Namespace, last.Name)
	})
}

// mayRemove reports whether a release with this history is to be removed, and not one of others. It is an error, which passes, while a person
// works on it: what that operation still puts on the target would stay.
func (j *job) mayRemove(history []*engine.Release) (bool, error) {
	if len(history) == 0 {
		return true, nil
	}
	last := history[len(history)-1]
	switch {
	case !j.isOwn(last):
		return false, nil
	case isPersonAtWork(last, time.Now()):
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
	last, err := objectsAt(ctx, cluster, history[len(history)-1])
	if err != nil {
		return nil, err
	}
	removed, err := j.removedBy(ctx, cluster, last)
	return resources.Orphans(attempted, removed), err
}

// removedBy returns the objects that Helm deletes. In a version that the target serves no more it finds none, also where it still knows that version.
func (j *job) removedBy(ctx context.Context, cluster *target.Cluster, objects []managedresource.ManagedResourceStatus) ([]managedresource.ManagedResourceStatus, error) {
	var removed []managedresource.ManagedResourceStatus
	session := j.session()
	for _, object := range objects {
		isServed, err := session.Served.InVersion(ctx, cluster, schema.FromAPIVersionAndKind(object.Resource.APIVersion, object.Resource.Kind))
		if err != nil {
			return nil, err
		}
		if isServed {
			removed = append(removed, object)
		}
	}
	return removed, nil
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
