// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/agent"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// environmentFlags say that a deployer runs in the cluster of an Environment.
type environmentFlags struct {
	name      string
	namespace string
}

func (e *environmentFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&e.name, "environment", "",
		"The Environment whose cluster the deployer runs in. Its Targets may refer to Secrets of that cluster by config.kubeconfig.secretRef; DeployItems without Target "+
			"are left to others, and without --target-selector those whose Target is not annotated with its name.")
	flags.StringVar(&e.namespace, "environment-secrets-namespace", os.Getenv("RUNTIME_NAMESPACE"),
		"The namespace of the Secrets that Targets of --environment may refer to; by default RUNTIME_NAMESPACE.")
}

// selectors select what belongs to the environment, but for its own host Target, which is for the deployer of its agent.
func (e *environmentFlags) selectors() []v1alpha1.TargetSelector {
	return []v1alpha1.TargetSelector{{Annotations: []v1alpha1.Requirement{
		{Key: v1alpha1.EnvironmentAnnotation, Operator: "=", Values: []string{e.name}},
		{Key: v1alpha1.DeployerOnlyAnnotation, Operator: "!"},
	}}}
}

// host connects to the own cluster for its Secrets; nil without an environment.
func (e *environmentFlags) host(p *process) (*target.Host, error) {
	switch {
	case e.name == "":
		return nil, nil
	case e.namespace == "":
		return nil, errors.New("--environment-secrets-namespace: is empty; name the namespace of the Secrets, or set RUNTIME_NAMESPACE")
	}
	config, err := ownCluster(p)
	if err != nil {
		return nil, fmt.Errorf("--environment: %w", err)
	}
	direct, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, fmt.Errorf("--environment: connect to the own cluster: %w", err)
	}
	return &target.Host{Environment: e.name, Namespace: e.namespace, Secrets: direct}, nil
}

// join makes the way to the landscaper cluster one that survives partitions and new credentials, where it leads out of the cluster of an
// environment. It ends with ctx.
func (e *environmentFlags) join(ctx context.Context, p *process) error {
	if e.name == "" || p.kubeconfig == "" {
		return nil
	}
	link, err := agent.OpenLink(p.kubeconfig)
	if err != nil {
		return fmt.Errorf("--landscaper-kubeconfig: %w", err)
	}
	p.link = link
	go func() {
		if err := link.Keep(ctx); err != nil {
			ctrl.Log.Error(err, "unable to keep the way to the landscaper cluster")
		}
	}()
	return nil
}

// ownCluster is the connection to the cluster that the process runs in, which may be another one than that with the landscaper objects.
func ownCluster(p *process) (*rest.Config, error) {
	config, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("the own cluster is not known; run in a cluster or set KUBECONFIG: %w", err)
	}
	config.QPS, config.Burst = p.client.QPS, p.client.Burst
	return config, nil
}
