// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// served is a namespace whose DeployItems a running manifest deployer carries out. On the target the deployer is a user with the name of the
// namespace.
type served struct {
	t         *testing.T
	p         *platform.Platform
	namespace string
	// stop ends the deployer.
	stop func()
}

func serve(t *testing.T) *served {
	t.Helper()
	return serveAs(t, func(user *rest.Config) *rest.Config { return user })
}

// serveAs is serve with a limit of watches, and with the access of the Target as through returns it.
func serveAs(t *testing.T, through func(user *rest.Config) *rest.Config) *served {
	t.Helper()
	p := platform.Shared(t)
	s := &served{t: t, p: p, namespace: p.Namespace(t)}
	s.start()
	user, err := p.NewUser(s.namespace, "system:masters")
	require.NoError(t, err)
	s.target(through(user))
	return s
}

// target makes a Target with the credentials of a user.
func (s *served) target(user *rest.Config) {
	s.t.Helper()
	kubeconfig, err := platform.KubeconfigFor(user)
	require.NoError(s.t, err)
	content, err := json.Marshal(map[string]string{"kubeconfig": string(kubeconfig)})
	require.NoError(s.t, err)
	object := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "cluster"}}
	object.Spec.Type = v1alpha1.KubernetesClusterTargetType
	configuration := v1alpha1.NewAnyJSON(content)
	object.Spec.Configuration = &configuration
	require.NoError(s.t, s.p.Client().Create(s.t.Context(), object))
}

// start runs the deployer until stop is called or the test ends.
func (s *served) start() {
	t, p := s.t, s.p
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	mgr, err := ctrl.NewManager(p.RestConfig, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultNamespaces: map[string]cache.Config{s.namespace: {}}},
	})
	require.NoError(t, err)
	clients, err := target.New(target.Options{})
	require.NoError(t, err)
	require.NoError(t, contract.Serve(mgr, New(), contract.Options{
		Identity: "test", Version: "test", Clients: clients,
	}))
	s.stop = platform.Run(context.Background(), t, mgr)
}

func (s *served) create(config string) *v1alpha1.DeployItem {
	s.t.Helper()
	return s.createFor(config, time.Hour)
}

// createFor creates an item whose jobs may take a while.
func (s *served) createFor(config string, timeout time.Duration) *v1alpha1.DeployItem {
	s.t.Helper()
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "item"}}
	item.Spec.Type = v1alpha1.ManifestDeployItemType
	item.Spec.Target = &v1alpha1.DeployItemTarget{Name: "cluster"}
	item.Spec.Configuration = s.config(config)
	item.Spec.Timeout = &v1alpha1.Duration{Duration: timeout}
	require.NoError(s.t, s.p.Client().Create(s.t.Context(), item))
	s.begin(item)
	return item
}

func (s *served) config(text string) *runtime.RawExtension {
	raw, err := yaml.YAMLToJSON([]byte(strings.ReplaceAll(text, "NS", s.namespace)))
	require.NoError(s.t, err)
	return &runtime.RawExtension{Raw: raw}
}

// begin starts a job, as an Execution does, unless the item is gone already.
func (s *served) begin(item *v1alpha1.DeployItem) {
	s.t.Helper()
	require.NoError(s.t, client.IgnoreNotFound(s.tryBegin(item)))
}

func (s *served) tryBegin(item *v1alpha1.DeployItem) error {
	return platform.EditStatus(s.t.Context(), s.p.Client(), item, func(item *v1alpha1.DeployItem) {
		now := metav1.Now()
		item.Status.JobID, item.Status.JobIDGenerationTime = uuid.NewString(), &now
	})
}

func (s *served) await(object client.Object, done func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 2*time.Minute)
	defer cancel()
	require.NoError(s.t, s.p.Await(ctx, object, done))
}

func (s *served) finish(item *v1alpha1.DeployItem) {
	s.t.Helper()
	s.await(item, func() bool { return item.Status.JobID == item.Status.JobIDFinished })
	require.Equal(s.t, v1alpha1.PhaseSucceeded, item.Status.Phase, "%+v", item.Status.LastError)
}

func (s *served) configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
}

func TestServedItemWaitsForEvents(t *testing.T) {
	s := serve(t)
	item := s.create(manifests("1", "a") + `
readinessChecks:
  custom:
  - name: done
    labelSelector: {apiVersion: v1, kind: ConfigMap, matchLabels: {of: NS}}
    requirements: [{jsonPath: .data.done, operator: ==, values: [{value: "yes"}]}]
exports: {exports: [{key: result, jsonPath: .data.result, fromResource: {apiVersion: v1, kind: ConfigMap, name: later, namespace: NS}}]}
`)
	s.await(item, func() bool { return item.Status.Phase == v1alpha1.PhaseProgressing })
	later := s.configMap("later")
	later.Labels = map[string]string{"of": s.namespace}
	require.NoError(t, s.p.Client().Create(t.Context(), later))
	for _, patch := range []string{`{"data":{"done":"yes"}}`, `{"data":{"result":"good"}}`} {
		require.NoError(t, s.p.Client().Patch(t.Context(), later, client.RawPatch("application/merge-patch+json", []byte(patch))))
	}

	s.finish(item)

	exported := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: item.Status.ExportReference.Name}}
	require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(exported), exported))
	assert.JSONEq(t, `{"result": "good"}`, string(exported.Data["config"]))
}

// A target that never answers the discovery holds jobs without timeout no longer than they are wanted.
func TestD01SilentTargetLetsGo(t *testing.T) {
	asked, gone := make(chan struct{}, 100), make(chan struct{}, 100)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/api/v1/namespaces/") {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound) // it has no identity
			_, _ = io.WriteString(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}`)
			return
		}
		asked <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	t.Cleanup(server.Close)
	s := serve(t)
	silent := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "silent"}}
	silent.Spec.Type = v1alpha1.KubernetesClusterTargetType
	content, err := json.Marshal(map[string]string{"kubeconfig": fmt.Sprintf(`{"kind": "Config", "contexts": [{"name": "c", "context": {"cluster": "c"}}],
		"clusters": [{"name": "c", "cluster": {"server": %q, "certificate-authority-data": %q}}]}`, server.URL,
		base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))})
	require.NoError(t, err)
	configuration := v1alpha1.NewAnyJSON(content)
	silent.Spec.Configuration = &configuration
	require.NoError(t, s.p.Client().Create(t.Context(), silent))

	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "item"}}
	item.Spec.Type, item.Spec.Target = v1alpha1.ManifestDeployItemType, &v1alpha1.DeployItemTarget{Name: "silent"}
	item.Spec.Configuration, item.Spec.Timeout = s.config(manifests("1", "a")), &v1alpha1.Duration{}
	require.NoError(t, s.p.Client().Create(t.Context(), item))
	other := item.DeepCopy()
	other.Name, other.ResourceVersion = "other", ""
	require.NoError(t, s.p.Client().Create(t.Context(), other))
	awaitQuestion := func() {
		select {
		case <-asked:
		case <-time.After(time.Minute):
			require.Fail(t, "nobody asks the target")
		}
	}
	s.begin(item)
	awaitQuestion()
	base := item.DeepCopy()
	item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, item.Status.JobID // as an Execution does that is interrupted
	require.NoError(t, s.p.Client().Status().Patch(t.Context(), item, client.MergeFrom(base)))
	select {
	case <-gone:
	case <-time.After(20 * time.Second): // less than a request may take by itself
		t.Fatal("the request of the interrupted job goes on")
	}
	s.begin(other)
	awaitQuestion() // the other item holds a worker now, and ends with the process
}
