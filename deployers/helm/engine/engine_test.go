// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

func TestMain(m *testing.M) { os.Exit(platform.Main(m, platform.Options{})) }

const testTimeout = time.Minute

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	t.Cleanup(cancel)
	return ctx
}

// openTarget opens the platform's cluster as a deployer does it.
func openTarget(t *testing.T) *target.Cluster {
	t.Helper()
	return openTargetOf(t, "default", string(platform.Shared(t).Kubeconfig))
}

// openTargetOf opens a cluster as a deployer does it for a tenant.
func openTargetOf(t *testing.T, tenant, kubeconfig string) *target.Cluster {
	t.Helper()
	content, err := json.Marshal(map[string]string{"kubeconfig": kubeconfig})
	require.NoError(t, err)
	object := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Name: "cluster", Namespace: tenant}}
	object.Spec.Type = v1alpha1.KubernetesClusterTargetType
	raw := v1alpha1.NewAnyJSON(content)
	object.Spec.Configuration = &raw
	clients, err := target.New(target.Options{})
	require.NoError(t, err)
	reader := singleTarget{object}
	cluster, err := clients.Open(t.Context(), reader, reader, object.Namespace, object.Name, target.Actor{})
	require.NoError(t, err)
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

func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.Options{})
	require.NoError(t, err)
	return e
}

// chartOf packs and loads a chart whose templates are given by name.
func chartOf(t *testing.T, e *engine.Engine, version string, templates map[string]string) *engine.Chart {
	t.Helper()
	files := map[string]string{"Chart.yaml": "apiVersion: v2\nname: hello-world\nversion: " + version + "\n"}
	maps.Copy(files, templates)
	archive, err := servers.PackageChart(servers.Files(files))
	require.NoError(t, err)
	chart, err := e.Load(t.Context(), "n", archive)
	require.NoError(t, err)
	return chart
}

const configMapTemplate = `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  testData: {{ .Values.testData | quote }}
`

const secretTemplate = `apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}
stringData:
  testData: {{ .Values.testData | quote }}
`

// uninstall is Uninstall of what needs no second call.
func uninstall(e *engine.Engine, ctx context.Context, cluster *target.Cluster, namespace, name string, flags engine.Flags) error {
	_, err := e.Uninstall(ctx, cluster, namespace, name, flags)
	return err
}

func TestInstallUpgradeUninstall(t *testing.T) {
	ctx, cluster, e := testContext(t), openTarget(t), newEngine(t)
	namespace := platform.Shared(t).Namespace(t)
	request := engine.Request{
		Cluster: cluster, Namespace: namespace, Name: "hello",
		Chart:  chartOf(t, e, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}),
		Values: map[string]any{"testData": "hello"},
		Labels: map[string]string{"example.org/job": "one"},
	}
	installed, err := e.Install(ctx, request)
	require.NoError(t, err)
	assert.Equal(t, engine.StatusDeployed, installed.Status)
	configMap := &corev1.ConfigMap{}
	require.NoError(t, cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "hello"}, configMap))
	assert.Equal(t, "hello", configMap.Data["testData"])

	last, err := e.Last(ctx, cluster, namespace, "hello")
	require.NoError(t, err)
	assert.Equal(t, 1, last.Revision)
	assert.Equal(t, "one", last.Labels["example.org/job"])
	assert.Equal(t, "1.0.0", last.ChartVersion)

	request.Chart = chartOf(t, e, "1.0.1", map[string]string{"templates/secret.yaml": secretTemplate})
	upgraded, err := e.Upgrade(ctx, request)
	require.NoError(t, err)
	assert.Equal(t, 2, upgraded.Revision)
	assert.True(t, apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(configMap), configMap)))
	secret := &corev1.Secret{}
	require.NoError(t, cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "hello"}, secret))

	require.NoError(t, uninstall(e, ctx, cluster, namespace, "hello", engine.Flags{}))
	assert.True(t, apierrors.IsNotFound(cluster.Client.Get(ctx, client.ObjectKeyFromObject(secret), secret)))
	last, err = e.Last(ctx, cluster, namespace, "hello")
	require.NoError(t, err)
	assert.Nil(t, last)
}

