// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/google/uuid"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flux-landscaper/flux-landscaper/agent"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// agentWorkers is how many DeployItems the helm deployer of the agent works on at a time.
const agentWorkers = 4

// agentFlags are the flags of the agent.
type agentFlags struct {
	process
	// file is the configuration file.
	file     string
	instance string
	// bootstrap is a kubeconfig with a bootstrap token.
	bootstrap string
	helm      helmFlags
	// publicOnly leaves the own cluster out.
	publicOnly bool
}

// agentOf returns the sub-command and what its flags set.
func agentOf() (*cobra.Command, *agentFlags) {
	flags := &agentFlags{process: process{name: "agent"}}
	command := serving("agent", "Join a fenced cluster: register its Environment and install its deployers", flags.run)
	flags.bindServerFlags(command.Flags())
	command.Flags().StringVar(&flags.eventsAddr, "events-addr", "", "The address of the events receiver.")
	command.Flags().StringVar(&flags.file, "config", "", "The configuration file, as YAML or JSON of kind AgentConfiguration. Required.")
	command.Flags().StringVar(&flags.instance, "instance", os.Getenv("POD_NAME"),
		"What tells agents of one Environment apart, and stays the same when the process restarts; by default POD_NAME.")
	command.Flags().StringVar(&flags.bootstrap, "bootstrap-kubeconfig", "",
		"A kubeconfig of the landscaper cluster with a bootstrap token, which the agent exchanges for a credential of its own; used while the file of --landscaper-kubeconfig does not exist.")
	flags.helm.artifacts.bindFlags(command.Flags())
	flags.helm.registries.bindFlags(command.Flags())
	flags.helm.children.bindFlags(command.Flags(), helm.ChildMemory)
	bindPublicOnly(command.Flags(), &flags.publicOnly)
	return command, flags
}

func (f *agentFlags) run(ctx context.Context) error {
	logger.SetLogger(logger.NewLogger(f.logging))
	config, err := f.configuration()
	if err != nil {
		return err
	}
	link, err := f.openLink()
	if err != nil {
		return err
	}
	mgr, err := f.hostManager(config)
	if err != nil {
		return err
	}
	recorder, err := f.recorder(mgr)
	if err != nil {
		return fmt.Errorf("set the recorder of events up: %w", err)
	}
	joined, err := agent.New(mgr, agent.Options{
		Configuration: config, Link: link, Host: mgr.GetConfig(), Instance: f.ownInstance(), Version: version, Scheme: mgr.GetScheme(),
		Cache: contract.CacheOptions(v1alpha1.HelmDeployItemType), GracefulTimeout: f.gracefulTimeout,
		Deploy:   func(centre ctrl.Manager) (func(), error) { return f.deploy(centre, mgr, config) },
		Recorder: recorder, Subject: subject(config), Registry: ctrlmetrics.Registry,
	})
	if err != nil {
		return fmt.Errorf("set the agent up: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("registered", joined.Ready),
		mgr.Add(startupPages{})); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// openLink opens the way to the landscaper cluster.
func (f *agentFlags) openLink() (*agent.Link, error) {
	if f.kubeconfig == "" && f.bootstrap == "" {
		return nil, errors.New("--landscaper-kubeconfig: is empty; give the kubeconfig of the landscaper cluster, or --bootstrap-kubeconfig")
	}
	_, err := os.Stat(f.kubeconfig)
	if f.bootstrap != "" && errors.Is(err, os.ErrNotExist) {
		link, err := agent.OpenBootstrapLink(f.bootstrap)
		if err != nil {
			return nil, fmt.Errorf("--bootstrap-kubeconfig: %w", err)
		}
		return link, nil
	}
	link, err := agent.OpenLink(f.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--landscaper-kubeconfig: %w", err)
	}
	return link, nil
}

// configuration reads the configuration file.
func (f *agentFlags) configuration() (*agent.Configuration, error) {
	if f.file == "" {
		return nil, errors.New("--config: is empty; give the configuration file of the agent")
	}
	raw, err := readFile(f.file, maxConfiguration)
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	config, unknown, err := agent.ReadConfiguration(raw)
	if err != nil {
		return nil, fmt.Errorf("--config %s: %w", f.file, err)
	}
	for _, field := range unknown {
		ctrl.Log.Info("a setting of the configuration file has no effect", "file", f.file, "warning", field.String())
	}
	if config.OCI != nil {
		f.helm.registries.configFiles = append(f.helm.registries.configFiles, config.OCI.ConfigFiles...)
	}
	return config, nil
}

// hostManager manages the own cluster.
func (f *agentFlags) hostManager(config *agent.Configuration) (ctrl.Manager, error) {
	own, err := ownCluster(&f.process)
	if err != nil {
		return nil, err
	}
	options := f.managerOptions()
	options.LeaderElection, options.Controller.MaxConcurrentReconciles = false, 1
	options.Cache.ByObject, options.Cache.DefaultNamespaces = agent.CacheOptions(config), nil
	target.CountByHost(own)
	mgr, err := ctrl.NewManager(own, options)
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	return mgr, nil
}

// ownInstance is different for each process that does not say what it is.
func (f *agentFlags) ownInstance() string {
	name, _ := os.Hostname()
	return cmp.Or(f.instance, name+"-"+uuid.NewString())
}

// subject is what events in the own cluster are about: the own Pod where it is known, else the ServiceAccount of the deployers.
func subject(config *agent.Configuration) client.Object {
	if name := os.Getenv("POD_NAME"); name != "" {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: os.Getenv("RUNTIME_NAMESPACE"), Name: name}}
	}
	return config.Account()
}

// contractOptions is what the flags and the configuration say about the work on DeployItems.
func (f *agentFlags) contractOptions(config *agent.Configuration) contract.Options {
	return contract.Options{
		Identity: config.DeployerIdentity(), Version: version, TargetSelectors: config.DeployerSelectors(), TargetsOnly: true, Concurrency: agentWorkers,
		MaxTimeout: maxItemTimeout,
	}
}

// deploy adds the helm deployer to a manager of the landscaper cluster. Targets lead to Secrets of the own cluster only.
func (f *agentFlags) deploy(centre, own ctrl.Manager, config *agent.Configuration) (func(), error) {
	flags := &deployerFlags{process: f.process, itemType: v1alpha1.HelmDeployItemType}
	flags.name, flags.acl.NoCrossNamespaceRefs = "agent-helm-deployer", true
	flags.targets.PublicOnly = f.publicOnly
	deployer, cleanUp, err := f.helm.build(centre, flags)
	if err != nil {
		return nil, err
	}
	options := f.contractOptions(config)
	options.Clients, err = target.New(target.Options{
		Host: &target.Host{Environment: config.Name, Namespace: config.Namespace, Secrets: own.GetAPIReader()},
	})
	if err == nil {
		options.Recorder, err = flags.recorder(centre)
	}
	if err == nil {
		options.Metrics = measure(centre)
		err = contract.Serve(centre, deployer, options)
	}
	if err != nil {
		cleanUp()
		return nil, fmt.Errorf("set the helm deployer up: %w", err)
	}
	return cleanUp, nil
}
