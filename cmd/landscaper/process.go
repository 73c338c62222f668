// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/fluxcd/pkg/runtime/acl"
	runtimeclient "github.com/fluxcd/pkg/runtime/client"
	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/events"
	"github.com/fluxcd/pkg/runtime/jitter"
	"github.com/fluxcd/pkg/runtime/leaderelection"
	"github.com/fluxcd/pkg/runtime/logger"
	"github.com/fluxcd/pkg/runtime/metrics"
	"github.com/fluxcd/pkg/runtime/pprof"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flux-landscaper/flux-landscaper/agent"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// process holds the flags that sub-commands share; they are those of every Flux controller.
type process struct {
	name            string
	metricsAddr     string
	healthAddr      string
	eventsAddr      string
	kubeconfig      string
	concurrent      int
	gracefulTimeout time.Duration
	client          runtimeclient.Options
	logging         logger.Options
	leader          leaderelection.Options
	acl             acl.Options
	verifiedSources bool
	watch           runtimectrl.WatchOptions
	rate            runtimectrl.RateLimiterOptions
	jitter          jitter.IntervalOptions
	// namespaces are the only ones that the process watches, where there are any; only deployers have the flag.
	namespaces []string
	// link is the way to the landscaper cluster where it survives partitions; nil for a plain one.
	link *agent.Link
	// strict makes every unknown key of a document an error.
	strict bool
	// cacheSync is how long the caches may take to fill.
	cacheSync time.Duration
}

// bindServerFlags binds what every process has.
func (p *process) bindServerFlags(flags *pflag.FlagSet) {
	flags.StringVar(&p.metricsAddr, "metrics-addr", ":8080", "The address the metric endpoint binds to.")
	flags.StringVar(&p.healthAddr, "health-addr", ":9440", "The address the health endpoint binds to.")
	flags.StringVar(&p.kubeconfig, "landscaper-kubeconfig", "",
		"Kubeconfig of the cluster with the landscaper objects; by default KUBECONFIG or the own cluster.")
	flags.DurationVar(&p.gracefulTimeout, "graceful-shutdown-timeout", 600*time.Second,
		"The duration given to the reconciler to finish before forcibly stopping.")
	p.client.BindFlags(flags)
	p.logging.BindFlags(flags)
}

// bindFlags binds what every process has that works on objects.
func (p *process) bindFlags(flags *pflag.FlagSet, concurrent int) {
	p.bindServerFlags(flags)
	flags.StringVar(&p.eventsAddr, "events-addr", "", "The address of the events receiver.")
	flags.IntVar(&p.concurrent, "concurrent", concurrent,
		"The number of concurrent reconciles per controller; one namespace gets a quarter of them while others wait.")
	flags.BoolVar(&p.watch.AllNamespaces, "watch-all-namespaces", true,
		"Watch for resources in all namespaces, if set to false it will only watch the runtime namespace.")
	flags.StringVar(&p.watch.LabelSelector, "watch-label-selector", "",
		"Watch for Installations, Executions and DeployItems with matching labels e.g. 'sharding.fluxcd.io/key=shard1'.")
	flags.DurationVar(&p.cacheSync, "cache-sync-timeout", 2*time.Minute, "How long the caches may take to fill before the process ends.")
	flags.BoolVar(&p.strict, "refuse-unknown-keys", false,
		"Fail jobs for every unknown key of a blueprint, a deploy item or its configuration, not only for those that are near to a known one.")
	p.leader.BindFlags(flags)
	p.rate.BindFlags(flags)
}

// bindReferenceFlags binds what a process has that follows references to sources.
func (p *process) bindReferenceFlags(flags *pflag.FlagSet) {
	p.acl.BindFlags(flags)
	setDefault(flags, "no-cross-namespace-refs", "true")
	flags.BoolVar(&p.verifiedSources, "require-verified-sources", false,
		"Use only Flux sources that Flux has verified, whatever requireVerifiedSources of a Context says.")
}

// sourcePolicy says which Flux sources may be used.
func (p *process) sourcePolicy() flux.Policy {
	return flux.Policy{NoCrossNamespaceRefs: p.acl.NoCrossNamespaceRefs, RequireVerified: p.verifiedSources}
}

