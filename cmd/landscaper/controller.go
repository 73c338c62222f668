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
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/controllers/deployitem"
	"github.com/flux-landscaper/flux-landscaper/controllers/environment"
	"github.com/flux-landscaper/flux-landscaper/controllers/execution"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/controllers/target"
	"github.com/flux-landscaper/flux-landscaper/controllers/targetsync"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	deploytarget "github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// controllerFlags are the flags of the controller alone.
type controllerFlags struct {
	process
	pickupTimeout time.Duration
	artifacts     artifactFlags
	children      childFlags
	// sources are the kinds of Flux sources that the process watches, unwatched those that it may not.
	sources, unwatched []client.Object
	targets            targetFlags
	components         componentFlags
	contexts           contextFlags
	management         managementFlags
	health             healthFlags
	shard              protocol.Shard
	// leases is the namespace of the Leases of deployers, empty where the process may not watch them.
	leases string
}

// controllerOf returns the command of the controller and what its flags set.
func controllerOf() (*cobra.Command, *controllerFlags) {
	flags := &controllerFlags{process: process{name: "controller"}}
	command := serving("controller", "Reconcile Installations and Executions", flags.run)
	flags.bindFlags(command.Flags(), 16)
	flags.bindReferenceFlags(command.Flags())
	flags.jitter.BindFlags(command.Flags())
	flags.artifacts.bindFlags(command.Flags())
	flags.children.bindFlags(command.Flags(), confined.DefaultLimits().Memory)
	flags.components.bindFlags(command.Flags())
	flags.contexts.bindFlags(command.Flags())
	flags.targets.bindFlags(command.Flags())
	flags.management.bindFlags(command.Flags())
	flags.health.bindFlags(command.Flags())
	command.Flags().DurationVar(&flags.pickupTimeout, "pickup-timeout", 5*time.Minute,
		"The time a deployer has to begin the job of a DeployItem, unless one that serves it is alive and busy; 0 means no limit.")
	return command, flags
}

