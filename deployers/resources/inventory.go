// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// The way of an inventory through a job:
//
//	Attempted + Attempt     what the job sets out to do goes into the inventory, before anything is sent
//	Settle                  the inventory is sorted by the cluster that the session is on
//	Unplanned, IsPlanned    what the record lacks because the Target leads elsewhere by now is recorded
//	apply, removal          the work of the job
//	Confirm                 what was attempted and is no longer wanted is looked for
//	LeaveElsewhere          what is on other clusters is uninstalled
//	Scatter                 takes the place of all these before LeaveElsewhere where a deletion cannot open its Target
//	Attempt                 what a failed job did not confirm goes back into the inventory

// Known is what a provider status says about the cluster of a session.
type KnownObjects struct {
	// Recorded are objects that are known to be the owner's.
	Recorded []managedresource.ManagedResourceStatus
	// Attempted are objects without UID that an earlier job set out to apply; see Confirm.
	Attempted []managedresource.ManagedResourceStatus
	// Planned are objects without UID that the job of the session set out to apply; see AttemptBy.
	Planned []managedresource.ManagedResourceStatus
}

// ReleaseRemover uninstalls one Helm release from a cluster. It leaves a release alone that is not the owner's.
type ReleaseRemover func(ctx context.Context, cluster *target.Cluster, release managedresource.ReleaseReference) (Progress, error)

// Attempted returns what a job that wants the desired objects may create beside the recorded ones: references without UID, none for
// objects that are never deleted.
func Attempted(desired []Desired, recorded []managedresource.ManagedResourceStatus) []managedresource.ManagedResourceStatus {
	var attempted []managedresource.ManagedResourceStatus
	for _, d := range desired {
		record := managedresource.ManagedResourceStatus{Policy: d.Policy, Resource: ReferenceTo(d.Object),
			AnnotateBeforeDelete: d.AnnotateBeforeDelete, PatchBeforeDelete: d.PatchBeforeDelete}
		record.Resource.UID = ""
		if !Stays(record) {
			attempted = append(attempted, record)
		}
	}
	return Orphans(attempted, recorded)
}

// Attempt adds to an inventory what a job sets out to put on a cluster. Before the cluster is reached a reference with only the name of
// the Target stands for it. What the inventory has already is not added twice.
func Attempt(inventory *managedresource.Inventory, cluster managedresource.ClusterReference,
	objects []managedresource.ManagedResourceStatus, releases ...managedresource.ReleaseReference) {
	AttemptBy(inventory, "", cluster, objects, releases...)
}

// AttemptBy is Attempt for objects that only one job planned. They stay recorded under the ID of that job until it confirms them, or ends and
// forgets those that the API server refused; see ForgetRefused.
func AttemptBy(inventory *managedresource.Inventory, job string, cluster managedresource.ClusterReference,
	objects []managedresource.ManagedResourceStatus, releases ...managedresource.ReleaseReference) {
	if len(objects) == 0 && len(releases) == 0 {
		return
	}
	at := slices.IndexFunc(inventory.Sites, func(s managedresource.Site) bool { return s.Cluster == cluster && s.Job == job })
	if at < 0 {
		at = len(inventory.Sites)
		inventory.Sites = append(inventory.Sites, managedresource.Site{Cluster: cluster, Job: job})
	}
	site := &inventory.Sites[at]
	site.Resources = Union(site.Resources, objects)
	site.Releases = WithReleases(site.Releases, releases...)
}

// ForgetRefused removes from the inventory with which a job ends what the API server refused to it: that was never created. It reports whether
// there was any.
func ForgetRefused(inventory *managedresource.Inventory, job string) bool {
	before := len(inventory.Sites)
	inventory.Sites = slices.DeleteFunc(inventory.Sites, func(s managedresource.Site) bool {
		return s.Job != "" && s.Job == job && s.Cluster.IsReached()
	})
	return len(inventory.Sites) < before
}

// WithReleases returns a list with the releases that it does not have. The list itself is not changed.
func WithReleases(list []managedresource.ReleaseReference, more ...managedresource.ReleaseReference) []managedresource.ReleaseReference {
	for _, release := range more {
		if !slices.Contains(list, release) {
			list = append(slices.Clip(list), release)
		}
	}
	return list
}

