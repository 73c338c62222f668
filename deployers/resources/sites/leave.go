// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sites

import (
	"context"
	"errors"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/removal"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// maxDepartures is how often a job tries to uninstall what is on another cluster before it succeeds without that.
const maxDepartures = 6

// Departure counts the tries of one job. The zero value is before the first.
type Departure struct{ tries int }

// errLedElsewhere says that a Target does not lead any more to where it led.
var errLedElsewhere = errors.New("the Target leads to another cluster now")

// LeaveOrWarn is LeaveElsewhere for a job that deploys. What may pass is an error, so that the job tries again, a few times. What lasts is a
// warning: it stays in the inventory, for the next job and for the deletion.
func LeaveOrWarn(ctx context.Context, s *resources.Session, departure *Departure, inventory *managedresource.Inventory,
	groups []managedresource.DeletionGroupDefinition, remove ReleaseRemover) (resources.Progress, string, error) {
	progress, lasting, passing := leaveAll(ctx, s, inventory, groups, remove)
	if passing == nil && lasting == nil {
		return progress, "", nil
	}
	departure.tries++
	if passing != nil && (departure.tries < maxDepartures || ctx.Err() != nil) {
		return progress, "", passing
	}
	return progress, errors.Join(lasting, passing).Error(), nil
}

// isLasting reports whether a person has to act before a cluster can be left: nothing leads there, or what leads there may not do it.
func isLasting(err error) bool {
	var failure *protocol.Failure
	return isAstray(err) || protocol.IsUnrecoverable(err) || errors.As(err, &failure) && failure.Kind == protocol.Stalled
}

// LeaveElsewhere uninstalls what a settled inventory has on other clusters, by the Targets that led to them. Sites leave the inventory when
// nothing is left there. The progress names what is still there on clusters that can be reached. The error explains, for every other site,
// what cannot be uninstalled and why; it is worth another try. Remove uninstalls releases; nil is for deployers that make none.
func LeaveElsewhere(ctx context.Context, s *resources.Session, inventory *managedresource.Inventory,
	groups []managedresource.DeletionGroupDefinition, remove ReleaseRemover) (resources.Progress, error) {
	progress, lasting, passing := leaveAll(ctx, s, inventory, groups, remove)
	return progress, errors.Join(lasting, passing)
}

// leaveAll tells apart what lasts and what may pass.
func leaveAll(ctx context.Context, s *resources.Session, inventory *managedresource.Inventory,
	groups []managedresource.DeletionGroupDefinition, remove ReleaseRemover) (progress resources.Progress, lasting, passing error) {
	var left []managedresource.Site
	var forGood, forNow []error
	for _, site := range inventory.Sites {
		more, err := leave(ctx, s, site, groups, remove)
		switch {
		case err == nil:
		case isLasting(err):
			forGood = append(forGood, cannotLeave(site, err))
		default:
			forNow = append(forNow, cannotLeave(site, err))
		}
		if err != nil || !more.Done() {
			left = append(left, site)
		}
		progress.Add(more)
	}
	inventory.Sites = left
	return progress, fault.Join(forGood), fault.Join(forNow)
}

func cannotLeave(site managedresource.Site, err error) error {
	return fmt.Errorf("cannot uninstall %s from %s: %w; make the Target lead to that cluster again, "+
		"or delete the DeployItem with the annotation %s: \"true\" to leave it there",
		countOf(site), site.Cluster, err, v1alpha1.DeleteWithoutUninstallAnnotation)
}

func countOf(site managedresource.Site) string {
	if len(site.Releases) == 0 {
		return fmt.Sprintf("%d objects", len(site.Resources))
	}
	return fmt.Sprintf("%d releases and %d objects", len(site.Releases), len(site.Resources))
}

// leave uninstalls what is at one site, by the Target that led there or, where that leads there no more, by others of the namespace that do.
func leave(ctx context.Context, s *resources.Session, site managedresource.Site, groups []managedresource.DeletionGroupDefinition,
	remove ReleaseRemover) (resources.Progress, error) {
	cluster, err := s.On(ctx, &site.Cluster.Target)
	var progress resources.Progress
	elsewhere := false
	if err == nil {
		progress, err = leaveBy(ctx, s, cluster, site, groups, remove)
		elsewhere = cluster.Address() != site.Cluster.Address
	}
	if err == nil || !isAstray(err) && !elsewhere || site.Cluster.Address == "" || s.Leading == nil {
		return progress, err
	}
	others, problem := s.Leading(ctx, site.Cluster.Address)
	if problem != nil {
		return resources.Progress{}, problem
	}
	for _, other := range others {
		more, failed := leaveBy(ctx, s, other, site, groups, remove)
		if failed == nil || !isLasting(failed) {
			return more, failed
		}
		if !isAstray(failed) {
			err = fmt.Errorf("%w (Target %s leads there, but: %w)", err, other.Name, failed)
		}
	}
	return resources.Progress{}, err
}

// isAstray reports whether a Target leads to nothing that a site could be on.
func isAstray(err error) bool {
	var problem *target.Error
	return errors.Is(err, errLedElsewhere) || errors.As(err, &problem) && problem.Reason != target.ReasonTokenRequest
}

// leaveBy uninstalls what is at one site if a cluster is that of the site.
func leaveBy(ctx context.Context, s *resources.Session, cluster *target.Cluster, site managedresource.Site,
	groups []managedresource.DeletionGroupDefinition, remove ReleaseRemover) (resources.Progress, error) {
	there := &resources.Session{Cluster: cluster, Targets: s.Targets, Owner: s.Owner, Checkpoint: s.Checkpoint}
	now, err := Location(ctx, there)
	if err != nil {
		return resources.Progress{}, err
	}
	isThere, err := isAt(ctx, there, now, site)
	if err != nil {
		return resources.Progress{}, err
	}
	if !isThere {
		return resources.Progress{}, errLedElsewhere
	}
	return uninstall(ctx, there, site, groups, remove)
}

// uninstall removes releases and objects from the session's cluster.
func uninstall(ctx context.Context, s *resources.Session, site managedresource.Site, groups []managedresource.DeletionGroupDefinition,
	remove ReleaseRemover) (resources.Progress, error) {
	var progress resources.Progress
	for _, release := range site.Releases {
		if remove == nil {
			return progress, fmt.Errorf("release %s/%s is not of this deployer", release.Namespace, release.Name)
		}
		more, err := remove(ctx, s.Cluster, release)
		if err != nil {
			return progress, err
		}
		progress.Add(more)
	}
	confirmed, attempted := Split(site.Resources)
	found, err := Confirm(ctx, s, attempted)
	if err != nil {
		return progress, err
	}
	more, err := removal.Delete(ctx, s, resources.Union(confirmed, found), groups)
	progress.Add(more)
	return progress, err
}
