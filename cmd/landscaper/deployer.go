// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/agent"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/deployers/manifest"
	"github.com/flux-landscaper/flux-landscaper/deployers/mock"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// deployerFlags are the flags of one deployer.
type deployerFlags struct {
	process
	itemType string
	// file is the configuration file.
	file     string
	identity string
	// selectors are target selectors as JSON or YAML.
	selectors   []string
	targets     targetFlags
	environment environmentFlags
	// maxTimeout is the longest timeout of a DeployItem.
	maxTimeout time.Duration
	// sources makes DeployItems follow their sources; nil where the type knows none.
	sources *contract.SourceWatch
	// minContinuous is the least time between a job of a DeployItem and the next one by the clock.
	minContinuous time.Duration
}

// maxItemTimeout is the longest timeout of a DeployItem, unless a flag says otherwise.
const maxItemTimeout = 24 * time.Hour

// builder makes a deployer for a manager. The function that it returns is called when the process ends.
type builder func(mgr ctrl.Manager, flags *deployerFlags) (contract.Deployer, func(), error)

func deployerCommand() *cobra.Command {
	command := &cobra.Command{Use: "deployer", Short: "Carry out DeployItems of one type"}
	command.AddCommand(manifestDeployer(), mockDeployer(), only(helmCommand()), only(containerOf()))
	return command
}

func manifestDeployer() *cobra.Command {
	return only(deployerOf("manifest", v1alpha1.ManifestDeployItemType, "Apply Kubernetes manifests",
		func(ctrl.Manager, *deployerFlags) (contract.Deployer, func(), error) {
			return manifest.New(), func() {}, nil
		}))
}

func mockDeployer() *cobra.Command {
	return only(deployerOf("mock", v1alpha1.MockDeployItemType, "Pretend, for tests",
		func(ctrl.Manager, *deployerFlags) (contract.Deployer, func(), error) {
			return mock.Deployer{}, func() {}, nil
		}))
}

// helmFlags are the flags of the helm deployer alone.
type helmFlags struct {
	accessFlags
	children childFlags
	driver   string
}

// helmCommand returns the command of the helm deployer and what its flags set.
func helmCommand() (*cobra.Command, *deployerFlags, *helmFlags) {
	own := &helmFlags{}
	command, flags, shared := deployerOf("helm", v1alpha1.HelmDeployItemType, "Install Helm charts", own.build)
	shared.bindReferenceFlags(flags)
	own.accessFlags.bindFlags(flags)
	own.children.bindFlags(flags, helm.ChildMemory)
	flags.StringVar(&own.driver, "helm-driver", os.Getenv("HELM_DRIVER"),
		"Where Helm keeps releases: secret or configmap; by default HELM_DRIVER, else secret.")
	return command, shared, own
}

func (h *helmFlags) build(mgr ctrl.Manager, flags *deployerFlags) (contract.Deployer, func(), error) {
	options, err := h.options()
	if err != nil {
		return nil, nil, err
	}
	access, closeAll, err := h.openFor(mgr, flags)
	if err != nil {
		return nil, nil, err
	}
	if flags.sources, err = access.Follow(context.Background(), mgr, flags.namespace(), helm.SourcesOf); err != nil {
		closeAll()
		return nil, nil, err
	}
	options.Access = access
	keepRoom(options.Children)
	deployer, err := helm.New(options)
	return deployer, closeAll, err
}

// options is what the flags say about Helm.
func (h *helmFlags) options() (helm.Options, error) {
	limits, err := h.children.limits()
	return helm.Options{Driver: h.driver, Children: limits}, err
}

// deployerOf returns the sub-command of one deployer with the flags that all deployers have, and what they set.
func deployerOf(name, itemType, short string, build builder) (*cobra.Command, *pflag.FlagSet, *deployerFlags) {
	flags := &deployerFlags{process: process{name: name + "-deployer"}, itemType: itemType}
	var command *cobra.Command
	command = serving(name, short, func(ctx context.Context) error { return flags.run(ctx, command.Flags(), build) })
	flags.bindFlags(command.Flags(), 16)
	setDefault(command.Flags(), "min-retry-delay", contract.DefaultMinRetryDelay.String())
	setDefault(command.Flags(), "max-retry-delay", contract.DefaultMaxRetryDelay.String())
	command.Flags().StringVar(&flags.file, "config", "", "A configuration file, as YAML or JSON of kind Configuration. Flags win over it.")
	command.Flags().StringVar(&flags.identity, "identity", "",
		"The identity written to the status of DeployItems; of several deployers of one type each needs its own, and keeps it. "+
			"By default the name of the deployer, with a hash of --watch-label-selector if that is set.")
	command.Flags().StringSliceVar(&flags.namespaces, "watch-namespaces", nil,
		"Watch only these namespaces with landscaper objects, whatever --watch-all-namespaces says; rights are needed in these alone.")
	command.Flags().StringArrayVar(&flags.selectors, "target-selector", nil,
		"Carry out only DeployItems whose Target it selects, as JSON or YAML with targets, annotations and labels, "+
			"for example {labels: [{key: environment, operator: in, values: [dev]}]}. May be repeated; one of them has to match. DeployItems without Target always match.")
	command.Flags().BoolVar(&flags.targets.AllowInsecureTLS, "insecure-kubeconfig-tls", false,
		"Accept Targets that skip the verification of the server's certificate.")
	flags.targets.bindFlags(command.Flags())
	flags.targets.bindSelfFlag(command.Flags())
	flags.environment.bindFlags(command.Flags())
	command.Flags().BoolVar(&flags.targets.LegacyTokens, "legacy-target-tokens", false,
		"Request tokens for Targets with oidcConfig or selfConfig by the rules of Gardener Landscaper: of every ServiceAccount, for every audience, for any time.")
	command.Flags().DurationVar(&flags.maxTimeout, "max-deploy-item-timeout", maxItemTimeout,
		"The longest timeout of a DeployItem, also of those with none; 0 means no limit.")
	command.Flags().DurationVar(&flags.minContinuous, "min-continuous-interval", contract.DefaultMinContinuousInterval,
		"The least time between the end of a job of a DeployItem and the next one that its continuousReconcile starts.")
	flags.jitter.BindFlags(command.Flags())
	return command, command.Flags(), flags
}

