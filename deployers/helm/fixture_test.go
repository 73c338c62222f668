// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		Registry: true, Flux: true, Git: true, LandscaperCRDs: true, Audit: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	}))
}

const testTimeout = 5 * time.Minute

// config is spec.config of a DeployItem.
type config = map[string]any

// fixture is a namespace on the platform with one DeployItem for it.
type fixture struct {
	*testing.T
	ctx       context.Context
	platform  *platform.Platform
	namespace string
	cluster   *target.Cluster
	item      *v1alpha1.DeployItem
	context   *contract.Context
	memory    map[string]any
	options   helm.Options
	// planned is the job whose plan is recorded.
	planned string
	// targets are the Targets beside that of the item, by name.
	targets map[string]*target.Cluster
	// deployItems are those of the landscaper cluster that can be read, nil for none.
	deployItems client.Reader
	// ahead is what the last call recorded before it went on, nil when nothing.
	ahead *runtime.RawExtension
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	p := platform.Shared(t)
	registries, err := oci.New(oci.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	artifacts, err := fetch.New(fetch.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	f := &fixture{T: t, ctx: ctx, platform: p, namespace: p.Namespace(t), context: &contract.Context{}}
	f.cluster = f.open()
	f.options = helm.Options{Access: components.Access{
		Registries: registries, Artifacts: artifacts, Sources: p.Client(), Live: p.Client(),
		SourcePolicy: flux.Policy{NoCrossNamespaceRefs: true},
	}}
	f.item = &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{
		Name: "hello-item", Namespace: f.namespace, UID: types.UID(uuid.NewString()),
	}}
	f.newJob()
	return f
}

// open opens the platform's cluster as a Target.
func (f *fixture) open() *target.Cluster {
	f.Helper()
	return f.openBy(f.platform.Kubeconfig)
}

// openBy opens the cluster of a kubeconfig as a Target.
func (f *fixture) openBy(kubeconfig []byte) *target.Cluster {
	f.Helper()
	content, err := json.Marshal(map[string]string{"kubeconfig": string(kubeconfig)})
	require.NoError(f, err)
	object := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Name: "cluster", Namespace: f.namespace}}
	object.Spec.Type = v1alpha1.KubernetesClusterTargetType
	raw := v1alpha1.NewAnyJSON(content)
	object.Spec.Configuration = &raw
	clients, err := target.New(target.Options{})
	require.NoError(f, err)
	reader := singleTarget{object}
	cluster, err := clients.Open(f.ctx, reader, reader, object.Namespace, object.Name, target.Actor{})
	require.NoError(f, err)
	return cluster
}

// singleTarget is a reader that knows one Target.
type singleTarget struct{ object *v1alpha1.Target }

func (s singleTarget) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	s.object.DeepCopyInto(into.(*v1alpha1.Target))
	return nil
}

func (s singleTarget) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return nil
}

func (f *fixture) newJob() {
	f.item.Status.JobID = uuid.NewString()
	f.memory = map[string]any{}
}

// configure sets spec.config; name and namespace of the release have defaults.
func (f *fixture) configure(content config) {
	f.Helper()
	all := config{
		"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
		"name": "hello-world", "namespace": f.namespace,
	}
	maps.Copy(all, content)
	raw, err := json.Marshal(all)
	require.NoError(f, err)
	f.item.Spec.Configuration = &runtime.RawExtension{Raw: raw}
	f.item.Generation++
}

// deployer returns a new process, so to speak.
func (f *fixture) deployer() contract.Deployer {
	f.Helper()
	d, err := helm.New(f.options)
	require.NoError(f, err)
	return d
}

// contractItem is what the contract hands to the deployer.
func (f *fixture) contractItem() *contract.Item {
	return &contract.Item{
		DeployItem: f.item, Target: f.cluster, Context: f.context, Memory: f.memory, Targets: f.target, DeployItems: f.deployItems,
		Checkpoint: func(string) error { return f.ctx.Err() },
		Record: func(_ context.Context, status *runtime.RawExtension) error {
			f.item.Status.ProviderStatus, f.ahead = status, status
			return nil
		},
	}
}

