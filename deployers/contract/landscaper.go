// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"

	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// LandscaperCluster returns the connection of a manager as a cluster, for watches on single objects there.
func LandscaperCluster(mgr ctrl.Manager) (*target.Cluster, error) {
	watcher, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	return &target.Cluster{Config: mgr.GetConfig(), Client: mgr.GetClient(), Dynamic: watcher, Mapper: mgr.GetRESTMapper()}, nil
}
