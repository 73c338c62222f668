// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package container is the deployer of DeployItems of type landscaper.gardener.cloud/container: it runs a person's image as a Pod of the
// host cluster, once per job.
//
// Everything that needs registries, Flux sources or the landscaper cluster is done here, so that the Pod needs no credentials for them:
// its init container only unpacks Secrets (sidecar.Init), and its wait container may only watch its own Pod and apply Secrets of fixed names
// (sidecar.Wait). The user's container has no credentials at all.
//
// The way of a job:
//
//	prepare.go   configuration, target, component, content      → what the Pod gets
//	objects.go   that                                           → Secrets, identity and rights on the host cluster
//	pod.go       that                                           → the Pod
//	run.go       the Pod as the kubelet shows it                → wait, failure or success with exports; a deletion runs it with OPERATION=DELETE, then all
//	             objects go
//	cleanup.go   what jobs that are over and items that are gone left on the host cluster → gone
//
// All names are made from namespace and name of the item, so that a job that is repeated after a crash finds what it made before. A Pod
// belongs to the job in its annotation; its finalizer keeps it until the end of the job is recorded.
package container

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Name is status.deployer.name of the items that this deployer handles.
const Name = "container.deployer.landscaper.gardener.cloud"

// Options of New.
type Options struct {
	// Host is the cluster that the Pods run on; its client reads live. Required.
	Host *target.Cluster
	// Namespace of the Pods there. Required.
	Namespace string
	// Identity tells the objects of this deployer on the host cluster from those of others. It has to stay the same. Required.
	Identity string
	// Init and Wait are the containers beside the user's; Main is what a DeployItem without an image runs. Init and Wait need an image.
	Init, Wait, Main containerv1alpha1.ContainerSpec
	// KeepPods leaves Pods that have ended in place until the next job of their item.
	KeepPods bool
	// MaxState is how many bytes a state may have in compressed form; 0 means 16 MiB.
	MaxState int64
	// MaxStored is how many bytes of states and content the DeployItems of one namespace may have in Secrets; 0 means 512 MiB.
	MaxStored int64
	// MaxShared is how large the volume of a Pod may grow; 0 means 1 GiB.
	MaxShared int64
	// MaxPods is how many Pods the DeployItems of one namespace may have at the same time; 0 means 32.
	MaxPods int
	// Accounts are acted as where nobody names a ServiceAccount; no container can be held to one, so that such items are refused.
	Accounts target.Accounts
	// HostSecrets are those of the host cluster of an Environment that its Targets may refer to. Containers get the kubeconfig, and it stays in that
	// cluster. Nil refuses such Targets.
	HostSecrets *target.Host
	// Garbage says how often leftovers are looked for.
	Garbage containerv1alpha1.GarbageCollection

	// Access is what components and content may be got from. Its Live also reads Targets and DeployItems, and is required.
	components.Access
}

// Defaults of Options.
const (
	DefaultMaxState  = 16 << 20
	DefaultMaxStored = 512 << 20
	DefaultMaxShared = 1 << 30
	DefaultMaxPods   = 32
)

// unpackedState is how many times larger than its compressed form a state may be.
const unpackedState = 16

func (o *Options) complete() error {
	switch {
	case o.Host == nil || o.Live == nil:
		return errors.New("the container deployer needs a host cluster and the landscaper cluster")
	case o.Namespace == "" || o.Identity == "":
		return errors.New("the container deployer needs a namespace on the host cluster and an identity")
	case o.Init.Image == "" || o.Wait.Image == "":
		return errors.New("the container deployer needs images for the containers init and wait")
	}
	o.Main.Image = cmp.Or(o.Main.Image, containerv1alpha1.DefaultImage)
	o.Main.ImagePullPolicy = cmp.Or(o.Main.ImagePullPolicy, corev1.PullIfNotPresent)
	o.MaxState = cmp.Or(o.MaxState, DefaultMaxState)
	o.MaxStored = cmp.Or(o.MaxStored, DefaultMaxStored)
	o.MaxShared = cmp.Or(o.MaxShared, DefaultMaxShared)
	o.MaxPods = cmp.Or(o.MaxPods, DefaultMaxPods)
	o.Garbage.Worker = cmp.Or(max(o.Garbage.Worker, 0), containerv1alpha1.DefaultGarbageCollectionWorkers)
	o.Garbage.RequeueTimeSeconds = cmp.Or(max(o.Garbage.RequeueTimeSeconds, 0), containerv1alpha1.DefaultGarbageCollectionSeconds)
	return nil
}

// operationReconcile is that of most failures.
const operationReconcile = "Reconcile"

// Deployer carries out DeployItems of type landscaper.gardener.cloud/container.
type Deployer struct {
	options Options
	content *finder
	cleanup *cleanup
}

var _ contract.Deployer = &Deployer{}

