// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// uninstaller removes releases of an item. It leaves those of others alone.
type uninstaller struct {
	engine *engine.Engine
	record *record
}

// retire implements sites.ReleaseRemover.
func (u *uninstaller) retire(ctx context.Context, cluster *target.Cluster, release managedresource.ReleaseReference) (resources.Progress, error) {
	return resources.Progress{}, helmProblem(u.uninstall(ctx, cluster, release, u.flags()))
}

// isOnlyFound reports whether nothing but the labels of its records says that a release is the item's. Whoever may write Secrets in some namespace of
// the target can write such records, and may not have the rights with which the deployer uninstalls them.
func (u *uninstaller) isOnlyFound(release managedresource.ReleaseReference) bool {
	return contract.HasLostRecord(u.record.item.DeployItem) && release != releaseOf(u.record.config)
}

// uninstall removes a release of the item and what failed attempts on it left; the latter first, because the history says what that is. A
// release of others stays.
func (u *uninstaller) uninstall(ctx context.Context, cluster *target.Cluster, release managedresource.ReleaseReference, flags engine.Flags) error {
	flags.OnlyMarked = u.isOnlyFound(release)
	history, err := u.engine.History(ctx, cluster, release.Namespace, release.Name)
	if err != nil {
		return err
	}
	if isOurs, err := u.mayRemove(history); !isOurs || err != nil {
		return err
	}
	leftovers, err := u.leftoversOf(ctx, cluster, history)
	if err != nil {
		return err
	}
	if err := removeOwned(ctx, u.record.session(), cluster, release, leftovers); err != nil {
		return err
	}
	if len(history) == 0 {
		return nil
	}
	if err := u.record.item.Checkpoint("helm deployer: before deleting release"); err != nil {
		return err
	}
	return u.engine.Uninstall(ctx, cluster, release.Namespace, release.Name, flags)
}

// mayRemove reports whether a release with this history is to be removed, and not one of others. It is an error, which passes, while a person
// works on it: what that operation still puts on the target would stay.
func (u *uninstaller) mayRemove(history []*engine.Release) (bool, error) {
	if len(history) == 0 {
		return true, nil
	}
	last := history[len(history)-1]
	switch {
	case !u.isOwn(last):
		return false, nil
	case isPersonAtWork(last, time.Now()):
		return false, busy(last)
	}
	return true, nil
}

// leftoversOf returns what attempts on a release set out to apply and Helm does not uninstall: it does so with what the last revision has, in the
// versions that the target serves.
func (u *uninstaller) leftoversOf(ctx context.Context, cluster *target.Cluster, history []*engine.Release) ([]managedresource.ManagedResourceStatus, error) {
	attempted, err := locate(ctx, cluster, resources.Union(u.record.known.Attempted, attemptedIn(history, isAny)))
	if err != nil || len(history) == 0 {
		return attempted, err
	}
	last, err := objectsOf(history[len(history)-1])
	if err != nil {
		return nil, err
	}
	last, err = locate(ctx, cluster, last)
	if err != nil {
		return nil, err
	}
	removed, err := u.removedBy(ctx, cluster, last)
	return resources.Orphans(attempted, removed), err
}

// removedBy returns the objects that Helm deletes. In a version that the target serves no more it finds none, also where it still knows that version.
func (u *uninstaller) removedBy(ctx context.Context, cluster *target.Cluster, objects []managedresource.ManagedResourceStatus) ([]managedresource.ManagedResourceStatus, error) {
	var removed []managedresource.ManagedResourceStatus
	session := u.record.session()
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

// flags returns the settings of uninstalls; malformed ones count as unset, because nobody may be able to correct them any more.
func (u *uninstaller) flags() engine.Flags {
	settings, err := settingsIn(u.record.item, u.record.config, uninstallSettings)
	if err != nil {
		return engine.Flags{}
	}
	return flagsOf(settings)
}

// isOwn reports whether a release belongs to the item. One that no DeployItem made does if the status was written by Gardener Landscaper, which
// labels no releases, and no job has upgraded it since.
func (u *uninstaller) isOwn(last *engine.Release) bool {
	if last.Labels[ownerLabel] == "" {
		recorded := u.record.status.Release
		return recorded != nil && recorded.Revision == 0 && recorded.Name == last.Name && recorded.Namespace == last.Namespace
	}
	return !isOthers(last, itemLabels(u.record.item.DeployItem))
}
