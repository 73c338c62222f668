// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

func TestHelloWorldFromRegistry(t *testing.T) {
	f := newFixture(t)
	release := f.namespace + "-example"
	f.configure(config{
		"namespace": release, "createNamespace": true,
		"chart":  config{"ref": f.push("hello-world", "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})},
		"values": config{"testData": "hello"},
	})
	f.succeed(f.deployer())

	configMap := &corev1.ConfigMap{}
	require.NoError(t, f.cluster.Client.Get(f.ctx, client.ObjectKey{Namespace: release, Name: "hello-world"}, configMap))
	assert.Equal(t, "hello", configMap.Data["testData"])
	record := &corev1.Secret{}
	require.NoError(t, f.cluster.Client.Get(f.ctx, client.ObjectKey{Namespace: release, Name: "sh.helm.release.v1.hello-world.v1"}, record))

	f.remove(f.deployer())
	assert.True(t, apierrors.IsNotFound(f.cluster.Client.Get(f.ctx, client.ObjectKeyFromObject(configMap), configMap)))
	assert.True(t, apierrors.IsNotFound(f.cluster.Client.Get(f.ctx, client.ObjectKeyFromObject(record), record)))
	require.NoError(t, f.cluster.Client.Get(f.ctx, client.ObjectKey{Name: release}, &corev1.Namespace{}), "the namespace stays")
}

func TestEmptyValuesMeanTheDefaultsAgain(t *testing.T) {
	f, d := newFixture(t), (*fixture).deployer
	chart := raw(archive(t, "1.0.0", map[string]string{"values.yaml": "testData: default\n", "templates/cm.yaml": configMapTemplate}))
	f.configure(config{"chart": chart, "values": config{"testData": "changed"}})
	f.succeed(d(f))
	require.Equal(t, "changed", f.configMap("hello-world")["testData"])
	f.configure(config{"chart": chart})
	f.newJob()
	f.succeed(d(f))
	assert.Equal(t, "default", f.configMap("hello-world")["testData"])
}

func TestARestartedJobMakesNoSecondRevision(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))})
	f.succeed(f.deployer())
	// The process dies before it records anything.
	f.item.Status.ProviderStatus, f.memory = nil, map[string]any{}
	f.succeed(f.deployer())
	assert.Equal(t, 1, f.release().Revision)
}

// crashing is a cluster at which the process dies right before it sends the given request.
func crashing(cluster *target.Cluster, method, suffix string, cancel context.CancelFunc) *target.Cluster {
	copied := *cluster
	copied.Config = rest.CopyConfig(cluster.Config)
	copied.Config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method == method && strings.HasSuffix(r.URL.Path, suffix) {
				cancel()
				return nil, context.Canceled
			}
			return next.RoundTrip(r)
		})
	})
	return &copied
}

type roundTripper func(*http.Request) (*http.Response, error)

func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

// crash runs the job until the process dies at a request.
func (f *fixture) crash(method, suffix string) {
	f.Helper()
	f.plan(f.deployer())
	whole, cluster, recorded := f.ctx, f.cluster, f.item.Status.ProviderStatus
	ctx, cancel := context.WithCancel(whole)
	defer cancel()
	f.ctx, f.cluster = ctx, crashing(cluster, method, suffix, cancel)
	_, err := f.ensure(f.deployer())
	f.ctx, f.cluster, f.memory, f.item.Status.ProviderStatus = whole, cluster, map[string]any{}, cmp.Or(f.ahead, recorded)
	require.ErrorIs(f, err, context.Canceled)
}

func TestACrashInTheMiddleBlocksNothing(t *testing.T) {
	for _, tc := range []struct{ name, method, suffix string }{
		{"before the record", http.MethodPost, "/secrets"},
		{"before the object", http.MethodPost, "/configmaps"},
		{"before the record is final", http.MethodPut, "/secrets/sh.helm.release.v1.hello-world.v1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := newFixture(t)
			f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))})
			f.crash(tc.method, tc.suffix)
			f.succeed(f.deployer())
			assert.Equal(t, 1, f.release().Revision)
			assert.Equal(t, engine.StatusDeployed, f.release().Status)
			f.configMap("hello-world")
		})
	}
}

