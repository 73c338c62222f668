// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"iter"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
)

// Orphans returns the known resources that are not among the current ones: neither their UID nor their group, kind, namespace
// and name is.
func Orphans(known, current []managedresource.ManagedResourceStatus) []managedresource.ManagedResourceStatus {
	names := Identities(current)
	uids := map[string]bool{}
	for _, c := range current {
		uids[string(c.Resource.UID)] = c.Resource.UID != ""
	}
	return slices.DeleteFunc(slices.Clone(known), func(k managedresource.ManagedResourceStatus) bool {
		_, named := names[objects.IdentityOf(k.Resource)]
		return named || uids[string(k.Resource.UID)]
	})
}

// Union returns the first resources and those of the second that are not among them.
func Union(first, second []managedresource.ManagedResourceStatus) []managedresource.ManagedResourceStatus {
	return append(slices.Clone(first), Orphans(second, first)...)
}

// Distinct returns resources without those whose identity one before them has.
func Distinct(all iter.Seq[managedresource.ManagedResourceStatus]) []managedresource.ManagedResourceStatus {
	known := map[objects.Identity]bool{}
	var distinct []managedresource.ManagedResourceStatus
	for one := range all {
		if identity := objects.IdentityOf(one.Resource); !known[identity] {
			known[identity], distinct = true, append(distinct, one)
		}
	}
	return distinct
}

// Stays reports whether a policy says that an object is never deleted.
func Stays(m managedresource.ManagedResourceStatus) bool {
	return m.Policy == managedresource.KeepPolicy || m.Policy == managedresource.IgnorePolicy
}

// Identities returns records by the identities of their objects.
func Identities(managed []managedresource.ManagedResourceStatus) map[objects.Identity]managedresource.ManagedResourceStatus {
	set := make(map[objects.Identity]managedresource.ManagedResourceStatus, len(managed))
	for _, m := range managed {
		set[objects.IdentityOf(m.Resource)] = m
	}
	return set
}

// References returns the objects that records name, without those that are to be ignored.
func References(records []managedresource.ManagedResourceStatus) []managedresource.ResourceReference {
	var refs []managedresource.ResourceReference
	for _, record := range records {
		if record.Policy != managedresource.IgnorePolicy {
			refs = append(refs, record.Resource)
		}
	}
	return slices.Clip(refs)
}
