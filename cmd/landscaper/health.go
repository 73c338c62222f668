// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// healthFlags say which Deployments an LsHealthCheck is about.
type healthFlags struct {
	name        string
	deployments []string
	interval    time.Duration
}

func (h *healthFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&h.name, "health-check", "",
		"The LsHealthCheck in the own namespace that shows whether the Deployments of --health-check-deployments run; by default there is none.")
	flags.StringSliceVar(&h.deployments, "health-check-deployments", nil,
		"The Deployments of --health-check, by their names in the own namespace. The first one that does not run is described.")
	flags.DurationVar(&h.interval, "health-check-interval", time.Minute,
		"How long a Deployment may not run before --health-check is Failed, and the time between two updates of its lastUpdateTime.")
}

// check refuses flags that contradict each other.
func (h *healthFlags) check() error {
	switch {
	case (h.name == "") != (len(h.deployments) == 0):
		return errors.New("--health-check and --health-check-deployments belong together; give both, or none")
	case h.name != "" && os.Getenv("RUNTIME_NAMESPACE") == "":
		return errors.New("--health-check: set the environment variable RUNTIME_NAMESPACE to the namespace of the Deployments")
	case h.interval <= 0:
		return errors.New("--health-check-interval: is not greater than zero; give a duration like 1m")
	}
	return nil
}

// setup adds the health check, in the cluster that the process runs in, which may be another than that with the landscaper objects. Where the
// Deployments cannot be listed, it says so: their cache would never be filled, and the whole process would end without a cause.
func (h *healthFlags) setup(ctx context.Context, mgr ctrl.Manager, p *process) error {
	if h.name == "" {
		return nil
	}
	config, err := ownCluster(p)
	if err != nil {
		return fmt.Errorf("--health-check: %w", err)
	}
	namespace := os.Getenv("RUNTIME_NAMESPACE")
	own, err := cluster.New(config, func(options *cluster.Options) {
		options.Scheme = newScheme()
		options.Cache = cache.Options{
			DefaultTransform: protocol.StripManagedFields,
			ByObject:         map[client.Object]cache.ByObject{&appsv1.Deployment{}: {Namespaces: map[string]cache.Config{namespace: {}}}},
		}
	})
	if err != nil {
		return fmt.Errorf("--health-check: connect to the own cluster: %w", err)
	}
	if err := own.GetAPIReader().List(ctx, &appsv1.DeploymentList{}, client.InNamespace(namespace), client.Limit(1)); err != nil {
		return fmt.Errorf("--health-check: the Deployments of namespace %s cannot be listed; bind the ClusterRole landscaper:health-check there: %w",
			namespace, err)
	}
	if err := mgr.Add(own); err != nil {
		return fmt.Errorf("add the own cluster: %w", err)
	}
	if err := h.reconciler(own, namespace, p).SetupWithManager(mgr); err != nil {
		return fmt.Errorf("set the health check up: %w", err)
	}
	return nil
}

// reconciler checks the Deployments of a namespace of the own cluster.
func (h *healthFlags) reconciler(own cluster.Cluster, namespace string, p *process) *notify.HealthCheck {
	return &notify.HealthCheck{
		Cluster: own, Check: client.ObjectKey{Namespace: namespace, Name: h.name}, Deployments: h.deployments, Interval: h.interval,
		Backoff: p.backoff(), Now: time.Now,
	}
}