// target opens another Target.
func (f *fixture) target(_ context.Context, name string) (*target.Cluster, error) {
	if cluster, ok := f.targets[name]; ok {
		return cluster, nil
	}
	return nil, protocol.Stall("Reconcile", target.ReasonNotFound, "there is no Target %q", name)
}

// plan records what a new job sets out to do, as the contract does when it picks the job up.
func (f *fixture) plan(d contract.Deployer) {
	if f.planned == f.item.Status.JobID {
		return
	}
	f.planned = f.item.Status.JobID
	identity, err := f.cluster.Identity(f.ctx)
	require.NoError(f, err)
	to := managedresource.ClusterReference{Target: f.cluster.Name, UID: identity.UID, Address: identity.Address}
	if planned := d.(contract.Planner).Plan(f.item, to); planned != nil {
		f.item.Status.ProviderStatus = planned
	}
}

// ensure calls Ensure and records the provider status as the contract does.
func (f *fixture) ensure(d contract.Deployer) (contract.Outcome, error) {
	f.plan(d)
	f.ahead = nil
	outcome, err := d.Ensure(f.ctx, f.contractItem())
	if outcome.ProviderStatus != nil {
		f.item.Status.ProviderStatus = outcome.ProviderStatus
	}
	return outcome, err
}

// succeed runs a whole job.
func (f *fixture) succeed(d contract.Deployer) contract.Outcome {
	f.Helper()
	outcome, err := f.ensure(d)
	require.NoError(f, err)
	require.True(f, outcome.Done, outcome.Waiting)
	return outcome
}

func (f *fixture) remove(d contract.Deployer) {
	f.Helper()
	f.item.Generation++
	outcome, err := d.Delete(f.ctx, f.contractItem())
	require.NoError(f, err)
	require.True(f, outcome.Done, outcome.Waiting)
}

func (f *fixture) get(name string, object client.Object) error {
	return f.cluster.Client.Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, object)
}

// configMap returns the data of a ConfigMap that has to exist.
func (f *fixture) configMap(name string) map[string]string {
	f.Helper()
	object := &corev1.ConfigMap{}
	require.NoError(f, f.get(name, object))
	return object.Data
}

// release returns the newest revision of the release hello-world.
func (f *fixture) release() *engine.Release {
	f.Helper()
	e, err := engine.New(engine.Options{})
	require.NoError(f, err)
	last, err := e.Last(f.ctx, f.cluster, f.namespace, "hello-world")
	require.NoError(f, err)
	return last
}

const (
	configMapTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
data:
  testData: {{ .Values.testData | quote }}
`
	secretTemplate = `apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}
stringData:
  testData: {{ .Values.testData | quote }}
`
	deploymentTemplate = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
spec:
  replicas: 1
  selector: {matchLabels: {app: hello}}
  template:
    metadata: {labels: {app: hello}}
    spec: {containers: [{name: main, image: none}]}
`
)

// archive packs the chart hello-world.
func archive(t testing.TB, version string, files map[string]string) []byte {
	t.Helper()
	all := map[string]string{"Chart.yaml": "apiVersion: v2\nname: hello-world\nversion: " + version + "\n"}
	maps.Copy(all, files)
	packed, err := servers.PackageChart(servers.Files(all))
	require.NoError(t, err)
	return packed
}

// raw is a chart source with an archive.
func raw(packed []byte) config {
	return config{"archive": config{"raw": base64.StdEncoding.EncodeToString(packed)}}
}

func (f *fixture) push(repository, version string, files map[string]string) string {
	f.Helper()
	repository = f.namespace + "/" + repository
	_, err := f.platform.Registry.PushHelmChart(f.ctx, repository, strings.ReplaceAll(version, "+", "_"), archive(f, version, files))
	require.NoError(f, err)
	return f.platform.Registry.Host + "/" + repository + ":" + version
}

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
