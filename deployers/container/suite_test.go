// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		ControllerManager: true, Audit: true, Registry: true, LandscaperCRDs: true, Flux: true,
		AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

func newScheme(t testing.TB) *runtime.Scheme {
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	return scheme
}

// hostNamespace makes a namespace that admits only Pods of the Pod Security level "restricted".
func hostNamespace(t *testing.T, p *platform.Platform) string {
	t.Helper()
	name := p.Namespace(t)
	patch := `{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"}}}`
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	require.NoError(t, p.Client().Patch(t.Context(), namespace, client.RawPatch("application/merge-patch+json", []byte(patch))))
	return name
}

// hostOf connects to a cluster without a cache.
func hostOf(t testing.TB, config *rest.Config) *target.Cluster {
	t.Helper()
	direct, err := client.New(config, client.Options{Scheme: newScheme(t)})
	require.NoError(t, err)
	watcher, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	return &target.Cluster{Name: "host", Config: config, Client: direct, Dynamic: watcher, Mapper: direct.RESTMapper()}
}

// served is a namespace whose DeployItems a running container deployer carries out, with Pods in another namespace.
type served struct {
	t         *testing.T
	p         *platform.Platform
	namespace string
	host      string
	deployer  *Deployer
	kubelet   *processes
	options   Options
	// sound is the host cluster for the test itself.
	sound *target.Cluster
	// concurrency is how many items are worked on at the same time; 0 is the default.
	concurrency int
	// others are more namespaces with items.
	others []string
	// stop ends the deployer.
	stop func()
}

// sidecarImage is what the test kubelet knows as this program.
var sidecarImage = containerv1alpha1.ContainerSpec{Image: "registry.invalid/landscaper:test"}

// serve starts a deployer and a kubelet.
func serve(t *testing.T, adjust ...func(*Options)) *served {
	t.Helper()
	s := prepare(t, adjust...)
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

// prepare starts a kubelet.
func prepare(t *testing.T, adjust ...func(*Options)) *served {
	t.Helper()
	p := platform.Shared(t)
	s := &served{t: t, p: p, namespace: p.Namespace(t), host: hostNamespace(t, p)}
	s.kubelet = runPods(t, p, s.host)
	registries, err := oci.New(oci.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = registries.Close() })
	store, err := fetch.New(fetch.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	s.sound = hostOf(t, p.RestConfig)
	s.options = Options{
		Host: s.sound, Namespace: s.host, Identity: "test", Init: sidecarImage, Wait: sidecarImage,
		Access: components.Access{Registries: registries, Artifacts: store},
	}
	for _, change := range adjust {
		change(&s.options)
	}
	return s
}

// start starts the deployer, also after stop.
func (s *served) start() {
	s.t.Helper()
	namespaces := map[string]cache.Config{s.namespace: {}}
	for _, other := range s.others {
		namespaces[other] = cache.Config{}
	}
	mgr, err := ctrl.NewManager(s.p.RestConfig, ctrl.Options{
		Scheme: newScheme(s.t), Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: namespaces},
	})
	require.NoError(s.t, err)
	s.options.Live = mgr.GetAPIReader()
	s.deployer, err = New(s.options)
	require.NoError(s.t, err)
	require.NoError(s.t, s.deployer.Clean(mgr))
	clients, err := target.New(target.Options{})
	require.NoError(s.t, err)
	require.NoError(s.t, contract.Serve(mgr, s.deployer, contract.Options{
		Identity: "test", Version: "test", Clients: clients, UnopenedTargets: true, Concurrency: s.concurrency, MinContinuousInterval: time.Second, MinRetryDelay: 50 * time.Millisecond,
	}))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	s.stop = func() {
		stop()
		assert.NoError(s.t, <-ended)
		s.stop = func() {}
	}
}

// in is the same deployer for a part of the test.
func (s *served) in(t *testing.T) *served {
	copied := *s
	copied.t = t
	return &copied
}

// script is a configuration that runs a script of a shell.
func script(text string) string {
	raw, _ := json.Marshal(text)
	return "image: registry.invalid/shell:1\ncommand: [sh, -ec]\nargs: [" + string(raw) + "]\n"
}

func (s *served) item(name, config string) *v1alpha1.DeployItem {
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	item.Spec.Type = v1alpha1.ContainerDeployItemType
	item.Spec.Configuration = s.config(config)
	return item
}

// create creates an item and starts its first job.
func (s *served) create(config string) *v1alpha1.DeployItem {
	s.t.Helper()
	return s.add(s.item("item", config))
}

func (s *served) add(item *v1alpha1.DeployItem) *v1alpha1.DeployItem {
	s.t.Helper()
	require.NoError(s.t, s.p.Client().Create(s.t.Context(), item))
	s.begin(item)
	return item
}

