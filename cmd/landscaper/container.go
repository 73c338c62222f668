// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// containerFlags are the flags of the container deployer alone.
type containerFlags struct {
	accessFlags
	container.Options
	hostKubeconfig    string
	sidecarImage      string
	sidecarPullPolicy string
	garbagePeriod     time.Duration
}

func containerOf() (*cobra.Command, *deployerFlags, *containerFlags) {
	own := &containerFlags{}
	command, flags, shared := deployerOf("container", v1alpha1.ContainerDeployItemType, "Run containers", own.build)
	shared.bindReferenceFlags(flags)
	own.accessFlags.bindFlags(flags)
	own.bindFlags(flags)
	return command, shared, own
}

func (c *containerFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.hostKubeconfig, "host-kubeconfig", "", "Kubeconfig of the cluster that runs the Pods; by default the own cluster. Not with --environment.")
	flags.StringVar(&c.Namespace, "host-namespace", os.Getenv("RUNTIME_NAMESPACE"),
		"The namespace of the Pods; by default RUNTIME_NAMESPACE. Everybody who may write there can change what containers get.")
	flags.StringVar(&c.sidecarImage, "sidecar-image", "",
		"The image of this program for the containers that prepare files and store exports; by default the image of the own Pod, which POD_NAME names.")
	flags.StringVar(&c.sidecarPullPolicy, "sidecar-pull-policy", string(corev1.PullIfNotPresent), "When the nodes pull --sidecar-image: IfNotPresent, Always or Never.")
	flags.StringVar(&c.Main.Image, "default-image", containerv1alpha1.DefaultImage, "The image of DeployItems that name none.")
	flags.BoolVar(&c.KeepPods, "keep-pods", false, "Leave Pods that have ended in place until the next job of their DeployItem, for debugging.")
	flags.Int64Var(&c.MaxState, "max-state-size", container.DefaultMaxState, "The largest state of a DeployItem in compressed form, in bytes.")
	flags.Int64Var(&c.MaxShared, "max-shared-size", container.DefaultMaxShared, "How large the files of a Pod may grow together, in bytes.")
	flags.Int64Var(&c.MaxStored, "max-stored-per-namespace", container.DefaultMaxStored,
		"How much states and content the DeployItems of one namespace may have in Secrets together, in bytes.")
	flags.IntVar(&c.MaxPods, "max-pods-per-namespace", container.DefaultMaxPods,
		"How many Pods the DeployItems of one namespace may have at the same time; further ones wait.")
	flags.DurationVar(&c.garbagePeriod, "garbage-collection-period", containerv1alpha1.DefaultGarbageCollectionSeconds*time.Second,
		"How often to look for objects of DeployItems that are gone; at least one second.")
	flags.BoolVar(&c.Garbage.Disable, "disable-garbage-collection", false, "Leave objects of DeployItems that are gone, but for their Pods.")
}

func (c *containerFlags) build(mgr ctrl.Manager, flags *deployerFlags) (contract.Deployer, func(), error) {
	if err := c.check(flags.environment.name); err != nil {
		return nil, nil, err
	}
	host, err := c.host(mgr, flags)
	if err != nil {
		return nil, nil, err
	}
	sidecar, err := c.sidecar(host)
	if err != nil {
		return nil, nil, err
	}
	secrets, err := flags.environment.host(&flags.process)
	if err != nil {
		return nil, nil, err
	}
	access, closeAll, err := c.openFor(mgr, flags)
	if err != nil {
		return nil, nil, err
	}
	options := c.options(flags, sidecar)
	options.Host, options.HostSecrets, options.Access = host, secrets, access
	deployer, err := container.New(options)
	if err == nil {
		err = deployer.Clean(mgr)
	}
	if err != nil {
		closeAll()
		return nil, nil, err
	}
	return deployer, closeAll, nil
}

// options is what the flags say about the work in Pods.
func (c *containerFlags) options(flags *deployerFlags, sidecar containerv1alpha1.ContainerSpec) container.Options {
	options := c.Options
	options.Identity, options.Accounts, options.Init, options.Wait = flags.ownIdentity(), flags.targets.Accounts, sidecar, sidecar
	options.Garbage.RequeueTimeSeconds = max(int(c.garbagePeriod.Seconds()), 1)
	return options
}

// check refuses limits that nobody could keep, and credentials of the cluster of an Environment on another one.
func (c *containerFlags) check(environment string) error {
	if environment != "" && c.hostKubeconfig != "" {
		return errors.New("--host-kubeconfig: the Pods of a deployer with --environment run in its own cluster, whose credentials they get; leave out one of both")
	}
	if c.MaxPods < 1 {
		return fmt.Errorf("--max-pods-per-namespace is %d; it has to be 1 at least", c.MaxPods)
	}
	if c.MaxStored < 1 {
		return fmt.Errorf("--max-stored-per-namespace is %d bytes; it has to be 1 at least", c.MaxStored)
	}
	return nil
}

