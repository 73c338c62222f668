// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource

import "k8s.io/apimachinery/pkg/types"

// Inventory is the part of a provider status that says where the objects of a DeployItem are, and what is where they no longer
// should be. Deployers uninstall by it what an earlier Target, name, namespace or mode of the DeployItem left behind. It is an
// addition to the API of Gardener Landscaper; statuses of other implementations have none.
type Inventory struct {
	// cluster is where the managed resources of the provider status and releases are. It is absent until a job has reached a target.
	Cluster *ClusterReference `json:"cluster,omitempty"`
	// releases are the Helm releases that jobs made on cluster.
	Releases []ReleaseReference `json:"releases,omitempty"`
	// deletionGroups are those of the last valid configuration. A deletion uses them when those of the configuration are broken.
	DeletionGroups []DeletionGroupDefinition `json:"deletionGroups,omitempty"`
	// sites are what jobs set out to put somewhere without having confirmed it, and what they left on other clusters.
	Sites []Site `json:"sites,omitempty"`
}

// Site is one cluster together with what jobs of a DeployItem put there or set out to put there.
type Site struct {
	// cluster says where.
	Cluster ClusterReference `json:"cluster"`
	// job is the ID of the job that set out to put the resources there and has not confirmed them: it runs, it was refused, or somebody else
	// ended it. Else empty.
	Job string `json:"job,omitempty"`
	// resources are objects. One without uid was attempted and not confirmed: it is deleted only when it proves to be the DeployItem's.
	Resources []ManagedResourceStatus `json:"resources,omitempty"`
	// releases are Helm releases.
	Releases []ReleaseReference `json:"releases,omitempty"`
}

// ClusterReference identifies a cluster across changes of the Target that leads to it.
type ClusterReference struct {
	// target is the name of the Target, in the namespace of the DeployItem.
	Target string `json:"target"`
	// uid of the namespace kube-system of the cluster. It is empty where no job has reached the cluster yet, and where the
	// credentials may not read that namespace.
	UID types.UID `json:"uid,omitempty"`
	// address is a digest of server and certificate authority; empty where no job has reached the cluster yet.
	Address string `json:"address,omitempty"`
}

// ReleaseReference names one Helm release.
type ReleaseReference struct {
	// name of the release.
	Name string `json:"name"`
	// namespace of the release.
	Namespace string `json:"namespace"`
}

// IsReached reports whether a job has reached the cluster.
func (c ClusterReference) IsReached() bool { return c.UID != "" || c.Address != "" }

// String returns the cluster for messages.
func (c ClusterReference) String() string {
	switch {
	case c.UID != "":
		return "cluster " + string(c.UID) + " of Target " + c.Target
	case c.Address != "":
		return "cluster " + c.Address + " of Target " + c.Target
	}
	return "the cluster of Target " + c.Target
}

// IsEmpty reports whether nothing is recorded at a site.
func (s Site) IsEmpty() bool { return len(s.Resources) == 0 && len(s.Releases) == 0 }