// SameCluster reports whether two references mean the same cluster, as far as they tell. The name of the Target decides where one of them was
// not reached.
func SameCluster(a, b managedresource.ClusterReference) bool {
	switch {
	case !a.IsReached() || !b.IsReached():
		return a.Target == b.Target
	case a.UID != "" && b.UID != "":
		return a.UID == b.UID
	}
	return a.Address == b.Address
}

// IsAt reports whether an inventory has its managed resources at a cluster, as far as it tells; nil tells nothing.
func IsAt(inventory *managedresource.Inventory, cluster managedresource.ClusterReference) bool {
	return inventory == nil || inventory.Cluster == nil || SameCluster(*inventory.Cluster, cluster)
}

// Unplanned returns those of the objects that a record does not have at a cluster. What was planned for a Target without knowing where that
// leads is nowhere.
func Unplanned(inventory managedresource.Inventory, managed []managedresource.ManagedResourceStatus, here managedresource.ClusterReference,
	objects []managedresource.ManagedResourceStatus) []managedresource.ManagedResourceStatus {
	for _, site := range sitesAt(inventory, managed, here) {
		objects = Orphans(objects, site.Resources)
	}
	return objects
}

// IsPlanned reports whether a record has a release at a cluster, as Unplanned does.
func IsPlanned(inventory managedresource.Inventory, here managedresource.ClusterReference, release managedresource.ReleaseReference) bool {
	return slices.ContainsFunc(sitesAt(inventory, nil, here), func(site managedresource.Site) bool {
		return slices.Contains(site.Releases, release)
	})
}

// sitesAt returns what a record certainly has at a cluster.
func sitesAt(inventory managedresource.Inventory, managed []managedresource.ManagedResourceStatus, here managedresource.ClusterReference) []managedresource.Site {
	last := managedresource.Site{Cluster: here, Resources: managed, Releases: inventory.Releases}
	if inventory.Cluster != nil { // else Gardener Landscaper has recorded it, and Settle takes it for here
		last.Cluster = *inventory.Cluster
	}
	sites := append(slices.Clone(inventory.Sites), last)
	return slices.DeleteFunc(sites, func(site managedresource.Site) bool {
		return !site.Cluster.IsReached() || !SameCluster(site.Cluster, here)
	})
}

// Settle finds out which cluster the session is on, makes that the cluster of the inventory, and returns what is known there. When the
// managed resources and the releases of the inventory are on another cluster, Settle moves them to its sites. Sites of the session's
// cluster leave the inventory: their objects become part of what is returned, their releases those of the inventory. The error says that the
// cluster did not answer; the inventory is as before then.
func Settle(ctx context.Context, s *Session, inventory *managedresource.Inventory, managed []managedresource.ManagedResourceStatus) (KnownObjects, error) {
	here, err := LocationOf(ctx, s)
	if err != nil {
		return KnownObjects{}, err
	}
	known := KnownObjects{Recorded: managed}
	settled := managedresource.Inventory{Cluster: &here, Releases: inventory.Releases, DeletionGroups: inventory.DeletionGroups}
	sites := inventory.Sites
	if inventory.Cluster != nil {
		last := managedresource.Site{Cluster: *inventory.Cluster, Resources: managed, Releases: inventory.Releases}
		isHere, err := isAt(ctx, s, here, last)
		if err != nil {
			return KnownObjects{}, err
		}
		if !isHere {
			known.Recorded, settled.Releases = nil, nil
			sites = append([]managedresource.Site{last}, sites...)
		}
	}
	if err := sortSites(ctx, s, sites, &known, &settled); err != nil {
		return KnownObjects{}, err
	}
	*inventory = settled
	return known, nil
}

// Scatter makes everything that an inventory records a site, for a deletion that has no target to begin with. It reports false where nothing
// says on which cluster the managed resources and the releases are.
func Scatter(inventory *managedresource.Inventory, managed []managedresource.ManagedResourceStatus) bool {
	last := managedresource.Site{Resources: slices.DeleteFunc(slices.Clone(managed), Stays), Releases: inventory.Releases}
	if inventory.Cluster == nil {
		return last.IsEmpty()
	}
	if last.Cluster = *inventory.Cluster; !last.IsEmpty() {
		inventory.Sites = append([]managedresource.Site{last}, inventory.Sites...)
	}
	inventory.Cluster, inventory.Releases = nil, nil
	return true
}

