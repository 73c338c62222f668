// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions/check"
	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"github.com/fluxcd/pkg/runtime/metrics"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// patience is how long a test waits for something that should happen at once.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		LandscaperCRDs: true, Audit: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

// scripted is a deployer whose calls are functions of the test.
type scripted struct {
	itemType string
	ensure   func(ctx context.Context, item *Item) (Outcome, error)
	remove   func(ctx context.Context, item *Item) (Outcome, error)

	mu              sync.Mutex
	ensured, erased int
}

func (d *scripted) Name() string { return strings.ReplaceAll(d.itemType, "/", ".") }
func (d *scripted) Type() string { return d.itemType }

func (d *scripted) Ensure(ctx context.Context, item *Item) (Outcome, error) {
	d.count(&d.ensured)
	if d.ensure == nil {
		return Outcome{Done: true}, nil
	}
	return d.ensure(ctx, item)
}

func (d *scripted) Delete(ctx context.Context, item *Item) (Outcome, error) {
	d.count(&d.erased)
	if d.remove == nil {
		return Outcome{Done: true}, nil
	}
	return d.remove(ctx, item)
}

func (d *scripted) count(counter *int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*counter++
}

func (d *scripted) calls() (ensured, erased int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.ensured, d.erased
}

// stage is a namespace with one deployer serving the items of one type.
type stage struct {
	t         *testing.T
	p         *platform.Platform
	namespace string
	deployer  *scripted
	// served is what serves the items, the scripted deployer or something around it.
	served   Deployer
	user     *rest.Config
	sent     *recording
	stop     func()
	recorder *metrics.Recorder
	// seen is what the deployer knows of the landscaper cluster.
	seen cache.Cache
}

// newStage starts a deployer as a user of its own, whose requests can be counted.
func newStage(t *testing.T, deployer *scripted, options Options) *stage {
	t.Helper()
	return newStageOf(t, deployer, deployer, options)
}

// newPlanningStage starts a deployer that plans its jobs.
func newPlanningStage(t *testing.T, deployer *scripted) *stage {
	t.Helper()
	return newStageOf(t, deployer, planning{scripted: deployer}, Options{})
}

func newStageOf(t *testing.T, deployer *scripted, served Deployer, options Options) *stage {
	t.Helper()
	s := &stage{t: t, p: platform.Shared(t), deployer: deployer, served: served, recorder: metrics.NewRecorder()}
	s.namespace = s.p.Namespace(t)
	deployer.itemType = "example.com/" + s.namespace
	var err error
	s.user, err = s.p.NewUser(s.namespace, "system:masters")
	require.NoError(t, err)
	s.sent = &recording{namespace: s.namespace}
	s.user.WrapTransport = s.sent.wrap
	require.NoError(t, s.client().Create(t.Context(), &v1alpha1.Context{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: v1alpha1.DefaultContextName},
	}))
	s.start(options)
	return s
}

// start runs the deployer until the test ends or stop is called.
func (s *stage) start(options Options) {
	s.t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(s.t, clientgoscheme.AddToScheme(scheme))
	require.NoError(s.t, v1alpha1.AddToScheme(scheme))
	mgr, err := ctrl.NewManager(s.user, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{ByObject: CacheOptions(s.deployer.Type())},
	})
	require.NoError(s.t, err)
	if options.Clients == nil {
		options.Clients, err = target.New(target.Options{Landscaper: s.user})
		require.NoError(s.t, err)
	}
	if options.Identity == "" {
		options.Identity = "test"
	}
	options.Metrics = runtimectrl.NewMetrics(mgr, s.recorder, v1alpha1.Finalizer)
	require.NoError(s.t, Serve(mgr, s.served, options))
	s.stop = platform.Run(context.Background(), s.t, mgr)
	s.seen = mgr.GetCache()
	require.True(s.t, s.seen.WaitForCacheSync(s.context()))
}

func (s *stage) client() client.Client { return s.p.Client() }

func (s *stage) context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	s.t.Cleanup(cancel)
	return ctx
}

// create creates an item as an Execution does: with finalizer, and without job.
func (s *stage) create(name string, change ...func(*v1alpha1.DeployItem)) *v1alpha1.DeployItem {
	s.t.Helper()
	item := &v1alpha1.DeployItem{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Finalizers: []string{v1alpha1.Finalizer}},
		Spec:       v1alpha1.DeployItemSpec{Type: s.deployer.Type(), Configuration: &runtime.RawExtension{Raw: []byte(`{"a":"b"}`)}},
	}
	for _, c := range change {
		c(item)
	}
	require.NoError(s.t, s.client().Create(s.t.Context(), item))
	return item
}

// trigger hands a new job to an item as an Execution does, and returns when that was.
func (s *stage) trigger(item *v1alpha1.DeployItem) time.Time {
	s.t.Helper()
	now := time.Now()
	s.change(item, func() {
		item.Status.JobID = uuid.NewString()
		item.Status.JobIDGenerationTime = &metav1.Time{Time: now}
	})
	return now
}