// New returns the container deployer, or an error for options that cannot be used. Its Clean has to run beside it.
func New(options Options) (*Deployer, error) {
	if err := options.complete(); err != nil {
		return nil, err
	}
	known, err := options.Repositories(0)
	if err != nil {
		return nil, err
	}
	d := &Deployer{options: options, content: &finder{access: options.Access, components: known}}
	d.cleanup = newCleanup(&d.options)
	return d, nil
}

// Name returns the name of the deployer.
func (d *Deployer) Name() string { return Name }

// Type returns the type of its DeployItems.
func (d *Deployer) Type() string { return v1alpha1.ContainerDeployItemType }

// Ensure runs the container of the item once for its job.
func (d *Deployer) Ensure(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	if err := item.Checkpoint("container deployer: start reconcile"); err != nil {
		return contract.Outcome{}, err
	}
	r, err := d.begin(item, containerv1alpha1.OperationReconcile)
	if err != nil {
		return contract.Outcome{}, err
	}
	return r.run(ctx)
}

// Configuration returns a configuration of the container deployer.
func (*Deployer) Configuration(*v1alpha1.DeployItem) any {
	return &containerv1alpha1.ProviderConfiguration{}
}

// begin reads configuration and status of the item.
func (d *Deployer) begin(item *contract.Item, operation containerv1alpha1.OperationType) (*run, error) {
	config, err := configurationOf(item.DeployItem)
	if err != nil {
		return nil, err
	}
	recorded, err := status(item.DeployItem)
	if err != nil {
		return nil, err
	}
	return &run{
		host: d.options.hostFor(keyOf(item.DeployItem)), deployer: d, item: item, operation: operation, config: config, recorded: recorded,
	}, nil
}

// stateLimit is how many Secrets a state may take.
func (o *Options) stateLimit() int64 {
	return (o.MaxState + sidecar.PieceBytes - 1) / sidecar.PieceBytes
}

// lateness is how long after the deadline of a job the kubelet ends a Pod by itself, for the case that the deployer is not there.
const lateness = time.Minute

var _ contract.ContinuousReconciler = &Deployer{}

// ContinuousReconcile returns the field continuousReconcile of the configuration.
func (d *Deployer) ContinuousReconcile(item *v1alpha1.DeployItem) (*managedresource.ContinuousReconcileSpec, error) {
	return contract.ContinuousReconcileIn(item.Spec.Configuration)
}

// configurationOf reads and checks spec.config of an item. Its errors carry the code ERR_CONFIGURATION_PROBLEM.
func configurationOf(item *v1alpha1.DeployItem) (*containerv1alpha1.ProviderConfiguration, error) {
	if item.Spec.Configuration == nil || len(item.Spec.Configuration.Raw) == 0 {
		return nil, protocol.Stall(operationReconcile, "ConfigurationMissing", "spec.config is missing; write a configuration of the container deployer there")
	}
	config, err := containerv1alpha1.DecodeConfiguration(item.Spec.Configuration.Raw)
	if err == nil {
		err = validate(config, item.Namespace)
	}
	if err != nil {
		return nil, protocol.Stall(operationReconcile, protocol.ReasonInvalidConfiguration, "spec.config: %w", err)
	}
	return config, nil
}

// validate checks a configuration. The error lists the problems, each with its field and cure.
func validate(config *containerv1alpha1.ProviderConfiguration, namespace string) error {
	errs := fault.ProblemsIn(len(config.RegistryPullSecrets), func(i int) []error {
		var errs []error
		secret, at := &config.RegistryPullSecrets[i], fmt.Sprintf("registryPullSecrets[%d]", i)
		if secret.Name == "" {
			errs = append(errs, fmt.Errorf("%s.name: is empty, name a Secret in the namespace of the DeployItem", at))
		}
		if secret.Namespace != "" && secret.Namespace != namespace {
			errs = append(errs, fmt.Errorf("%s.namespace: is not %s, the namespace of the DeployItem; copy the Secret there and leave the field out", at, namespace))
		}
		return errs
	})
	if blueprint := config.Blueprint; blueprint != nil {
		errs = append(errs, exactlyOne("blueprint",
			blueprint.Reference != nil, blueprint.Inline != nil, blueprint.SourceReference != nil))
		if blueprint.Reference != nil && config.ComponentDescriptor == nil {
			errs = append(errs, errors.New("blueprint.ref: needs the component that has the resource; set componentDescriptor"))
		}
	}
	if component := config.ComponentDescriptor; component != nil {
		errs = append(errs, exactlyOne("componentDescriptor",
			component.Reference != nil, component.Inline != nil, component.SourceReference != nil))
	}
	errs = append(errs, managedresource.ValidateContinuousReconcile("continuousReconcile", config.ContinuousReconcile)...)
	return fault.Join(errs)
}

func exactlyOne(field string, given ...bool) error {
	count := 0
	for _, is := range given {
		if is {
			count++
		}
	}
	if count == 1 {
		return nil
	}
	return fmt.Errorf("%s: set exactly one of ref, inline and sourceRef, found %d", field, count)
}