// host connects to the cluster that runs the Pods, without a cache.
func (c *containerFlags) host(mgr ctrl.Manager, flags *deployerFlags) (*target.Cluster, error) {
	if c.Namespace == "" {
		return nil, errors.New("--host-namespace: is empty; name the namespace of the Pods, or set RUNTIME_NAMESPACE")
	}
	config, err := c.hostConfig(mgr, flags)
	if err != nil {
		return nil, err
	}
	connection, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the host cluster: %w", err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(config, connection)
	if err != nil {
		return nil, fmt.Errorf("connect to the host cluster: %w", err)
	}
	direct, err := client.New(config, client.Options{HTTPClient: connection, Scheme: mgr.GetScheme(), Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("connect to the host cluster: %w", err)
	}
	watcher, err := dynamic.NewForConfigAndClient(config, connection)
	if err != nil {
		return nil, fmt.Errorf("connect to the host cluster: %w", err)
	}
	return &target.Cluster{Name: "host", Config: config, Client: direct, Dynamic: watcher, Mapper: mapper}, nil
}

// hostConfig leads to the own cluster unless a kubeconfig says otherwise. Without --landscaper-kubeconfig that is the landscaper cluster.
func (c *containerFlags) hostConfig(mgr ctrl.Manager, flags *deployerFlags) (*rest.Config, error) {
	switch {
	case c.hostKubeconfig != "":
		config, err := clientcmd.BuildConfigFromFlags("", c.hostKubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--host-kubeconfig: %w", err)
		}
		config.QPS, config.Burst = flags.client.QPS, flags.client.Burst
		return config, nil
	case flags.kubeconfig != "":
		config, err := ctrl.GetConfig()
		if err != nil {
			return nil, fmt.Errorf("the Pods run in the own cluster; run in a cluster, or set KUBECONFIG or --host-kubeconfig: %w", err)
		}
		config.QPS, config.Burst = flags.client.QPS, flags.client.Burst
		return config, nil
	}
	return mgr.GetConfig(), nil
}

// sidecar is the container that runs this program in Pods. Its default is the image of the own Pod.
func (c *containerFlags) sidecar(host *target.Cluster) (containerv1alpha1.ContainerSpec, error) {
	spec := containerv1alpha1.ContainerSpec{Image: c.sidecarImage, ImagePullPolicy: corev1.PullPolicy(c.sidecarPullPolicy)}
	if spec.Image != "" {
		return spec, nil
	}
	own := types.NamespacedName{Namespace: os.Getenv("RUNTIME_NAMESPACE"), Name: os.Getenv("POD_NAME")}
	if own.Name == "" {
		return spec, errors.New("--sidecar-image: is empty, and POD_NAME names no own Pod whose image could be taken; set one of them")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pod := &corev1.Pod{}
	if err := host.Client.Get(ctx, own, pod); err != nil {
		return spec, fmt.Errorf("--sidecar-image: is empty, and the own Pod cannot be read for its image; set the flag: %w", err)
	}
	for i := range pod.Spec.Containers {
		if one := &pod.Spec.Containers[i]; one.Name == "landscaper" || len(pod.Spec.Containers) == 1 {
			spec.Image = cmp.Or(spec.Image, one.Image)
		}
	}
	if spec.Image == "" {
		return spec, fmt.Errorf("--sidecar-image: is empty, and the own Pod %s has no container landscaper; set the flag", own)
	}
	return spec, nil
}

// containerInit and containerWait run in Pods of the container deployer, which starts them.
func containerInit() *cobra.Command {
	return &cobra.Command{
		Use: "container-init", Short: "Prepare the files of a container DeployItem", Args: cobra.NoArgs, Hidden: true,
		RunE: func(*cobra.Command, []string) error { return sidecar.Init(os.Getenv) },
	}
}

func containerWait() *cobra.Command {
	return &cobra.Command{
		Use: "container-wait", Short: "Store state and exports of a container DeployItem", Args: cobra.NoArgs, Hidden: true,
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := ctrl.GetConfig()
			if err != nil {
				return fmt.Errorf("find the API server: %w", err)
			}
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return fmt.Errorf("connect to the API server: %w", err)
			}
			// The signal that ends the user's program reaches this one too, which still has to store the state.
			return sidecar.Wait(context.WithoutCancel(command.Context()), client, os.Getenv)
		},
	}
}