func TestTheNextJobRemovesWhatACrashLeft(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))})
	f.crash(http.MethodPut, "/secrets/sh.helm.release.v1.hello-world.v1")
	f.configMap("hello-world")

	f.configure(config{"chart": raw(archive(t, "1.0.1", map[string]string{"templates/secret.yaml": secretTemplate}))})
	f.newJob()
	f.succeed(f.deployer())
	assert.True(t, apierrors.IsNotFound(f.get("hello-world", &corev1.ConfigMap{})))
}

func TestACrashInTheMiddleOfAnUpgrade(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))})
	f.succeed(f.deployer())
	f.configure(config{"chart": raw(archive(t, "1.0.1", map[string]string{"templates/secret.yaml": secretTemplate}))})
	f.newJob()
	f.crash(http.MethodPut, "/secrets/sh.helm.release.v1.hello-world.v2")
	f.succeed(f.deployer())
	assert.Equal(t, 2, f.release().Revision)
	assert.True(t, apierrors.IsNotFound(f.get("hello-world", &corev1.ConfigMap{})))
}

func TestAnItemThatRecordedNothingStillUninstallsItsRelease(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))})
	f.crash(http.MethodPut, "/secrets/sh.helm.release.v1.hello-world.v1")
	f.remove(f.deployer())
	assert.True(t, apierrors.IsNotFound(f.get("hello-world", &corev1.ConfigMap{})))
	assert.Nil(t, f.release())
}

func TestAnItemThatRecordedNothingLeavesForeignReleasesAlone(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))})
	f.succeed(f.deployer())
	f.item.UID, f.item.Status.ProviderStatus = types.UID("another"), nil
	f.remove(f.deployer())
	f.configMap("hello-world")
}

func TestDeletionNeedsNoValidConfiguration(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))})
	f.succeed(f.deployer())
	f.item.Spec.Configuration.Raw = []byte(`{"name": 1}`)
	f.remove(f.deployer())
	assert.True(t, apierrors.IsNotFound(f.get("hello-world", &corev1.ConfigMap{})))
}

func TestAReleaseSomebodyIsAtWorkOnIsLeftAlone(t *testing.T) {
	f := newFixture(t)
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))})
	f.crash(http.MethodPost, "/configmaps")
	f.unlabel("sh.helm.release.v1.hello-world.v1")
	_, err := f.ensure(f.deployer())
	require.Error(t, err)
	assert.Contains(t, err.Error(), "revision 1 of helm release "+f.namespace+"/hello-world is pending-install")
	assert.False(t, protocol.IsUnrecoverable(err))
}

// unlabel makes a release look as if another tool had made it.
func (f *fixture) unlabel(name string) {
	f.Helper()
	record := &corev1.Secret{}
	require.NoError(f, f.get(name, record))
	for label := range record.Labels {
		if strings.Contains(label, "landscaper") {
			delete(record.Labels, label)
		}
	}
	require.NoError(f, f.cluster.Client.Update(f.ctx, record))
}

func TestMissingChartIsNamedAndMayStillCome(t *testing.T) {
	f := newFixture(t)
	f.push("hello-world", "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})
	ref := f.platform.Registry.Host + "/" + f.namespace + "/hello-world:0.0.5"
	f.configure(config{"chart": config{"ref": ref}})
	outcome, err := f.ensure(f.deployer())
	require.Error(t, err)
	assert.Contains(t, err.Error(), ref)
	assert.False(t, protocol.IsUnrecoverable(err), "somebody may publish it before the time is up")
	assert.Nil(t, outcome.ProviderStatus)
	assert.True(t, outcome.Untouched)
}

func TestWorkloadsHaveToBeReady(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/d.yaml": deploymentTemplate}))})
	outcome, err := f.ensure(d)
	require.NoError(t, err)
	require.False(t, outcome.Done)
	assert.Contains(t, outcome.Waiting, "Deployment "+f.namespace+"/hello-world")
	require.Len(t, outcome.Watch, 1)
	assert.Equal(t, "Deployment", outcome.Watch[0].Kind)

	deployment := &appsv1.Deployment{}
	require.NoError(t, f.get("hello-world", deployment))
	deployment.Status = appsv1.DeploymentStatus{
		ObservedGeneration: deployment.Generation, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1, ReadyReplicas: 1,
	}
	require.NoError(t, f.cluster.Client.Status().Update(f.ctx, deployment))
	f.succeed(d)
	assert.Equal(t, 1, f.release().Revision, "waiting makes no revisions")
}

func TestCustomReadiness(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	for _, one := range []struct {
		value string
		done  bool
	}{{"bye", false}, {"hello", true}} {
		f.next(config{
			"chart":  raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})),
			"values": config{"testData": "hello"},
			"readinessChecks": config{"custom": []any{config{
				"name":             "greeting",
				"resourceSelector": []any{config{"apiVersion": "v1", "kind": "ConfigMap", "name": "hello-world", "namespace": f.namespace}},
				"requirements":     []any{config{"jsonPath": ".data.testData", "operator": "==", "values": []any{config{"value": one.value}}}},
			}}},
		})
		outcome, err := f.ensure(d)
		require.NoError(t, err)
		assert.Equal(t, one.done, outcome.Done, outcome.Waiting)
	}
}