// setDefault replaces the default of a flag that a library has bound.
func setDefault(flags *pflag.FlagSet, name, value string) {
	flag := flags.Lookup(name)
	if err := flag.Value.Set(value); err != nil {
		panic(err)
	}
	flag.DefValue = value
}

// start sets the logger up and returns a manager with health, metrics and profiling endpoints. Adjust may change its options.
func (p *process) start(adjust func(*ctrl.Options, labels.Selector)) (ctrl.Manager, error) {
	logger.SetLogger(logger.NewLogger(p.logging))
	if p.jitter.Percentage > 99 {
		return nil, errors.New("--interval-jitter-percentage has to be less than 100")
	}
	restConfig, err := p.restConfig()
	if err != nil {
		return nil, err
	}
	restConfig.WarningHandlerWithContext = ctrllog.NewKubeAPIWarningLogger(ctrllog.KubeAPIWarningLoggerOptions{Deduplicate: true})
	selector, err := runtimectrl.GetWatchSelector(p.watch)
	if err != nil {
		return nil, fmt.Errorf("--watch-label-selector: %w", err)
	}
	options := p.managerOptions()
	if options.LeaderElectionConfig, err = p.home(); err != nil {
		return nil, err
	}
	adjust(&options, selector)
	target.CountByHost(restConfig)
	mgr, err := ctrl.NewManager(restConfig, options)
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	return mgr, errors.Join(addProbes(mgr), mgr.Add(startupPages{}))
}

// managerOptions is what the flags say about the manager.
func (p *process) managerOptions() ctrl.Options {
	options := ctrl.Options{
		Scheme:                        newScheme(),
		Metrics:                       metricsserver.Options{BindAddress: p.metricsAddr, ExtraHandlers: pprof.GetHandlers()},
		HealthProbeBindAddress:        p.healthAddr,
		GracefulShutdownTimeout:       &p.gracefulTimeout,
		LeaderElection:                p.leader.Enable,
		LeaderElectionReleaseOnCancel: p.leader.ReleaseOnCancel,
		LeaseDuration:                 &p.leader.LeaseDuration,
		RenewDeadline:                 &p.leader.RenewDeadline,
		RetryPeriod:                   &p.leader.RetryPeriod,
		LeaderElectionNamespace:       os.Getenv("RUNTIME_NAMESPACE"),
		LeaderElectionID:              leaderelection.GenerateID("landscaper-"+p.name, p.watch.LabelSelector),
		NewClient:                     protocol.NewClient,
		Client: client.Options{Cache: &client.CacheOptions{
			DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}},
		}},
		Cache:      cache.Options{DefaultTransform: protocol.StripManagedFields, ByObject: map[client.Object]cache.ByObject{}},
		Controller: config.Controller{RecoverPanic: ptr(true), MaxConcurrentReconciles: p.concurrent, CacheSyncTimeout: p.cacheSync},
	}
	if watched := p.watchedNamespaces(); len(watched) > 0 {
		options.Cache.DefaultNamespaces = map[string]cache.Config{}
		for _, namespace := range watched {
			options.Cache.DefaultNamespaces[namespace] = cache.Config{}
		}
	}
	return options
}

// home returns the connection to the cluster that holds the lease: the one in which the process runs, which may be another than that with the
// landscaper objects. It is nil when no leader is elected, and when both are the same.
func (p *process) home() (*rest.Config, error) {
	if !p.leader.Enable || p.kubeconfig == "" {
		return nil, nil
	}
	own, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("--enable-leader-election with --landscaper-kubeconfig keeps the lease in the own cluster; run in a cluster or set KUBECONFIG: %w", err)
	}
	return own, nil
}

func (p *process) restConfig() (*rest.Config, error) {
	if p.link != nil {
		config := p.link.Config()
		config.QPS, config.Burst = p.client.QPS, p.client.Burst
		return config, nil
	}
	return p.plainConfig()
}

