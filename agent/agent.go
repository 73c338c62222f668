// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package agent joins a fenced cluster to a landscaper cluster: it connects outwards only, keeps the Environment that describes the cluster, gives
// the deployers of the cluster their access, and runs the helm deployer that installs them. Credentials of the cluster stay in it.
// It promises nothing to others.
package agent

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// Options of an Agent. All are required but Registry.
type Options struct {
	// Configuration says which Environment the agent keeps.
	Configuration *Configuration
	// Link leads to the landscaper cluster.
	Link *Link
	// Host is the connection to the own cluster, as its deployers reach it, too.
	Host *rest.Config
	// Instance tells agents of one Environment apart, and stays the same when the process restarts.
	Instance string
	// Version of the agent, for its Lease.
	Version string
	// Scheme knows the kinds of both clusters.
	Scheme *runtime.Scheme
	// Cache says what the deployer needs in the cache of the manager that Deploy gets.
	Cache map[client.Object]cache.ByObject
	// Deploy adds the helm deployer to a manager of the landscaper cluster. What it returns is called when that has stopped.
	Deploy func(mgr ctrl.Manager) (func(), error)
	// GracefulTimeout is the time that the deployer has to end what it does.
	GracefulTimeout time.Duration
	// Recorder of events in the own cluster, and the object that they are about.
	Recorder record.EventRecorder
	Subject  client.Object
	// Registry gets the metrics; nil leaves them out.
	Registry prometheus.Registerer
}

// Agent keeps one Environment. Make it with New.
type Agent struct {
	options Options
	host    *host
	pulse   *pulse
	// enrol gets the credential for the landscaper cluster; nil where the kubeconfig has it.
	enrol *enrol
	// watching is why the agent does not see what it works on at the landscaper cluster, and keeping why it does not keep the Environment.
	watching, keeping *trouble
	// registered says that the Environment was as it should be once.
	registered atomic.Bool
	// again asks for one more look at the Environment.
	again nudge
}

// CacheOptions says what the cache of the manager of the own cluster holds: the objects of the agent only.
func CacheOptions(config *Configuration) map[client.Object]cache.ByObject { return hostCache(config) }

// Delays after failures.
const (
	minRetry = 500 * time.Millisecond
	maxRetry = time.Minute
)

// New adds an Agent to a manager of the own cluster. The error says what of the connections is unusable.
func New(mgr ctrl.Manager, options Options) (*Agent, error) {
	server, err := newHostServer(options.Host)
	if err != nil {
		return nil, err
	}
	a := &Agent{options: options, again: newNudge()}
	a.watching, a.keeping = &trouble{say: a.say}, &trouble{say: a.say}
	a.host = &host{
		config: options.Configuration, server: server, client: mgr.GetClient(), live: mgr.GetAPIReader(), now: time.Now,
		ready: make(chan struct{}), retry: queue.NewBackoff(minRetry, maxRetry), say: a.say, trouble: &trouble{say: a.say}, again: newNudge(),
	}
	if options.Link.credential != nil {
		a.enrol = &enrol{
			config: options.Configuration, link: options.Link, client: mgr.GetClient(), live: mgr.GetAPIReader(), say: a.say, now: time.Now,
			retry: queue.NewBackoff(enrolRetry, maxEnrolRetry), enrolled: make(chan struct{}), trouble: &trouble{say: a.say},
		}
	}
	leases, err := coordinationclient.NewForConfig(options.Link.probeConfig())
	if err != nil {
		return nil, fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	a.pulse = &pulse{
		link: options.Link, say: a.say, connected: newConnectedMetric(options), changed: a.linkChanged, look: a.host.look,
		due: make(chan struct{}, 1),
		holder: newHolder(leases.Leases(options.Configuration.LandscaperNamespace), options.Configuration.leaseName(),
			options.Instance, options.Version, time.Now),
	}
	return a, errors.Join(a.host.setup(mgr), mgr.Add(a))
}

// newConnectedMetric says whether the landscaper cluster answers.
func newConnectedMetric(options Options) prometheus.Gauge {
	connected := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "landscaper_agent_connected", Help: "Whether the agent reaches the landscaper cluster and holds its Environment: 1, else 0.",
		ConstLabels: prometheus.Labels{"environment": options.Configuration.Name},
	})
	if options.Registry != nil {
		options.Registry.MustRegister(connected)
	}
	return connected
}