func (f *controllerFlags) run(ctx context.Context) error {
	if err := f.targets.check(); err != nil {
		return err
	}
	if err := f.health.check(); err != nil {
		return err
	}
	if _, err := f.contexts.blueprintAccess(); err != nil {
		return err
	}
	children, err := f.children.limits()
	if err != nil {
		return err
	}
	keepRoom(children)
	if err := f.findUnwatched(ctx); err != nil {
		return err
	}
	refused := error(nil)
	mgr, err := f.start(func(options *ctrl.Options, shard labels.Selector) {
		refused = f.management.restrict(options, f.watch.AllNamespaces)
		f.restrictLeases(options)
		f.shard = protocol.Shard{Selector: shard}
		options.Client.Cache.DisableFor = append(options.Client.Cache.DisableFor, f.unwatched...)
		f.contexts.restrict(options, f.watch.AllNamespaces)
	})
	if err = cmp.Or(refused, err); err != nil {
		return err
	}
	store, err := f.artifacts.open(f.targets.PublicOnly)
	if err != nil {
		return err
	}
	defer func() { _ = store.Close() }()
	registries, err := f.components.registries.open(f.targets.PublicOnly)
	if err != nil {
		return err
	}
	defer func() { _ = registries.Close() }()
	if err := f.setup(ctx, mgr, store, registries); err != nil {
		return err
	}
	if err := f.health.setup(ctx, mgr, &f.process); err != nil {
		return err
	}
	if err := f.recordPanics(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// findUnwatched finds out which kinds of Flux sources this process may not watch.
func (f *controllerFlags) findUnwatched(ctx context.Context) error {
	direct, err := f.direct()
	if err != nil {
		return err
	}
	if f.sources, f.unwatched, err = flux.Watchable(ctx, direct, f.namespace(), "controller", "Installations"); err != nil {
		return err
	}
	if f.watch.AllNamespaces {
		missing, err := flux.MissingRight(ctx, direct, &corev1.Namespace{}, "")
		if err != nil {
			return err
		}
		f.contexts.following.Namespaces = missing == ""
	}
	return f.findLeases(ctx, direct)
}

// findLeases finds out whether this process sees which deployers are alive.
func (f *controllerFlags) findLeases(ctx context.Context, direct client.Client) error {
	own := os.Getenv("RUNTIME_NAMESPACE")
	if own == "" || f.pickupTimeout <= 0 {
		return nil
	}
	missing, err := flux.MissingRight(ctx, direct, &coordinationv1.Lease{}, own)
	switch {
	case err != nil:
		return err
	case missing != "":
		ctrl.Log.WithName("pickup").Info("the controller may not see the Leases of deployers: DeployItems that a busy deployer does not begin "+
			"within --pickup-timeout fail. Grant get, list and watch and restart the controller", "namespace", own)
	default:
		f.leases = own
	}
	return nil
}

// restrictLeases keeps the Leases of others out of the cache.
func (f *controllerFlags) restrictLeases(options *ctrl.Options) {
	if f.leases == "" {
		return
	}
	for object, of := range options.Cache.ByObject {
		if _, isLease := object.(*coordinationv1.Lease); isLease { // that of agents may be in the same namespace
			of.Namespaces[f.leases] = cache.Config{}
			return
		}
	}
	deployers := labels.SelectorFromSet(labels.Set{v1alpha1.DeployerLeaseLabel: "true"})
	options.Cache.ByObject[&coordinationv1.Lease{}] = cache.ByObject{Namespaces: map[string]cache.Config{f.leases: {LabelSelector: deployers}}}
}

func (f *controllerFlags) setup(ctx context.Context, mgr ctrl.Manager, store *fetch.Store, registries *oci.Client) error {
	recorder, err := f.recorder(mgr)
	if err != nil {
		return fmt.Errorf("create the event recorder: %w", err)
	}
	policy, err := f.components.policy()
	if err != nil {
		return err
	}
	identities, err := f.components.identities.open(mgr)
	if err != nil {
		return err
	}
	repositories, err := f.components.open(mgr, registries, store, identities, f.sourcePolicy(),
		f.targets.PublicOnly)
	if err != nil {
		return err
	}
	metrics := measure(mgr)
	clusters, err := deploytarget.New(f.targets.Options)
	if err != nil {
		return err
	}
	access, err := f.contexts.blueprintAccess()
	if err != nil {
		return err
	}
	limits, err := f.children.limits()
	if err != nil {
		return err
	}
	installations := &installation.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: recorder, Metrics: metrics, Now: time.Now,
		Backoff: f.backoff(), Jitter: queue.Jitter(f.jitter.Percentage), Shard: f.shard, Sources: f.sources, Following: f.contexts.following, RefuseUnknownKeys: f.strict,
		Inputs: inputs.Reader{
			Reader: mgr.GetClient(), Live: mgr.GetAPIReader(), Artifacts: store, Repositories: repositories, Identity: identities.Find,
			Clusters: clusters, Renderer: rendering.New(limits), BlueprintAccess: access, SignaturePolicy: policy,
			NoCrossNamespaceRefs: f.acl.NoCrossNamespaceRefs, RequireVerifiedSources: f.verifiedSources,
		},
	}
	executions := &execution.Reconciler{
		Client: mgr.GetClient(), Shard: f.shard, Live: mgr.GetAPIReader(), Recorder: recorder, Metrics: metrics, Now: time.Now,
		Backoff: f.backoff(),
	}
	targets := &target.Reconciler{Client: mgr.GetClient(), Shard: f.shard, Backoff: f.backoff()}
	health := &target.HealthReconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: recorder, Clusters: clusters, Shard: f.shard, Backoff: f.backoff(),
		Jitter: queue.Jitter(f.jitter.Percentage), Now: time.Now,
	}
	syncs := &targetsync.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: recorder, Clusters: clusters, Shard: f.shard, Backoff: f.backoff(), Now: time.Now,
	}
	controllers := []controllerOfKind{
		{"installation controller", installations.SetupWithManager}, {"execution controller", executions.SetupWithManager},
		{"pickup controller", f.deployItems(mgr, recorder).SetupWithManager}, {"target controller", targets.SetupWithManager},
		{"checks of targets", func(_ context.Context, mgr ctrl.Manager, _ int) error { return health.SetupWithManager(mgr) }},
		{"controller of TargetSyncs", syncs.SetupWithManager},
	}
	if f.management.enabled {
		controllers = append(controllers, controllerOfKind{"controllers of Environments", func(_ context.Context, mgr ctrl.Manager, concurrency int) error {
			return f.environments(mgr, recorder).SetupWithManager(mgr, concurrency)
		}})
	}
	for _, c := range controllers {
		if err := c.setup(ctx, mgr, f.concurrent); err != nil {
			return fmt.Errorf("set the %s up: %w", c.name, err)
		}
	}
	return f.contexts.setup(mgr, &f.process)
}

