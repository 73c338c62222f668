// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// syncCheck is how long the check for readiness waits for caches; probes themselves end after a second.
const syncCheck = 500 * time.Millisecond

// addProbes adds the checks behind /healthz, which answers while the process runs, and /readyz, which answers while it can work.
func addProbes(mgr ctrl.Manager) error {
	ready := &readiness{synced: mgr.GetCache().WaitForCacheSync}
	return errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches", ready.check), mgr.Add(ready))
}

// readiness is true from the first time that all caches are synced until the process stops, except while a cache that came later, such as
// those of a new leader, is not synced yet.
type readiness struct {
	synced  func(context.Context) bool
	running atomic.Bool
}

// Start is called when the caches are synced that every replica has.
func (r *readiness) Start(ctx context.Context) error {
	r.running.Store(true)
	defer r.running.Store(false)
	<-ctx.Done()
	return nil
}

// NeedLeaderElection returns false: a replica that waits to lead is ready.
func (r *readiness) NeedLeaderElection() bool { return false }

func (r *readiness) check(request *http.Request) error {
	if !r.running.Load() {
		return errors.New("the process does not work yet or no more")
	}
	ctx, cancel := context.WithTimeout(request.Context(), syncCheck)
	defer cancel()
	if !r.synced(ctx) {
		return fmt.Errorf("caches are not synced within %s", syncCheck)
	}
	return nil
}
