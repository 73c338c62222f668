// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// settled is how long after the start what is set up once, beside the caches, is set up too: connections to other clusters, and what depends on them.
const settled = 20 * time.Second

// startupPages is a Runnable of a manager. Once all caches are synced, and again a while later, it gives back the pages of the program's file that the process
// has mapped: the start needed most of them, and nothing afterwards does. They would count as the container's memory until the node runs out of it.
type startupPages struct{}

// Start is called when the caches are synced that every replica has. It returns with ctx.
func (startupPages) Start(ctx context.Context) error {
	for _, wait := range []time.Duration{0, settled} {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		if err := releaseFile(); err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("cannot give back the pages of the program that its start needed", "problem", err.Error())
		}
	}
	<-ctx.Done()
	return nil
}

// NeedLeaderElection returns false: a replica that waits to lead needs no more than the leader.
func (startupPages) NeedLeaderElection() bool { return false }