// sort adds the sites of the session's cluster to what is known, and keeps the others in the inventory.
func sortSites(ctx context.Context, s *Session, sites []managedresource.Site, known *KnownObjects, settled *managedresource.Inventory) error {
	for _, site := range sites {
		isHere, err := isAt(ctx, s, *settled.Cluster, site)
		if err != nil {
			return err
		}
		if isHere {
			known.add(site.Resources, site.Job != "" && site.Job == s.Job)
			settled.Releases = WithReleases(settled.Releases, site.Releases...)
		} else if site.Resources = slices.DeleteFunc(slices.Clone(site.Resources), Stays); !site.IsEmpty() {
			settled.Sites = append(settled.Sites, site)
		}
	}
	known.Attempted = Orphans(known.Attempted, known.Recorded)
	known.Planned = Orphans(known.Planned, slices.Concat(known.Recorded, known.Attempted))
	return nil
}

// Attempt makes the planned objects attempted ones, but for those that the API server refused.
func (k *KnownObjects) Attempt(refused []managedresource.ManagedResourceStatus) {
	attempted := Orphans(k.Planned, refused)
	k.Attempted = Union(k.Attempted, attempted)
	k.Planned = Orphans(k.Planned, attempted)
}

func (k *KnownObjects) add(found []managedresource.ManagedResourceStatus, planned bool) {
	confirmed, attempted := SplitConfirmed(found)
	k.Recorded = Union(k.Recorded, confirmed)
	if planned {
		k.Planned = Union(k.Planned, attempted)
		return
	}
	k.Attempted = Union(k.Attempted, attempted)
}

// Split separates the records with UID from those without.
func SplitConfirmed(records []managedresource.ManagedResourceStatus) (confirmed, attempted []managedresource.ManagedResourceStatus) {
	for _, record := range records {
		if record.Resource.UID == "" {
			attempted = append(attempted, record)
		} else {
			confirmed = append(confirmed, record)
		}
	}
	return confirmed, attempted
}

// Location returns where the session is.
func LocationOf(ctx context.Context, s *Session) (managedresource.ClusterReference, error) {
	identity, err := s.Cluster.Identity(ctx)
	if err != nil && IsUnauthorized(err) {
		err = protocol.Coded(err, v1alpha1.ErrorUnauthorized)
	}
	return managedresource.ClusterReference{Target: s.Cluster.Name, UID: identity.UID, Address: identity.Address}, err
}

// isAt reports whether a site is on the session's cluster. The UID decides where both are known, else the address. An address may change
// while the cluster stays: then a recorded object that is there with its UID decides. A site that no job has reached is where its Target
// leads to now.
func isAt(ctx context.Context, s *Session, here managedresource.ClusterReference, site managedresource.Site) (bool, error) {
	there := site.Cluster
	switch {
	case !there.IsReached():
		return there.Target == here.Target, nil
	case there.UID != "" && here.UID != "":
		return there.UID == here.UID, nil
	case there.Address == here.Address:
		return true, nil
	}
	confirmed, _ := SplitConfirmed(site.Resources)
	for _, record := range confirmed {
		live, err := s.Served.Get(ctx, s.Cluster, record.Resource)
		if err != nil && !IsGone(err) {
			return false, err
		}
		if err == nil && live.GetUID() == record.Resource.UID {
			return true, nil
		}
	}
	return false, nil
}

// Confirm returns those of the attempted objects that exist on the session's cluster and certainly are the owner's, with their UID.
func Confirm(ctx context.Context, s *Session, attempted []managedresource.ManagedResourceStatus) ([]managedresource.ManagedResourceStatus, error) {
	var confirmed []managedresource.ManagedResourceStatus
	for _, record := range attempted {
		live, err := s.Served.Get(ctx, s.Cluster, record.Resource)
		if IsGone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if s.Owner.Proven(live) {
			record.Resource = Answered(record.Resource, live)
			confirmed = append(confirmed, record)
		}
	}
	return confirmed, nil
}