func (f *deployerFlags) run(ctx context.Context, flags *pflag.FlagSet, build builder) error {
	warnings, err := f.readFile(flags)
	if err != nil {
		return err
	}
	if err := f.targets.check(); err != nil {
		return err
	}
	options, err := f.contractOptions()
	if err != nil {
		return err
	}
	if err := f.environment.join(ctx, &f.process); err != nil {
		return err
	}
	mgr, err := f.start(f.restrict)
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		ctrl.Log.Info("a setting of the configuration file has no effect", "file", f.file, "warning", warning)
	}
	deployer, cleanUp, err := build(mgr, f)
	if err != nil {
		return err
	}
	defer cleanUp()
	options.Sources = f.sources
	if options.Recorder, err = f.recorder(mgr); err != nil {
		return fmt.Errorf("create the event recorder: %w", err)
	}
	if options.Clients, err = f.clients(mgr); err != nil {
		return err
	}
	options.Metrics = measure(mgr)
	if err := contract.Serve(mgr, deployer, options); err != nil {
		return fmt.Errorf("set the deployer up: %w", err)
	}
	if err := f.recordPanics(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// clients opens Targets.
func (f *deployerFlags) clients(mgr ctrl.Manager) (*target.Clients, error) {
	host, err := f.environment.host(&f.process)
	if err != nil {
		return nil, err
	}
	landscaper := mgr.GetConfig()
	if f.link != nil { // whose certificates are not in the configuration
		if landscaper, err = f.plainConfig(); err != nil {
			return nil, err
		}
	}
	options := f.targets.Options
	options.Landscaper, options.Host = landscaper, host
	return target.New(options)
}

// restrict makes the cache hold the DeployItems of the deployer's type and shard. Deployers of several Environments may be in one namespace: each leads.
func (f *deployerFlags) restrict(options *ctrl.Options, shard labels.Selector) {
	if f.environment.name != "" && f.watch.LabelSelector == "" {
		options.LeaderElectionID = "landscaper-" + f.name + "-" + f.environment.name // the chart makes this Lease
	} else if f.environment.name != "" {
		options.LeaderElectionID += "-" + f.environment.name
	}
	for object, of := range contract.CacheOptions(f.itemType) {
		if _, isItem := object.(*v1alpha1.DeployItem); isItem {
			of.Label = shard
		}
		options.Cache.ByObject[object] = of
	}
}

// contractOptions is what the flags say about the work on DeployItems.
func (f *deployerFlags) contractOptions() (contract.Options, error) {
	selectors, err := parseSelectors(f.selectors)
	if f.environment.name != "" && len(selectors) == 0 {
		selectors = f.environment.selectors()
	}
	return contract.Options{
		Identity: f.ownIdentity(), Version: version, TargetSelectors: selectors,
		Concurrency: f.concurrent, MinRetryDelay: f.rate.MinRetryDelay, MaxRetryDelay: f.rate.MaxRetryDelay,
		MaxTimeout:       f.maxTimeout,
		JitterPercentage: f.jitter.Percentage, MinContinuousInterval: f.minContinuous,
		SkipPullSecrets: !f.logsIn(),
		AnyTargetType:   f.itemType == v1alpha1.MockDeployItemType,
		UnopenedTargets: f.itemType == v1alpha1.ContainerDeployItemType,
		TargetsOnly:     f.environment.name != "",
		Liveness:        f.liveness(), RefuseUnknownKeys: f.strict,
	}, err
}

// logsIn reports whether the deployer uses the registry logins of Contexts.
func (f *deployerFlags) logsIn() bool {
	return f.itemType == v1alpha1.HelmDeployItemType || f.itemType == v1alpha1.ContainerDeployItemType
}

// liveness says where the deployer shows that it is alive: beside the controller. From another cluster it has no rights there; the agent speaks for it.
func (f *deployerFlags) liveness() *notify.LivenessOptions {
	own := f.ownNamespace()
	if own == "" || f.environment.name != "" {
		return nil
	}
	return &notify.LivenessOptions{Namespace: own, Namespaces: f.watchedNamespaces(), LabelSelector: f.watch.LabelSelector}
}

// ownIdentity tells deployers of one type apart that carry out different shards.
func (f *deployerFlags) ownIdentity() string {
	switch {
	case f.identity != "":
		return f.identity
	case f.watch.LabelSelector == "":
		return f.name
	}
	return leaderelection.GenerateID(f.name, f.watch.LabelSelector)
}

// parseSelectors reads the values of --target-selector.
func parseSelectors(texts []string) ([]v1alpha1.TargetSelector, error) {
	var selectors []v1alpha1.TargetSelector
	for _, text := range texts {
		var selector v1alpha1.TargetSelector
		if err := yaml.UnmarshalStrict([]byte(text), &selector); err != nil {
			return nil, fmt.Errorf("--target-selector %q: %w", text, err)
		}
		if len(selector.Targets)+len(selector.Annotations)+len(selector.Labels) == 0 {
			return nil, fmt.Errorf("--target-selector %q selects every Target; give targets, annotations or labels, or leave the flag out", text)
		}
		selectors = append(selectors, selector)
	}
	return selectors, nil
}

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