func TestExports(t *testing.T) {
	f := newFixture(t)
	f.configure(config{
		"chart":  raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})),
		"values": config{"testData": "hello", "ports": []any{8080}},
		"exports": config{"exports": []any{
			config{"key": "from.object", "jsonPath": ".data.testData", "fromResource": config{
				"apiVersion": "v1", "kind": "ConfigMap", "name": "hello-world", "namespace": f.namespace,
			}},
			config{"key": "from.values", "jsonPath": ".Values.ports[0]"},
			config{"key": "release", "jsonPath": "Release.Name"},
		}},
		"exportsFromManifests": []any{config{"key": "chart", "jsonPath": ".Chart.Version"}},
	})
	outcome := f.succeed(f.deployer())
	exported, err := json.Marshal(outcome.Exports)
	require.NoError(t, err)
	assert.JSONEq(t, `{"from": {"object": "hello", "values": 8080}, "release": "hello-world", "chart": "1.0.0"}`, string(exported))
}

func TestExportOfAMissingValueNeedsAPerson(t *testing.T) {
	f := newFixture(t)
	f.configure(config{
		"chart":   raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})),
		"exports": config{"exports": []any{config{"key": "a", "jsonPath": ".Values.nothing"}}},
	})
	_, err := f.ensure(f.deployer())
	require.Error(t, err)
	assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorConfigurationProblem)
	assert.Nil(t, f.release(), "nothing is deployed")
}

func TestInvalidConfigurationNeedsAPerson(t *testing.T) {
	f, packed := newFixture(t), raw(archive(t, "1.0.0", nil))
	for name, tc := range map[string]struct {
		config config
		want   string
	}{
		"no chart":         {config{"chart": config{}}, "chart: names no source"},
		"no name":          {config{"chart": packed, "name": ""}, "name: is empty"},
		"no tag":           {config{"chart": config{"ref": "example.org:5000/chart"}}, "chart.ref: \"example.org:5000/chart\" has no tag"},
		"not base64":       {config{"chart": config{"archive": config{"raw": "%"}}}, "chart.archive.raw: is not base64"},
		"no chart inside":  {config{"chart": config{"archive": config{"raw": "aGVsbG8="}}}, "chart.archive.raw"},
		"unknown setting":  {config{"chart": packed, "helmDeploymentConfig": config{"install": config{"wrong": true}}}, "helmDeploymentConfig.install.wrong"},
		"type of setting":  {config{"chart": packed, "helmDeploymentConfig": config{"upgrade": config{"wait": "yes"}}}, "helmDeploymentConfig.upgrade.wait"},
		"values no object": {config{"chart": packed, "values": []any{1}}, "values: have to be an object"},
		"fromResource":     {config{"chart": config{"fromResource": config{"resourceName": "x"}}}, "chart.fromResource: names no component"},
		"resourceRef":      {config{"chart": config{"resourceRef": "eA=="}}, "chart.resourceRef: is not a key of a resource"},
		"kind":             {config{"kind": "Other"}, `kind: "Other" is not known`},
	} {
		t.Run(name, func(t *testing.T) {
			f.next(tc.config)
			_, err := f.ensure(f.deployer())
			require.ErrorContains(t, err, tc.want)
			assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorConfigurationProblem)
		})
	}
}

func TestTakeOwnership(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, f.cluster.Client.Create(f.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "hello-world", Namespace: f.namespace}}))
	content := config{
		"chart":  raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})),
		"values": config{"testData": "hello"},
	}
	f.configure(content)
	_, err := f.ensure(f.deployer())
	require.Error(t, err)
	assert.Contains(t, err.Error(), "invalid ownership metadata")

	content["helmDeploymentConfig"] = config{"install": config{"takeOwnership": true}}
	f.configure(content)
	f.succeed(f.deployer())
	assert.Equal(t, "hello", f.configMap("hello-world")["testData"])
}