// change changes the status of an item, whatever else happens to it.
func (s *stage) change(item *v1alpha1.DeployItem, change func()) {
	s.t.Helper()
	require.NoError(s.t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := s.client().Get(s.t.Context(), client.ObjectKeyFromObject(item), item); err != nil {
			return err
		}
		change()
		return s.client().Status().Update(s.t.Context(), item)
	}))
}

// finished waits for the end of the job that trigger handed over and checks the conditions.
func (s *stage) finished(item *v1alpha1.DeployItem) *v1alpha1.DeployItem {
	s.t.Helper()
	job := item.Status.JobID
	err := s.p.Await(s.context(), item, func() bool { return item.Status.JobID == job && item.Job().IsIdle() })
	require.NoError(s.t, err)
	s.checkConditions(item, check.NewChecker(s.client(), &check.Conditions{
		NegativePolarity: []string{meta.StalledCondition, meta.ReconcilingCondition},
	}))
	return item
}

// underWay waits for a state of the running job and checks the conditions.
func (s *stage) underWay(item *v1alpha1.DeployItem, done func() bool) {
	s.t.Helper()
	require.NoError(s.t, s.p.Await(s.context(), item, done))
	s.checkConditions(item, check.NewInProgressChecker(s.client()))
}

func (s *stage) checkConditions(item *v1alpha1.DeployItem, checker *check.Checker) {
	s.t.Helper()
	checker.DisableFetch = true
	item.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("DeployItem"))
	failures, warnings := checker.Check(s.t.Context(), item)
	assert.NoError(s.t, failures)
	assert.NoError(s.t, warnings)
}

// requests returns what the deployer sent to the landscaper cluster since a time, as "verb resource/subresource", without watches,
// lists and events.
func (s *stage) requests(since time.Time) []string { return s.sent.since(since) }

// withTarget creates a Target of the platform's own cluster and makes the item name it.
func (s *stage) withTarget(name string) func(*v1alpha1.DeployItem) {
	s.t.Helper()
	s.createTarget(name, nil)
	return named(name)
}

func named(target string) func(*v1alpha1.DeployItem) {
	return func(item *v1alpha1.DeployItem) { item.Spec.Target = &v1alpha1.DeployItemTarget{Name: target} }
}

func (s *stage) createTarget(name string, labels map[string]string) {
	s.t.Helper()
	raw, err := json.Marshal(map[string]any{"kubeconfig": string(s.p.Kubeconfig)})
	require.NoError(s.t, err)
	require.NoError(s.t, s.client().Create(s.t.Context(), &v1alpha1.Target{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: labels},
		Spec:       v1alpha1.TargetSpec{Type: v1alpha1.KubernetesClusterTargetType, Configuration: &v1alpha1.AnyJSON{RawMessage: raw}},
	}))
}

func timeout(limit time.Duration) func(*v1alpha1.DeployItem) {
	return func(item *v1alpha1.DeployItem) { item.Spec.Timeout = &v1alpha1.Duration{Duration: limit} }
}

// patch changes an item, whatever the deployer writes meanwhile.
func (s *stage) patch(item *v1alpha1.DeployItem, change ...func(*v1alpha1.DeployItem)) {
	s.t.Helper()
	before := item.DeepCopy()
	for _, c := range change {
		c(item)
	}
	require.NoError(s.t, s.client().Patch(s.t.Context(), item, client.MergeFrom(before)))
}

// configMap returns a ConfigMap of the stage's namespace, which stands for a deployed object.
func (s *stage) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
}

// waitForConfigMap is an Ensure that waits until the ConfigMap with the name of the item exists on the target.
func waitForConfigMap(ctx context.Context, item *Item) (Outcome, error) {
	key := client.ObjectKeyFromObject(item.DeployItem)
	err := item.Target.Client.Get(ctx, key, &corev1.ConfigMap{})
	if client.IgnoreNotFound(err) != nil {
		return Outcome{}, err
	}
	watched := Watched{Cluster: item.Target, APIVersion: "v1", Kind: "ConfigMap", Namespace: key.Namespace, Name: key.Name}
	return Outcome{Done: err == nil, Waiting: "ConfigMap " + key.Name + " does not exist", Watch: []Watched{watched}}, nil
}

func keyOfItem(item *v1alpha1.DeployItem) client.ObjectKey { return client.ObjectKeyFromObject(item) }

// requestsOf returns the requests about one resource.
func (s *stage) requestsOf(since time.Time, resource string) []string {
	s.t.Helper()
	var sent []string
	for _, request := range s.requests(since) {
		if strings.Contains(request, " "+resource) {
			sent = append(sent, request)
		}
	}
	return sent
}

// platformCluster opens the platform's cluster without a Target object.
func platformCluster(t *testing.T) *target.Cluster {
	t.Helper()
	config := platform.Shared(t).RestConfig
	c, err := client.New(config, client.Options{})
	require.NoError(t, err)
	d, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return &target.Cluster{Config: config, Client: c, Dynamic: d, Mapper: c.RESTMapper()}
}