func TestUninstallOfNothing(t *testing.T) {
	require.NoError(t, uninstall(newEngine(t), testContext(t), openTarget(t), platform.Shared(t).Namespace(t), "hello", engine.Flags{}))
}

// listsRefused is a transport of a cluster that does not list Secrets.
type listsRefused struct{ http.RoundTripper }

var errLists = errors.New("no Secrets are listed now")

func (l listsRefused) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/secrets") {
		return nil, errLists
	}
	return l.RoundTripper.RoundTrip(r)
}

func TestUninstallOfWhatCannotBeReadFails(t *testing.T) {
	ctx, cluster, e := testContext(t), openTarget(t), newEngine(t)
	namespace := platform.Shared(t).Namespace(t)
	_, err := e.Install(ctx, engine.Request{
		Cluster: cluster, Namespace: namespace, Name: "hello",
		Chart: chartOf(t, e, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}),
	})
	require.NoError(t, err)
	refusing := *cluster
	refusing.Config = rest.CopyConfig(cluster.Config)
	refusing.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return listsRefused{next} })
	for _, flags := range []engine.Flags{{}, {ReleaseSettings: helmv1alpha1.ReleaseSettings{KeepHistory: true}}} {
		require.ErrorContains(t, uninstall(e, ctx, &refusing, namespace, "hello", flags), errLists.Error())
	}
	key := client.ObjectKey{Namespace: namespace, Name: "hello"}
	require.NoError(t, cluster.Client.Get(ctx, key, &corev1.ConfigMap{}))
	require.NoError(t, uninstall(e, ctx, cluster, namespace, "hello", engine.Flags{}))
	assert.True(t, apierrors.IsNotFound(cluster.Client.Get(ctx, key, &corev1.ConfigMap{})))
}

func TestUninstallAsksForTheRevisionsOnce(t *testing.T) {
	ctx, cluster, e := testContext(t), openTarget(t), newEngine(t)
	namespace := platform.Shared(t).Namespace(t)
	_, err := e.Install(ctx, engine.Request{
		Cluster: cluster, Namespace: namespace, Name: "hello",
		Chart: chartOf(t, e, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}),
	})
	require.NoError(t, err)
	var lists atomic.Int32
	counting := gated(cluster, func(r *http.Request) {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/secrets") {
			lists.Add(1)
		}
	})
	require.NoError(t, uninstall(e, ctx, counting, namespace, "hello", engine.Flags{}))
	assert.EqualValues(t, 1, lists.Load())
}

func TestInstallCreatesNamespace(t *testing.T) {
	ctx, cluster, e := testContext(t), openTarget(t), newEngine(t)
	namespace := platform.Shared(t).Namespace(t) + "-new"
	_, err := e.Install(ctx, engine.Request{
		Cluster: cluster, Namespace: namespace, Name: "hello", CreateNamespace: true,
		Chart: chartOf(t, e, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}),
	})
	require.NoError(t, err)
	created := &corev1.Namespace{}
	require.NoError(t, cluster.Client.Get(ctx, client.ObjectKey{Name: namespace}, created))
	assert.Equal(t, namespace, created.Labels["name"])
}

// gate is a transport that calls a function before it sends a request.
type gate struct {
	next   http.RoundTripper
	before func(*http.Request)
}

func (g gate) RoundTrip(r *http.Request) (*http.Response, error) {
	g.before(r)
	return g.next.RoundTrip(r)
}

func gated(cluster *target.Cluster, before func(*http.Request)) *target.Cluster {
	copied := *cluster
	copied.Config = rest.CopyConfig(cluster.Config)
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return gate{next, before} })
	return &copied
}

func isCreateOf(resource string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/"+resource)
	}
}