func TestSubCharts(t *testing.T) {
	f := newFixture(t)
	files := map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: hello-world\nversion: 1.0.0\ndependencies:\n" +
			"- {name: one, version: 1.0.0, condition: one.enabled}\n- {name: two, version: 1.0.0, condition: two.enabled}\n",
		"values.yaml": "one: {enabled: true}\ntwo: {enabled: false}\n",
	}
	for _, name := range []string{"one", "two"} {
		files["charts/"+name+"/Chart.yaml"] = "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n"
		files["charts/"+name+"/templates/cm.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
	}
	d := f.deployer()
	f.configure(config{"chart": raw(archive(t, "1.0.0", files))})
	f.succeed(d)
	f.configMap("one")
	assert.True(t, apierrors.IsNotFound(f.get("two", &corev1.ConfigMap{})))

	// The cached chart still has what the first job disabled.
	f.configure(config{"chart": raw(archive(t, "1.0.0", files)), "values": config{"two": config{"enabled": true}}})
	f.newJob()
	f.succeed(d)
	f.configMap("two")
}

// definition returns a definition of the kind Thing, and its group, which is new.
func (f *fixture) definition() (yaml, group string) {
	group = strings.ReplaceAll(f.namespace, "-", "") + ".example.org"
	return strings.ReplaceAll(`apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Thing, listKind: ThingList, plural: things, singular: thing}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`, "GROUP", group), group
}

func TestChartWithDefinitionsAndHooks(t *testing.T) {
	f := newFixture(t)
	definition, group := f.definition()
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{
		"crds/thing.yaml": definition,
		"templates/thing.yaml": `{{ if .Capabilities.APIVersions.Has "` + group + `/v1" }}
apiVersion: ` + group + `/v1
kind: Thing
metadata: {name: thing}
{{ end }}`,
		"templates/hook.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hook, annotations: {helm.sh/hook: post-install}}\n",
	}))})
	f.succeed(f.deployer())
	f.configMap("hook")
	thing := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: group + "/v1", Kind: "Thing"}}
	require.NoError(t, f.get("thing", thing))
}

func TestTemplateMode(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	f.configure(config{
		"helmDeployment": false, "namespace": f.namespace, "createNamespace": true,
		"chart": raw(archive(t, "1.0.0", map[string]string{
			"templates/cm.yaml": configMapTemplate, "templates/secret.yaml": secretTemplate, "templates/NOTES.txt": "no object", "templates/_x.tpl": "none",
			"templates/revision.yaml": named("revision") + "data: {revision: {{ .Release.Revision | quote }}, isInstall: {{ .Release.IsInstall | quote }}, " +
				"isUpgrade: {{ .Release.IsUpgrade | quote }}}\n",
		})),
		"values": config{"testData": "hello"},
	})
	f.succeed(d)
	assert.Nil(t, f.release())
	object := &corev1.ConfigMap{}
	require.NoError(t, f.get("hello-world", object))
	assert.Equal(t, "hello-item", object.Labels[v1alpha1.HelmDeployItemLabel])
	assert.Equal(t, map[string]string{"revision": "1", "isInstall": "true", "isUpgrade": "false"}, f.configMap("revision"))

	f.configure(config{
		"helmDeployment": false,
		"chart":          raw(archive(t, "1.0.1", map[string]string{"templates/secret.yaml": secretTemplate})),
		"values":         config{"testData": "bye"},
	})
	f.newJob()
	f.settle(d.Ensure)
	assert.True(t, apierrors.IsNotFound(f.get("hello-world", &corev1.ConfigMap{})), "the orphan is deleted")
	secret := &corev1.Secret{}
	require.NoError(t, f.get("hello-world", secret))
	assert.Equal(t, "bye", string(secret.Data["testData"]))

	f.item.Generation++
	f.settle(d.Delete)
	assert.True(t, apierrors.IsNotFound(f.get("hello-world", secret)))
}