// plainConfig leads to the landscaper cluster as the flags say.
func (p *process) plainConfig() (*rest.Config, error) {
	if p.kubeconfig == "" {
		return runtimeclient.GetConfigOrDie(p.client), nil
	}
	restConfig, err := clientcmd.BuildConfigFromFlags("", p.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("--landscaper-kubeconfig: %w", err)
	}
	restConfig.QPS, restConfig.Burst = p.client.QPS, p.client.Burst
	return restConfig, nil
}

// watchedNamespaces are the namespaces that the process watches, none for all.
func (p *process) watchedNamespaces() []string {
	switch {
	case len(p.namespaces) > 0:
		return p.namespaces
	case p.watch.AllNamespaces:
		return nil
	}
	return []string{os.Getenv("RUNTIME_NAMESPACE")}
}

// namespace is a namespace in which the process has all its rights, empty where it has them in all.
func (p *process) namespace() string {
	if watched := p.watchedNamespaces(); len(watched) > 0 {
		return watched[0]
	}
	return ""
}

// direct sets the logger up and returns a client without cache, for use before there is a manager.
func (p *process) direct() (client.Client, error) {
	logger.SetLogger(logger.NewLogger(p.logging))
	config, err := p.restConfig()
	if err != nil {
		return nil, err
	}
	direct, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	return direct, nil
}

// ownNamespace is the namespace of the process on the landscaper cluster, empty where it runs in another cluster, or nobody says where.
func (p *process) ownNamespace() string {
	if p.kubeconfig != "" {
		return ""
	}
	return os.Getenv("RUNTIME_NAMESPACE")
}

// recordPanics shows the panics of the process to its operator, in its own namespace. Elsewhere they stand in the log alone.
func (p *process) recordPanics(mgr ctrl.Manager) error {
	own := p.ownNamespace()
	if own == "" {
		return nil
	}
	if err := notify.RecordPanics(mgr, own); err != nil {
		return fmt.Errorf("record panics: %w", err)
	}
	return nil
}

// backoff returns the delays between retries.
func (p *process) backoff() *queue.Backoff {
	return queue.NewBackoff(p.rate.MinRetryDelay, p.rate.MaxRetryDelay).WithJitter(queue.Jitter(p.jitter.Percentage))
}

// recorder returns the recorder of events, to Kubernetes and to --events-addr.
func (p *process) recorder(mgr ctrl.Manager) (*events.Recorder, error) {
	return notify.NewRecorder(mgr, ctrl.Log, p.eventsAddr, "landscaper-"+p.name, ctrlmetrics.Registry)
}

// measure returns the metrics of all Flux controllers.
func measure(mgr ctrl.Manager) runtimectrl.Metrics {
	recorder := metrics.NewRecorder()
	ctrlmetrics.Registry.MustRegister(recorder.Collectors()...)
	return runtimectrl.NewMetrics(mgr, recorder, v1alpha1.Finalizer)
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, flux.AddToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return scheme
}

func ptr[T any](value T) *T { return &value }

// syncCheck is how long the check for readiness waits for caches; probes themselves end after a second.
const syncCheck = 500 * time.Millisecond

// addProbes adds the checks behind /healthz, which answers while the process runs, and /readyz, which answers while it can work.
func addProbes(mgr ctrl.Manager) error {
	ready := &readiness{synced: mgr.GetCache().WaitForCacheSync}
	return errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches", ready.check), mgr.Add(ready))
}

// readiness is true from the first time that all caches are synced until the process stops, except while a cache that came later, such as
// those of a new leader, is not synced yet.
type readiness struct {
	synced  func(context.Context) bool
	running atomic.Bool
}

// Start is called when the caches are synced that every replica has.
func (r *readiness) Start(ctx context.Context) error {
	r.running.Store(true)
	defer r.running.Store(false)
	<-ctx.Done()
	return nil
}

// NeedLeaderElection returns false: a replica that waits to lead is ready.
func (r *readiness) NeedLeaderElection() bool { return false }

func (r *readiness) check(request *http.Request) error {
	if !r.running.Load() {
		return errors.New("the process does not work yet or no more")
	}
	ctx, cancel := context.WithTimeout(request.Context(), syncCheck)
	defer cancel()
	if !r.synced(ctx) {
		return fmt.Errorf("caches are not synced within %s", syncCheck)
	}
	return nil
}
