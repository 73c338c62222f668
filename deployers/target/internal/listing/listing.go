// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package listing asks clusters for all that they serve.
package listing

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/guard"
)

const (
	// MostVersions is how many versions of API groups a cluster is asked for one by one; API servers with a thousand custom kinds have some 400.
	MostVersions = 2000
	// VersionsAtOnce is how many of them at a time.
	VersionsAtOnce = 8
)

// Client is a client of the discovery that asks for all that a cluster serves in one answer, and for one version of a group after the other where that is too
// large or the API server is older than Kubernetes 1.27. The library sends a request for each version at once then, however many a server names.
type Client struct{ *discovery.DiscoveryClient }

var _ discovery.AggregatedDiscoveryInterface = &Client{}

// GroupsAndMaybeResources returns all groups, all kinds, and why versions have none.
func (c *Client) GroupsAndMaybeResources() (
	*metav1.APIGroupList, map[schema.GroupVersion]*metav1.APIResourceList, map[schema.GroupVersion]error, error,
) {
	groups, resources, failed, err := c.DiscoveryClient.GroupsAndMaybeResources()
	if errors.Is(err, guard.ErrLarge) {
		groups, err = c.ServerGroups()
	}
	if err != nil || resources != nil {
		return groups, resources, failed, err
	}
	if resources, failed, err = c.eachVersion(groups); err != nil {
		return nil, nil, nil, err
	}
	return groups, resources, failed, nil
}

// ServerGroups returns the groups, without a request for their kinds.
func (c *Client) ServerGroups() (*metav1.APIGroupList, error) { return c.WithLegacy().ServerGroups() }

// ServerGroupsAndResources returns all groups and all kinds.
func (c *Client) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return discovery.ServerGroupsAndResources(c)
}

func (c *Client) eachVersion(groups *metav1.APIGroupList) (map[schema.GroupVersion]*metav1.APIResourceList, map[schema.GroupVersion]error, error) {
	var versions []schema.GroupVersion
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			versions = append(versions, schema.GroupVersion{Group: group.Name, Version: version.Version})
		}
	}
	if len(versions) > MostVersions {
		return nil, nil, fmt.Errorf("%w: it names %d versions of API groups, and %d are the most", guard.ErrLarge, len(versions), MostVersions)
	}
	resources, failed := map[schema.GroupVersion]*metav1.APIResourceList{}, map[schema.GroupVersion]error{}
	var mu sync.Mutex
	var all errgroup.Group
	all.SetLimit(VersionsAtOnce)
	for _, version := range versions {
		all.Go(func() error {
			list, err := c.ServerResourcesForGroupVersion(version.String())
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed[version] = err
			} else {
				resources[version] = list
			}
			return nil
		})
	}
	_ = all.Wait() // failed has them
	return resources, failed, nil
}