// controllerOfKind is how a controller is registered with a manager.
type controllerOfKind struct {
	name  string
	setup func(ctx context.Context, mgr ctrl.Manager, concurrency int) error
}

// deployItems fails jobs that no deployer begins.
func (f *controllerFlags) deployItems(mgr ctrl.Manager, recorder record.EventRecorder) *deployitem.Reconciler {
	return &deployitem.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Shard: f.shard, Recorder: recorder, PickupTimeout: f.pickupTimeout, Now: time.Now,
		Environments: f.management.enabled, Homes: f.management.homes(), Leases: f.leases,
	}
}

// managementFlags say whether the process installs deployers into Environments.
type managementFlags struct {
	enabled   bool
	namespace string
	share     bool
}

func (m *managementFlags) bindFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&m.enabled, "deployer-management", false,
		"Install the deployers of DeployerRegistrations into Environments; needs the rights of landscaper:deployer-management.")
	flags.StringVar(&m.namespace, "deployer-management-namespace", "ls-system",
		"The namespace of what is made for these deployers, and of the Leases of agents, where an Environment has no namespace of its own; see --shared-environments.")
	flags.BoolVar(&m.share, "shared-environments", false,
		"Let Environments without a namespace of their own share that of --deployer-management-namespace, where they are not kept from each other.")
}

// restrict keeps what others made out of the cache.
func (m *managementFlags) restrict(options *ctrl.Options, allNamespaces bool) error {
	if !m.enabled {
		return nil
	}
	if !allNamespaces {
		return errors.New("--deployer-management works across namespaces; remove --watch-all-namespaces=false, or --deployer-management")
	}
	made, err := labels.NewRequirement(v1alpha1.DeployerRegistrationLabel, selection.Exists, nil)
	if err != nil {
		return err
	}
	agents, err := labels.NewRequirement(v1alpha1.DeployerEnvironmentLabel, selection.Exists, nil)
	if err != nil {
		return err
	}
	selector := labels.NewSelector().Add(*made)
	options.Cache.ByObject[&corev1.ServiceAccount{}] = cache.ByObject{Label: selector}
	options.Cache.ByObject[&rbacv1.ClusterRoleBinding{}] = cache.ByObject{Label: selector}
	options.Cache.ByObject[&rbacv1.RoleBinding{}] = cache.ByObject{Label: selector}
	leases := map[string]cache.Config{cache.AllNamespaces: {LabelSelector: labels.NewSelector().Add(*agents)}}
	if m.share {
		leases[m.namespace] = cache.Config{} // also those of agents that do not label theirs
	}
	options.Cache.ByObject[&coordinationv1.Lease{}] = cache.ByObject{Namespaces: leases}
	return nil
}

// environments installs the deployers of DeployerRegistrations into Environments.
func (f *controllerFlags) environments(mgr ctrl.Manager, recorder record.EventRecorder) *environment.Reconciler {
	return &environment.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: recorder, Homes: f.management.homes(), Shard: f.shard,
		Backoff: f.backoff(), Now: time.Now, Share: f.management.share,
	}
}