func TestNothingIsWrittenAfterTheContextEnded(t *testing.T) {
	cluster, e, namespace := openTarget(t), newEngine(t), platform.Shared(t).Namespace(t)
	ctx, cancel := context.WithCancel(testContext(t))
	defer cancel()
	var after atomic.Int32
	hit := isCreateOf("configmaps")
	stopping := gated(cluster, func(r *http.Request) {
		if ctx.Err() != nil && r.Method != http.MethodGet {
			after.Add(1)
		}
		if hit(r) {
			cancel()
		}
	})
	_, err := e.Install(ctx, engine.Request{
		Cluster: stopping, Namespace: namespace, Name: "hello",
		Chart: chartOf(t, e, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}),
	})
	require.ErrorIs(t, err, context.Canceled)
	last, err := e.Last(testContext(t), cluster, namespace, "hello")
	require.NoError(t, err)
	assert.True(t, last.Status.IsPending(), "the record stays for the next job to take over")
	assert.Zero(t, after.Load(), "requests after the end")
}

// cut returns a cluster that loses the connection at the first writes of release records, without carrying them out.
func cut(cluster *target.Cluster, writes int32) *target.Cluster {
	var seen atomic.Int32
	copied := *cluster
	copied.Config = rest.CopyConfig(cluster.Config)
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/secrets/sh.helm.release.") && seen.Add(1) <= writes {
				return nil, errors.New("connection reset by peer")
			}
			return next.RoundTrip(r)
		})
	})
	return &copied
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestALostRecordIsWrittenAnewOrAnError(t *testing.T) {
	cluster, e := openTarget(t), newEngine(t)
	first := chartOf(t, e, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})
	second := chartOf(t, e, "1.0.1", map[string]string{"templates/cm.yaml": configMapTemplate})
	type statuses []engine.Status
	for name, tt := range map[string]struct {
		cutAt   string
		lost    int32
		fails   bool
		history statuses
	}{
		"install, one lost":  {cutAt: "install", lost: 1, history: statuses{engine.StatusDeployed}},
		"install, all lost":  {cutAt: "install", lost: 99, fails: true, history: statuses{"pending-install"}},
		"upgrade, one lost":  {cutAt: "upgrade", lost: 1, history: statuses{engine.StatusSuperseded, engine.StatusDeployed}},
		"rollback, one lost": {cutAt: "rollback", lost: 1, history: statuses{engine.StatusSuperseded, engine.StatusSuperseded, engine.StatusDeployed}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, namespace := testContext(t), platform.Shared(t).Namespace(t)
			over := func(step string) *target.Cluster {
				if step == tt.cutAt {
					return cut(cluster, tt.lost)
				}
				return cluster
			}
			_, err := e.Install(ctx, engine.Request{Cluster: over("install"), Namespace: namespace, Name: "hello", Chart: first})
			if tt.cutAt != "install" && assert.NoError(t, err) {
				_, err = e.Upgrade(ctx, engine.Request{Cluster: over("upgrade"), Namespace: namespace, Name: "hello", Chart: second})
			}
			if tt.cutAt == "rollback" && assert.NoError(t, err) {
				_, err = e.Rollback(ctx, engine.Request{Cluster: over("rollback"), Namespace: namespace, Name: "hello"}, 1)
			}
			if tt.fails {
				require.ErrorContains(t, err, "revision 1 cannot be recorded as deployed")
			} else {
				require.NoError(t, err)
			}
			history, err := e.History(ctx, cluster, namespace, "hello")
			require.NoError(t, err)
			var found statuses
			for _, revision := range history {
				found = append(found, revision.Status)
			}
			assert.Equal(t, tt.history, found)
		})
	}
}

