// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/deployers/manifest"
	"github.com/flux-landscaper/flux-landscaper/deployers/mock"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// deployerFlags are the flags of one deployer.
type deployerFlags struct {
	process
	itemType string
	identity string
	// insecureTLS accepts Targets that skip the verification of the server's certificate.
	insecureTLS bool
}

// builder makes a deployer for a manager. The function that it returns is called when the process ends.
type builder func(mgr ctrl.Manager, flags *deployerFlags) (contract.Deployer, func(), error)

func deployerCommand() *cobra.Command {
	command := &cobra.Command{Use: "deployer", Short: "Carry out DeployItems of one type"}
	command.AddCommand(manifestDeployer(), mockDeployer(), helmDeployer())
	return command
}

func manifestDeployer() *cobra.Command {
	command, _ := deployerOf("manifest", v1alpha1.ManifestDeployItemType, "Apply Kubernetes manifests",
		func(ctrl.Manager, *deployerFlags) (contract.Deployer, func(), error) {
			return manifest.New(manifest.Options{}), func() {}, nil
		})
	return command
}

func mockDeployer() *cobra.Command {
	command, _ := deployerOf("mock", v1alpha1.MockDeployItemType, "Pretend, for tests",
		func(ctrl.Manager, *deployerFlags) (contract.Deployer, func(), error) {
			return mock.Deployer{}, func() {}, nil
		})
	return command
}

// helmFlags are the flags of the helm deployer alone.
type helmFlags struct {
	artifacts         artifactFlags
	registries        registryFlags
	identities        identityFlags
	driver            string
	localRoot         string
	noPrivateNetworks bool
}

func helmDeployer() *cobra.Command {
	own := &helmFlags{}
	command, flags := deployerOf("helm", v1alpha1.HelmDeployItemType, "Install Helm charts", own.build)
	own.artifacts.bindFlags(flags)
	own.registries.bindFlags(flags)
	own.identities.bindFlags(flags)
	flags.StringVar(&own.driver, "helm-driver", os.Getenv("HELM_DRIVER"),
		"Where Helm keeps releases: secret, configmap or memory; by default HELM_DRIVER, else secret.")
	flags.StringVar(&own.localRoot, "local-repository-dir", "",
		"The directory below which component repositories of types local, CommonTransportFormat and ComponentArchive lie; empty refuses them.")
	flags.BoolVar(&own.noPrivateNetworks, "no-private-networks", false,
		"Refuse to download charts over HTTP from addresses that are not public.")
	return command
}

func (h *helmFlags) build(mgr ctrl.Manager, flags *deployerFlags) (contract.Deployer, func(), error) {
	landscaper, err := landscaperCluster(mgr)
	if err != nil {
		return nil, nil, err
	}
	identities, err := h.identities.open(mgr)
	if err != nil {
		return nil, nil, err
	}
	registries, err := h.registries.open()
	if err != nil {
		return nil, nil, err
	}
	store, cleanUp, err := h.artifacts.open()
	if err != nil {
		_ = registries.Close()
		return nil, nil, err
	}
	deployer, err := helm.New(helm.Options{
		Driver: h.driver, Registries: registries, Sources: mgr.GetAPIReader(), Artifacts: store, Live: mgr.GetAPIReader(),
		Identity:     identities.Find,
		Landscaper:   landscaper,
		SourcePolicy: flux.Policy{NoCrossNamespaceRefs: flags.acl.NoCrossNamespaceRefs},
		LocalRoot:    h.localRoot, NoPrivateNetworks: h.noPrivateNetworks,
	})
	return deployer, func() { cleanUp(); _ = registries.Close() }, err
}

// landscaperCluster is the connection of the manager, for watches on single objects.
func landscaperCluster(mgr ctrl.Manager) (*target.Cluster, error) {
	watcher, err := dynamic.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	return &target.Cluster{Config: mgr.GetConfig(), Client: mgr.GetClient(), Dynamic: watcher, Mapper: mgr.GetRESTMapper()}, nil
}

// deployerOf returns the sub-command of one deployer with the flags that all deployers have.
func deployerOf(name, itemType, short string, build builder) (*cobra.Command, *pflag.FlagSet) {
	flags := &deployerFlags{process: process{name: name + "-deployer"}, itemType: itemType}
	command := &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return flags.run(cmd.Context(), build) },
	}
	flags.bindFlags(command.Flags(), 16)
	command.Flags().StringVar(&flags.identity, "identity", flags.name,
		"The identity written to the status of DeployItems; of several deployers of one type each needs its own, and keeps it.")
	command.Flags().BoolVar(&flags.insecureTLS, "insecure-kubeconfig-tls", false,
		"Accept Targets that skip the verification of the server's certificate.")
	return command, command.Flags()
}

func (f *deployerFlags) run(ctx context.Context, build builder) error {
	mgr, err := f.start(func(options *ctrl.Options, _ labels.Selector) {
		maps.Copy(options.Cache.ByObject, contract.CacheOptions(f.itemType))
	})
	if err != nil {
		return err
	}
	deployer, cleanUp, err := build(mgr, f)
	if err != nil {
		return err
	}
	defer cleanUp()
	recorder, err := f.recorder(mgr)
	if err != nil {
		return fmt.Errorf("create the event recorder: %w", err)
	}
	clients, err := target.New(target.Options{Landscaper: mgr.GetConfig(), AllowInsecureTLS: f.insecureTLS})
	if err != nil {
		return err
	}
	err = contract.Serve(mgr, deployer, contract.Options{
		Identity: f.identity, Version: version, Concurrency: f.concurrent, Clients: clients, Recorder: recorder, Metrics: measure(mgr),
		SkipPullSecrets: f.itemType != v1alpha1.HelmDeployItemType,
		AnyTargetType:   f.itemType == v1alpha1.MockDeployItemType,
	})
	if err != nil {
		return fmt.Errorf("set the deployer up: %w", err)
	}
	return mgr.Start(ctx)
}
