// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Program example-deployer is a whole deployer of a third party: it carries out DeployItems of type example.com/robot, each a ServiceAccount on
// a target. It is the pattern for deployers in Go, see README.md beside it.
package main

import (
	"flag"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const version = "v1.0.0"

func main() {
	flag.Parse()
	ctrl.SetLogger(zap.New())
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "example-deployer:", err)
		os.Exit(1)
	}
}

// run serves until the process is told to end. The connection is that of --kubeconfig, of KUBECONFIG, or of the Pod.
func run() error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache:  cache.Options{ByObject: contract.CacheOptions(itemType)},
		// Secrets are read live, each when it is needed: a cache of them would need the right to list all.
		Client:  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}}}},
		Metrics: metricsserver.Options{BindAddress: "0"},
	})
	if err != nil {
		return err
	}
	clients, err := target.New(target.Options{Landscaper: config, UserAgent: "example-deployer"})
	if err != nil {
		return err
	}
	if err := contract.Serve(mgr, deployer{}, contract.Options{Identity: "example-deployer", Version: version, Clients: clients}); err != nil {
		return err
	}
	return mgr.Start(ctrl.SetupSignalHandler())
}