func TestGiveUpLetsTheNextUpgradeRemoveWhatTheCrashLeft(t *testing.T) {
	ctx, cluster, e, namespace := testContext(t), openTarget(t), newEngine(t), platform.Shared(t).Namespace(t)
	crash, cancel := context.WithCancel(ctx)
	defer cancel()
	hit := isCreateOf("secrets")
	var secrets atomic.Int32
	stopping := gated(cluster, func(r *http.Request) {
		// The first Secret is the release's own, the second is the chart's: by then the ConfigMap is being made too.
		if hit(r) && secrets.Add(1) == 2 {
			cancel()
		}
	})
	request := engine.Request{
		Cluster: stopping, Namespace: namespace, Name: "hello",
		Chart: chartOf(t, e, "1.0.0", map[string]string{"templates/a.yaml": secretTemplate, "templates/b.yaml": configMapTemplate}),
	}
	_, err := e.Install(crash, request)
	require.Error(t, err)
	pending, err := e.Last(ctx, cluster, namespace, "hello")
	require.NoError(t, err)
	require.NoError(t, e.GiveUp(ctx, cluster, pending, "the deployer was stopped"))

	request.Cluster = cluster
	request.Chart = chartOf(t, e, "1.0.1", map[string]string{"templates/a.yaml": secretTemplate})
	upgraded, err := e.Upgrade(ctx, request)
	require.NoError(t, err)
	assert.Equal(t, 2, upgraded.Revision)
	left := &corev1.ConfigMapList{}
	require.NoError(t, cluster.Client.List(ctx, left, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/managed-by": "Helm"}))
	assert.Empty(t, left.Items)
}

func TestErrorsNameTheReleaseAndHideSecrets(t *testing.T) {
	ctx, cluster, e, namespace := testContext(t), openTarget(t), newEngine(t), platform.Shared(t).Namespace(t)
	_, err := e.Install(ctx, engine.Request{
		Cluster: cluster, Namespace: namespace, Name: "hello",
		Chart:  chartOf(t, e, "1.0.0", map[string]string{"templates/x.yaml": `{{ fail (printf "bad %s" .Values.db.password) }}`}),
		Values: map[string]any{"db": map[string]any{"password": "s3cr3t-value"}},
	})
	require.Error(t, err)
	assert.Contains(t, err.Error(), namespace+"/hello")
	assert.Contains(t, err.Error(), "bad ***")
	assert.NotContains(t, err.Error(), "s3cr3t-value")
}

// TestErrorsShowNoObjects lets the API server refuse a change of an object that it has: it quotes the whole object then.
func TestErrorsShowNoObjects(t *testing.T) {
	for kind, template := range map[string]string{
		"Secret": "apiVersion: v1\nkind: Secret\nmetadata: {name: app}\nstringData: {word: planted-word, port: {{ .Values.port }}}\n",
		"ConfigMap": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app, annotations: {note: " + strings.Repeat("planted-word", 40) +
			"}}\ndata: {port: {{ .Values.port }}}\n",
	} {
		t.Run(kind, func(t *testing.T) {
			ctx, cluster, e, namespace := testContext(t), openTarget(t), newEngine(t), platform.Shared(t).Namespace(t)
			request := engine.Request{
				Cluster: cluster, Namespace: namespace, Name: "app", Values: map[string]any{"port": `"5"`},
				Chart: chartOf(t, e, "1.0.0", map[string]string{"templates/x.yaml": template}),
			}
			_, err := e.Install(ctx, request)
			require.NoError(t, err)
			request.Values = map[string]any{"port": "5"}
			_, err = e.Upgrade(ctx, request)
			require.Error(t, err)
			assert.Contains(t, err.Error(), kind)
			assert.NotContains(t, err.Error(), "planted-word")
			assert.NotContains(t, err.Error(), base64.StdEncoding.EncodeToString([]byte("planted-word")))
		})
	}
}

func TestSchema(t *testing.T) {
	ctx, cluster, e, namespace := testContext(t), openTarget(t), newEngine(t), platform.Shared(t).Namespace(t)
	chart := chartOf(t, e, "1.0.0", map[string]string{
		"templates/cm.yaml":  configMapTemplate,
		"values.schema.json": `{"type":"object","properties":{"testData":{"type":"string"}}}`,
	})
	for _, tc := range []struct {
		name   string
		values map[string]any
		skip   bool
		want   error
	}{
		{"valid", map[string]any{"testData": "a"}, false, nil},
		{"invalid", map[string]any{"testData": 1.0}, false, engine.ErrSchema},
		{"skipped", map[string]any{"testData": 1.0}, true, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := e.Install(ctx, engine.Request{
				Cluster: cluster, Namespace: namespace, Name: tc.name, Chart: chart, Values: tc.values,
				Flags: engine.Flags{ReleaseSettings: helmv1alpha1.ReleaseSettings{SkipSchemaValidation: tc.skip}},
			})
			assert.ErrorIs(t, err, tc.want)
		})
	}
}

func TestDrivers(t *testing.T) {
	ctx, cluster, namespace := testContext(t), openTarget(t), platform.Shared(t).Namespace(t)
	e, err := engine.New(engine.Options{Driver: engine.DriverConfigMap})
	require.NoError(t, err)
	request := engine.Request{
		Cluster: cluster, Namespace: namespace, Name: "hello",
		Chart: chartOf(t, e, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}),
	}
	_, err = e.Install(ctx, request)
	require.NoError(t, err)
	_, err = e.Upgrade(ctx, request)
	require.NoError(t, err)
	last, err := e.Last(ctx, cluster, namespace, "hello")
	require.NoError(t, err)
	assert.Equal(t, 2, last.Revision)
	secrets := &corev1.SecretList{}
	require.NoError(t, cluster.Client.List(ctx, secrets, client.InNamespace(namespace)))
	assert.Empty(t, secrets.Items)
	require.NoError(t, uninstall(e, ctx, cluster, namespace, "hello", engine.Flags{ReleaseSettings: helmv1alpha1.ReleaseSettings{Wait: true}}))
}

func TestADriverThatIsNoneNamesThoseThatAre(t *testing.T) {
	for _, driver := range []string{"memory", "sql"} {
		_, err := engine.New(engine.Options{Driver: driver})
		require.ErrorContains(t, err, "use secret or configmap", driver)
	}
}

func TestD14RecordsAreChangedOnlyAsTheyWereRead(t *testing.T) {
	at := helmtime.Now().Round(time.Second)
	for name, tc := range map[string]struct {
		change func(*release.Release)
		want   release.Status
	}{
		"as it was read":  {func(*release.Release) {}, release.StatusFailed},
		"another status":  {func(r *release.Release) { r.Info.Status = release.StatusDeployed }, release.StatusDeployed},
		"another attempt": {func(r *release.Release) { r.Info.LastDeployed = at.Add(time.Second) }, release.StatusPendingUpgrade},
		"other labels":    {func(r *release.Release) { r.Labels = map[string]string{"job": "new"} }, release.StatusPendingUpgrade},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cluster, e, namespace := testContext(t), openTarget(t), newEngine(t), platform.Shared(t).Namespace(t)
			clients, err := kubernetes.NewForConfig(cluster.Config)
			require.NoError(t, err)
			kept := storage.Init(driver.NewSecrets(clients.CoreV1().Secrets(namespace)))
			stored := &release.Release{
				Name: "a", Namespace: namespace, Version: 1, Labels: map[string]string{"job": "old"},
				Info: &release.Info{Status: release.StatusPendingUpgrade, LastDeployed: at},
			}
			require.NoError(t, kept.Create(stored))
			read, err := e.Last(ctx, cluster, namespace, "a")
			require.NoError(t, err)
			tc.change(stored)
			require.NoError(t, kept.Update(stored))
			require.NoError(t, e.GiveUp(ctx, cluster, read, "interrupted"))
			found, err := kept.Last("a")
			require.NoError(t, err)
			assert.Equal(t, tc.want, found.Info.Status)
		})
	}
}

func TestObjectsCarryHelmsFieldManager(t *testing.T) {
	ctx, cluster, e, namespace := testContext(t), openTarget(t), newEngine(t), platform.Shared(t).Namespace(t)
	_, err := e.Install(ctx, engine.Request{
		Cluster: cluster, Namespace: namespace, Name: "hello",
		Chart: chartOf(t, e, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}),
	})
	require.NoError(t, err)
	object := &corev1.ConfigMap{}
	require.NoError(t, cluster.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "hello"}, object))
	require.Len(t, object.ManagedFields, 1)
	assert.Equal(t, "helm", object.ManagedFields[0].Manager)
}
