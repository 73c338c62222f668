// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package listing asks clusters for all that they serve.
package listing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"

	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/guard"
)

const (
	// MostVersions is how many versions of API groups a cluster is asked for one by one; API servers with a thousand custom kinds have some 400.
	MostVersions = 2000
	// VersionsAtOnce is how many of them at a time.
	VersionsAtOnce = 8
	// MostKinds is how many kinds they may have together, subresources included, and mostFailed for how many of them the server may answer with an error.
	MostKinds, mostFailed = 50_000, 200
)

// Client is a discovery client that asks for all that a cluster serves in one answer (aggregated discovery). Where that is too large, or the API server is older
// than Kubernetes 1.27, it asks for one version of a group after another, a few at a time; client-go would ask for all of them at once.
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

// canBeServed reports whether an API server can serve a version of a group with these names, which are part of a path.
func canBeServed(version schema.GroupVersion) bool {
	return len(validation.IsDNS1035Label(version.Version)) == 0 && (version.Group == "" || len(validation.IsDNS1123Subdomain(version.Group)) == 0)
}

// ServerResourcesForGroupVersion returns the kinds of a version of a group.
func (c *Client) ServerResourcesForGroupVersion(version string) (*metav1.APIResourceList, error) {
	parsed, err := schema.ParseGroupVersion(version)
	if err != nil || !canBeServed(parsed) {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "versions of API groups"}, version)
	}
	return c.DiscoveryClient.ServerResourcesForGroupVersion(version)
}

// ServerGroups returns the groups, without a request for their kinds.
func (c *Client) ServerGroups() (*metav1.APIGroupList, error) { return c.WithLegacy().ServerGroups() }

// ServerGroupsAndResources returns all groups and all kinds.
func (c *Client) ServerGroupsAndResources() ([]*metav1.APIGroup, []*metav1.APIResourceList, error) {
	return discovery.ServerGroupsAndResources(c)
}

// eachVersion asks for the kinds of each version of some groups. It returns the versions that the API server refuses or cannot serve as failed. Any other error
// fails the whole listing, so that kinds that were not read are not taken for absent.
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
	kinds := 0
	all, ctx := errgroup.WithContext(context.Background())
	all.SetLimit(VersionsAtOnce)
	for _, version := range versions {
		all.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			list, err := c.ServerResourcesForGroupVersion(version.String())
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				resources[version] = list
				kinds += len(list.APIResources)
			case isRefused(err):
				failed[version] = err
			default:
				return fmt.Errorf("ask for the kinds of %s: %w", version, err)
			}
			if kinds > MostKinds || len(failed) > mostFailed {
				return fmt.Errorf("%w: more than %d kinds, or more than %d versions of API groups without any", guard.ErrLarge, MostKinds, mostFailed)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return nil, nil, err
	}
	if len(resources) == 0 && len(failed) > 0 { // client-go would ask for all of them once more, at once
		return nil, nil, fmt.Errorf("none of the %d versions of API groups that the server names is served: %w", len(failed), failed[versions[0]])
	}
	return resources, failed, nil
}

// isRefused reports whether an API server has answered that it does not serve a version: to this user, any more, or now.
func isRefused(err error) bool {
	answer, isAnswer := errors.AsType[*apierrors.StatusError](err)
	if !isAnswer {
		return false
	}
	code := answer.ErrStatus.Code
	return code == http.StatusForbidden || code == http.StatusNotFound || code >= http.StatusInternalServerError
}