func (a *Agent) say(eventType, reason, message string) {
	a.options.Recorder.Event(a.options.Subject, eventType, reason, message)
	ctrl.Log.WithName("agent").Info(message, "reason", reason, "environment", a.options.Configuration.Name)
}

// Ready is nil from the first registration of the Environment on, also while the landscaper cluster is not reached later.
func (a *Agent) Ready(*http.Request) error {
	if a.registered.Load() {
		return nil
	}
	for _, part := range a.parts() {
		if problem := part.problem(); problem != "" {
			return errors.New(problem)
		}
	}
	return fmt.Errorf("environment %q is not registered yet", a.options.Configuration.Name)
}

// parts are what may keep the agent from the registration, in the order in which they come.
func (a *Agent) parts() []*trouble {
	parts := []*trouble{a.host.trouble, a.keeping, a.watching}
	if a.enrol != nil {
		parts = slices.Insert(parts, 1, a.enrol.trouble)
	}
	return parts
}

// notWatched is called for each attempt to watch something of the landscaper cluster that has failed.
func (a *Agent) notWatched(ctx context.Context, of *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, of, err)
	if apierrors.IsForbidden(err) {
		a.watching.met(err, byLandscaper)
	}
}

// NeedLeaderElection returns false: the Lease of the Environment decides which agent works.
func (a *Agent) NeedLeaderElection() bool { return false }

// Start works until ctx ends. An error says that another agent has taken the Environment over, or that a part has failed.
func (a *Agent) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-a.host.ready:
	}
	if a.enrol != nil {
		go a.enrol.run(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-a.enrol.enrolled:
		}
	}
	// The Lease is renewed until nothing works any more.
	beating, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	held, ended := make(chan struct{}), make(chan struct{})
	var lost error
	go func() {
		defer close(ended)
		lost = a.pulse.run(beating, held)
	}()
	select {
	case <-ctx.Done():
		return nil
	case <-ended:
		return lost
	case <-held:
	}
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-ended
		cancel()
	}()
	err := a.work(working)
	stop()
	<-ended
	if lost != nil {
		return lost
	}
	a.release(ctx)
	return err
}

// release gives the Lease back; a landscaper cluster that does not answer learns it by the clock.
func (a *Agent) release(ctx context.Context) {
	if err := a.pulse.holder.release(context.WithoutCancel(ctx)); err != nil {
		ctrl.Log.WithName("agent").Info("the Lease of the Environment is not given back", "reason", err.Error())
	}
}

// work keeps the Environment and deploys until ctx ends.
func (a *Agent) work(ctx context.Context) error {
	defer context.AfterFunc(ctx, a.options.Link.retire)()
	mgr, err := ctrl.NewManager(a.options.Link.Config(), a.managerOptions())
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	environment := &environment{
		config: a.options.Configuration, link: a.options.Link, host: a.host, client: mgr.GetClient(), live: mgr.GetAPIReader(),
		retry: queue.NewBackoff(minRetry, maxRetry), say: a.say, trouble: a.keeping,
		registered: a.noteRegistered, again: a.again,
	}
	if err := environment.setup(mgr); err != nil {
		return fmt.Errorf("keep the Environment: %w", err)
	}
	cleanUp, err := a.options.Deploy(mgr)
	if err != nil {
		return err
	}
	defer cleanUp()
	return mgr.Start(ctx)
}

// noteRegistered lets the landscaper cluster see a sign of life at once: what it has seen of the agent before there was an Environment may be old.
func (a *Agent) noteRegistered() {
	a.registered.Store(true)
	a.watching.over()
	a.pulse.soon()
}

// linkChanged is called when the files of the link have changed: the Environment says how the landscaper cluster is reached.
func (a *Agent) linkChanged() {
	a.again.again()
	ctrl.Log.WithName("agent").Info("the kubeconfig of the landscaper cluster has changed and is used from now on")
}