// homes says where what belongs to an Environment without a namespace of its own is.
func (m *managementFlags) homes() pair.Homes { return pair.Homes{Shared: m.namespace} }

// contextFlags say whether every namespace gets a default Context, and what holds where a Context does not say it.
type contextFlags struct {
	repository string
	excluded   []string
	access     string
	following  installation.Following
}

func (c *contextFlags) bindFlags(flags *pflag.FlagSet) {
	flags.StringVar(&c.repository, "default-repository-context", "",
		"Keep a Context named default with this repositoryContext, as JSON or YAML, in every namespace; empty leaves Contexts alone.")
	flags.StringSliceVar(&c.excluded, "default-context-excluded-namespaces", nil, "Namespaces whose Context named default is left alone.")
	flags.StringVar(&c.access, blueprintAccessFlag, string(v1alpha1.BlueprintAccessNamespace),
		"What blueprints may use where their Context has no blueprintAccess: imports, which is what the root Installation imports, or namespace, "+
			"which is everything that a field can name there.")
	flags.BoolVar(&c.following.ByDefault, "reconcile-if-changed", false,
		"Start jobs for changes of Installations that do not say themselves, by annotation, whether changes do, where neither their Context nor their namespace says it.")
	flags.DurationVar(&c.following.Spread, "reconcile-if-changed-spread", 10*time.Minute,
		"The time over which changes that have waited start their jobs, once they do by default.")
}

const blueprintAccessFlag = "default-blueprint-access"

// blueprintAccess is what blueprints may use by default.
func (c *contextFlags) blueprintAccess() (v1alpha1.BlueprintAccess, error) {
	switch access := v1alpha1.BlueprintAccess(c.access); access {
	case v1alpha1.BlueprintAccessImports, v1alpha1.BlueprintAccessNamespace:
		return access, nil
	}
	return "", fmt.Errorf("--%s: %q is unknown; set imports or namespace", blueprintAccessFlag, c.access)
}

// parse reads the repository context. It is nil when none is configured.
func (c *contextFlags) parse() (*v1alpha1.AnyJSON, error) {
	if c.repository == "" {
		return nil, nil
	}
	raw, err := yaml.YAMLToJSON([]byte(c.repository))
	if err != nil {
		return nil, fmt.Errorf("--default-repository-context is neither JSON nor YAML: %w", err)
	}
	var typed struct {
		Type string `json:"type"`
	}
	if err := yaml.Unmarshal(raw, &typed); err != nil || typed.Type == "" {
		return nil, errors.New(`--default-repository-context has to be an object with a type, for example {"type": "OCIRegistry", "baseUrl": "registry.example.com/components"}`)
	}
	parsed := v1alpha1.NewAnyJSON(raw)
	return &parsed, nil
}

// restrict keeps namespaces other than the own one out of the cache of a process that does not watch them.
func (c *contextFlags) restrict(options *ctrl.Options, all bool) {
	if c.repository != "" && !all {
		own := fields.OneTermEqualSelector("metadata.name", os.Getenv("RUNTIME_NAMESPACE"))
		options.Cache.ByObject[&corev1.Namespace{}] = cache.ByObject{Field: own}
	}
}

// setup registers the controller of default Contexts, where one is configured.
func (c *contextFlags) setup(mgr ctrl.Manager, p *process) error {
	repository, err := c.parse()
	if err != nil || repository == nil {
		return err
	}
	if err := c.keeper(mgr, *repository, p).SetupWithManager(mgr, p.concurrent); err != nil {
		return fmt.Errorf("set the controller of default contexts up: %w", err)
	}
	return nil
}

// keeper keeps the Contexts named default.
func (c *contextFlags) keeper(mgr ctrl.Manager, repository v1alpha1.AnyJSON, p *process) *target.DefaultContext {
	return &target.DefaultContext{Client: mgr.GetClient(), RepositoryContext: repository, Excluded: c.excluded, Backoff: p.backoff()}
}