func (s *served) config(text string) *runtime.RawExtension {
	raw, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "NS", s.namespace)))
	require.NoError(s.t, err)
	return &runtime.RawExtension{Raw: raw}
}

// configure gives an item another configuration and starts a job.
func (s *served) configure(item *v1alpha1.DeployItem, config string) {
	s.t.Helper()
	base := item.DeepCopy()
	item.Spec.Configuration = s.config(config)
	require.NoError(s.t, s.p.Client().Patch(s.t.Context(), item, client.MergeFrom(base)))
	s.begin(item)
}

// begin starts a job, as an Execution does.
func (s *served) begin(item *v1alpha1.DeployItem) {
	s.t.Helper()
	require.NoError(s.t, client.IgnoreNotFound(platform.EditStatus(s.t.Context(), s.p.Client(), item, func(item *v1alpha1.DeployItem) {
		now := metav1.Now()
		item.Status.JobID, item.Status.JobIDGenerationTime = uuid.NewString(), &now
	})))
}

// interrupt ends the job of an item, as an Execution does.
func (s *served) interrupt(item *v1alpha1.DeployItem) {
	s.t.Helper()
	base := item.DeepCopy()
	item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, item.Status.JobID
	require.NoError(s.t, s.p.Client().Status().Patch(s.t.Context(), item, client.MergeFrom(base)))
}

func (s *served) await(object client.Object, done func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 60*time.Second)
	defer cancel()
	require.NoError(s.t, s.p.Await(ctx, object, done))
}

func (s *served) ended(item *v1alpha1.DeployItem) {
	s.t.Helper()
	s.await(item, func() bool { return item.Status.JobID == item.Status.JobIDFinished })
}

func (s *served) succeed(item *v1alpha1.DeployItem) {
	s.t.Helper()
	s.ended(item)
	require.Equal(s.t, v1alpha1.PhaseSucceeded, item.Status.Phase, "%+v", item.Status.LastError)
}

func (s *served) fail(item *v1alpha1.DeployItem, message string) {
	s.t.Helper()
	s.ended(item)
	require.Equal(s.t, v1alpha1.PhaseFailed, item.Status.Phase)
	require.Contains(s.t, item.Status.LastError.Message, message)
}

// remove deletes an item and waits until it is gone.
func (s *served) remove(item *v1alpha1.DeployItem) {
	s.t.Helper()
	require.NoError(s.t, s.p.Client().Delete(s.t.Context(), item))
	s.begin(item)
	ctx, cancel := context.WithTimeout(s.t.Context(), 60*time.Second)
	defer cancel()
	require.NoError(s.t, s.p.AwaitGone(ctx, item))
}

// exports returns the exports of an item.
func (s *served) exports(item *v1alpha1.DeployItem) string {
	s.t.Helper()
	require.NotNil(s.t, item.Status.ExportReference)
	secret := &corev1.Secret{}
	require.NoError(s.t, s.p.Client().Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: item.Status.ExportReference.Name}, secret))
	return string(secret.Data["config"])
}

func (s *served) podName(item *v1alpha1.DeployItem) string {
	return namesOf(keyOf(item), s.options.Identity).base
}

func (s *served) pod(item *v1alpha1.DeployItem) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.host, Name: s.podName(item)}}
}

// awaitPod waits until the Pod of an item is as it should be, for example running.
func (s *served) awaitPod(item *v1alpha1.DeployItem, phase corev1.PodPhase) *corev1.Pod {
	s.t.Helper()
	pod := s.pod(item)
	s.await(pod, func() bool { return pod.Status.Phase == phase })
	return pod
}

// left returns the names of the objects of a deployer on the host cluster, by kind.
func (s *served) left() map[string][]string {
	s.t.Helper()
	found := map[string][]string{}
	options := s.options
	options.Host = s.sound
	for _, kind := range kinds {
		objects, err := list(s.t.Context(), &options, kind, selectorOf(s.options.Identity))
		require.NoError(s.t, err)
		for i := range objects {
			found[kind.Kind] = append(found[kind.Kind], objects[i].Name)
		}
	}
	return found
}

// awaitLeft waits until only objects of some kinds are left.
func (s *served) awaitLeft(check func(map[string][]string) bool) {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return check(s.left()) }, pace.Within(10*time.Second), 20*time.Millisecond, "%v", s.left())
}

func (s *served) status(item *v1alpha1.DeployItem) *containerv1alpha1.ProviderStatus {
	s.t.Helper()
	require.NotNil(s.t, item.Status.ProviderStatus)
	recorded, err := containerv1alpha1.DecodeStatus(item.Status.ProviderStatus.Raw)
	require.NoError(s.t, err)
	return recorded
}

func keyIn(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}