// patience is how long caches may take to fill: a landscaper cluster that goes away meanwhile comes back at some time.
const patience = 10 * 365 * 24 * time.Hour

func (a *Agent) managerOptions() ctrl.Options {
	own, namespace := a.options.Configuration, a.options.Configuration.LandscaperNamespace
	objects := map[client.Object]cache.ByObject{
		&v1alpha1.Environment{}: {Field: fields.OneTermEqualSelector("metadata.name", own.Name), Transform: protocol.StripManagedFields},
	}
	maps.Copy(objects, a.options.Cache)
	isTrue := true
	return ctrl.Options{
		Scheme: a.options.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		GracefulShutdownTimeout: &a.options.GracefulTimeout,
		Client:                  client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}}}},
		Cache: cache.Options{
			DefaultTransform: protocol.StripManagedFields, DefaultNamespaces: map[string]cache.Config{namespace: {}}, ByObject: objects,
			DefaultWatchErrorHandler: a.notWatched,
		},
		Controller: config.Controller{RecoverPanic: &isTrue, CacheSyncTimeout: patience},
	}
}

// nudge queues one request when a controller starts, because nothing that exists may ask for it, and whenever it is asked to.
type nudge chan event.GenericEvent

func newNudge() nudge {
	n := make(nudge, 1)
	n.again()
	return n
}

// again queues the request, once the controller has started.
func (n nudge) again() {
	select {
	case n <- event.GenericEvent{Object: &corev1.Secret{}}: // the request is the same for each
	default:
	}
}

// source is for the controller.
func (n nudge) source(request ctrl.Request) source.Source {
	return source.Channel(n, handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []ctrl.Request { return []ctrl.Request{request} }))
}

// trouble is what keeps a part of the agent from its work. It is shown while the agent is not ready, and told by an event once for each reason. It is
// safe for concurrent use.
type trouble struct {
	say func(eventType, reason, message string)

	mu sync.Mutex
	// text is the problem; empty is none. told is the reason of the event about it.
	text, told string
}

// problem is what is wrong; empty is nothing.
func (t *trouble) problem() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text
}

// show notes a problem without an event: it may be over at the next try.
func (t *trouble) show(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = text
}

// tell says a problem.
func (t *trouble) tell(reason, text string) {
	t.mu.Lock()
	isNew := t.told != reason
	t.text, t.told = text, reason
	t.mu.Unlock()
	if isNew {
		t.say(corev1.EventTypeWarning, reason, text)
	}
}

// over ends the problem.
func (t *trouble) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text, t.told = "", ""
}

// met shows an error, and tells one that only a person can end. Where it is of rights or a quota, refused says by which reason, and what to do.
func (t *trouble) met(err error, refused refusedBy) {
	text := err.Error()
	if apierrors.IsForbidden(err) {
		text += "; " + refused.cure
	}
	if isRefused(err) {
		t.tell(refused.reason, text)
		return
	}
	t.show(text)
}

// refusedBy is what to say where one of the clusters refuses something to the agent.
type refusedBy struct{ reason, cure string }

// The two clusters.
var (
	byLandscaper = refusedBy{"AgentRefused", "apply flux/agent-access for this Environment on the landscaper cluster, which gives the agent its rights"}
	byHost       = refusedBy{"HostAccessRefused", "let the quota, policy or right that the message names allow it; the rights of the agent in its own cluster are in flux/agent"}
)

// ofHost is an error of the own cluster.
type ofHost struct{ error }

// Unwrap returns the error.
func (e *ofHost) Unwrap() error { return e.error }

// refuser returns whose error it is.
func refuser(err error) refusedBy {
	if _, is := errors.AsType[*ofHost](err); is {
		return byHost
	}
	return byLandscaper
}

// isRefused reports whether an API server refused a request and will refuse it again: not for what has changed or is gone, nor for what there is too much of.
func isRefused(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return false
	}
	code := answer.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusTooManyRequests
}
