// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"context"
	"net"

	"golang.org/x/sync/errgroup"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// startControllers installs CRDs and objects and starts the controllers of the options, side by side. The garbage collector learns the
// kinds of the cluster at its start and then only every 30 seconds, so it starts after the CRDs are there.
func (c *Cluster) startControllers(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := c.installContent(ctx); err != nil || !c.options.ControllerManager {
			return err
		}
		return c.startControllerManager(ctx)
	})
	if c.options.Node {
		group.Go(func() error { return c.startNode(ctx) })
	}
	if c.options.Flux {
		group.Go(func() error { return fluxControllers{c}.start(ctx) })
	}
	return group.Wait()
}

// startControllerManager starts the controllers that collect garbage, empty deleted namespaces, make the tokens of service
// accounts, roll out Deployments and watch over the node.
func (c *Cluster) startControllerManager(ctx context.Context) error {
	kubeconfig, err := c.userKubeconfig(string(binaries.ControllerManager))
	if err != nil {
		return err
	}
	return c.serve(ctx, service{
		component: binaries.ControllerManager,
		ports:     1,
		args: func(addresses []string) ([]string, error) {
			host, port, err := net.SplitHostPort(addresses[0])
			return append([]string{
				"--kubeconfig=" + kubeconfig,
				"--service-account-private-key-file=sa.key",
				"--root-ca-file=ca.crt",
				"--leader-elect=false",
				"--bind-address=" + host,
				"--secure-port=" + port,
				"--tls-cert-file=tls.crt",
				"--tls-private-key-file=tls.key",
				"--kube-api-qps=1000",
				"--kube-api-burst=2000",
				"--concurrent-namespace-syncs=50",
			}, c.options.ControllerManagerArgs...), err
		},
		ready: func(addresses []string) probe { return answers(c.http, "https://"+addresses[0]+"/healthz") },
	})
}

// startScheduler starts the program that gives Pods to the node.
func (c *Cluster) startScheduler(ctx context.Context) error {
	kubeconfig, err := c.userKubeconfig(string(binaries.Scheduler))
	if err != nil {
		return err
	}
	return c.serve(ctx, service{
		component: binaries.Scheduler,
		ports:     1,
		args: func(addresses []string) ([]string, error) {
			host, port, err := net.SplitHostPort(addresses[0])
			return []string{
				"--kubeconfig=" + kubeconfig,
				"--leader-elect=false",
				"--bind-address=" + host,
				"--secure-port=" + port,
				"--tls-cert-file=tls.crt",
				"--tls-private-key-file=tls.key",
			}, err
		},
		ready: func(addresses []string) probe { return answers(c.http, "https://"+addresses[0]+"/healthz") },
	})
}