func TestD04TemplateModeKeepsWhatAReleaseKeeps(t *testing.T) {
	f := newFixture(t)
	d := f.deployer()
	definition, group := f.definition()
	kept := "metadata: {name: %s, annotations: {helm.sh/resource-policy: \" Keep \"}}\n"
	chart := raw(archive(t, "1.0.0", map[string]string{
		"crds/thing.yaml":        definition,
		"templates/cm.yaml":      configMapTemplate,
		"templates/kept.yaml":    "apiVersion: v1\nkind: ConfigMap\n" + fmt.Sprintf(kept, "kept"),
		"templates/dropped.yaml": "{{ if .Values.more }}\napiVersion: v1\nkind: ConfigMap\n" + fmt.Sprintf(kept, "dropped") + "{{ end }}\n",
		"templates/list.yaml": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  " + fmt.Sprintf(kept, "listed") +
			"- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: other}\n",
	}))
	f.configure(config{"helmDeployment": false, "chart": chart, "values": config{"more": true}})
	f.settle(d.Ensure)
	f.configure(config{"helmDeployment": false, "chart": chart})
	f.newJob()
	f.settle(d.Ensure)
	f.configMap("dropped")

	f.item.Generation++
	f.settle(d.Delete)
	for _, name := range []string{"kept", "dropped", "listed"} {
		f.configMap(name)
	}
	for _, name := range []string{"hello-world", "other"} {
		assert.True(t, apierrors.IsNotFound(f.get(name, &corev1.ConfigMap{})), name)
	}
	crd := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"}}
	require.NoError(t, f.cluster.Client.Get(f.ctx, client.ObjectKey{Name: "things." + group}, crd))
}

// applyAndDie is a job of template mode that dies before what it did is recorded.
func (f *fixture) applyAndDie(files map[string]string) {
	f.Helper()
	f.configure(config{"helmDeployment": false, "chart": raw(archive(f, "1.0.0", files))})
	f.plan(f.deployer())
	recorded := f.item.Status.ProviderStatus
	f.succeed(f.deployer())
	f.item.Status.ProviderStatus = cmp.Or(f.ahead, recorded)
	f.newJob()
}

func TestTemplateModeFindsWhatACrashLeft(t *testing.T) {
	t.Run("update", func(t *testing.T) {
		f := newFixture(t)
		f.applyAndDie(map[string]string{"templates/cm.yaml": configMapTemplate})
		f.configure(config{"helmDeployment": false, "chart": raw(archive(t, "1.0.1", map[string]string{"templates/secret.yaml": secretTemplate}))})
		f.settle(f.deployer().Ensure)
		assert.True(t, apierrors.IsNotFound(f.get("hello-world", &corev1.ConfigMap{})))
	})
	t.Run("deletion", func(t *testing.T) {
		f := newFixture(t)
		f.applyAndDie(map[string]string{"templates/cm.yaml": configMapTemplate})
		f.item.Generation++
		f.settle(f.deployer().Delete)
		assert.True(t, apierrors.IsNotFound(f.get("hello-world", &corev1.ConfigMap{})))
	})
}

// settle calls a deployer until the job is done.
func (f *fixture) settle(call func(context.Context, *contract.Item) (contract.Outcome, error)) {
	f.Helper()
	for done := false; !done; {
		outcome, err := call(f.ctx, f.contractItem())
		require.NoError(f, err, outcome.Waiting)
		if outcome.ProviderStatus != nil {
			f.item.Status.ProviderStatus = outcome.ProviderStatus
		}
		done = outcome.Done
	}
}

func TestCredentialsWithoutRightsNeedAPerson(t *testing.T) {
	f := newFixture(t)
	user, err := f.platform.NewUser(f.namespace)
	require.NoError(t, err)
	copied := *f.cluster
	copied.Config = user
	f.cluster = &copied
	f.configure(config{"chart": raw(archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))})
	_, err = f.ensure(f.deployer())
	require.ErrorContains(t, err, "cannot list resource")
	assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorUnauthorized)
}

func TestValuesThatDoNotFitTheSchemaNeedAPerson(t *testing.T) {
	f := newFixture(t)
	f.configure(config{
		"chart": raw(archive(t, "1.0.0", map[string]string{
			"templates/cm.yaml": configMapTemplate, "values.schema.json": `{"properties": {"testData": {"type": "string"}}}`,
		})),
		"values": config{"testData": 1},
	})
	_, err := f.ensure(f.deployer())
	require.ErrorContains(t, err, "testData")
	assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorConfigurationProblem)
}
