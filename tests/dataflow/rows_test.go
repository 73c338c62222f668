// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"testing"
	"testing/fstest"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// directItem is a DeployItem of the helm deployer that no Execution owns.
type directItem struct {
	*scene
	isRelease bool
	jobs      int
}

// eachMode runs a test with a Helm release and with the objects of a chart alone.
func eachMode(t *testing.T, test func(t *testing.T, d *directItem)) {
	for name, isRelease := range map[string]bool{"release": true, "template": false} {
		t.Run(name, func(t *testing.T) {
			d := &directItem{scene: newScene(t), isRelease: isRelease}
			d.Target("cluster")
			test(t, d)
		})
	}
}

// chartWith packs a chart with the ConfigMap "deployed" that has a value.
func (d *directItem) chartWith(value string) string {
	d.T.Helper()
	packed, err := servers.PackageChart(fstest.MapFS{
		"Chart.yaml": {Data: []byte("apiVersion: v2\nname: direct\nversion: 1.0.0\n")},
		"templates/cm.yaml": {Data: []byte(
			"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: deployed, namespace: " + d.Namespace + "}\ndata: {value: " + value + "}\n")},
	})
	require.NoError(d.T, err)
	return base64.StdEncoding.EncodeToString(packed)
}

// run applies the item with a chart and more of its configuration, hands a job to it and returns it when that has ended.
func (d *directItem) run(value, timeout string, more object) *v1alpha1.DeployItem {
	d.T.Helper()
	config := object{
		"apiVersion": "helm.deployer.landscaper.gardener.cloud/v1alpha1", "kind": "ProviderConfiguration",
		"name": "direct", "namespace": d.Namespace, "helmDeployment": d.isRelease, "chart": object{"archive": object{"raw": d.chartWith(value)}},
	}
	for key, part := range more {
		config[key] = part
	}
	d.Put("DeployItem", "direct", object{"spec": object{
		"type": "landscaper.gardener.cloud/helm", "target": object{"name": "cluster"}, "timeout": timeout, "config": config,
	}})
	return d.hand()
}

func (d *directItem) item() *v1alpha1.DeployItem {
	return &v1alpha1.DeployItem{ObjectMeta: d.Named("direct")}
}

// hand gives a job to the item.
func (d *directItem) hand() *v1alpha1.DeployItem {
	d.T.Helper()
	item := d.item()
	job := d.give()
	require.NoError(d.T, d.Await(d.Ctx, item, func() bool { return item.Status.JobIDFinished == job }))
	return item
}

func (d *directItem) give() string {
	d.T.Helper()
	d.jobs++
	job := fmt.Sprintf("job-%d", d.jobs)
	raw, err := json.Marshal(object{"status": object{"jobID": job, "jobIDGenerationTime": time.Now().UTC().Format(time.RFC3339)}})
	require.NoError(d.T, err)
	require.NoError(d.T, d.Client().Status().Patch(d.Ctx, d.item(), client.RawPatch("application/merge-patch+json", raw)))
	return job
}

// uninstall deletes the item and waits until it and the ConfigMap are gone.
func (d *directItem) uninstall() {
	d.T.Helper()
	d.Delete(d.item())
	d.give()
	d.Gone(d.item(), d.config("deployed"))
}

func (d *directItem) deployedValue(jsonPathValue string) object {
	return object{"custom": list{object{
		"name":             "value",
		"resourceSelector": list{object{"apiVersion": "v1", "kind": "ConfigMap", "name": "deployed", "namespace": d.Namespace}},
		"requirements":     list{object{"jsonPath": ".data.value", "operator": "==", "values": list{object{"value": jsonPathValue}}}},
	}}}
}

func TestB801ToB805ChartsFromArchives(t *testing.T) {
	t.Parallel()
	eachMode(t, func(t *testing.T, d *directItem) {
		require.Equal(t, v1alpha1.PhaseSucceeded, d.run("first", "10m", nil).Status.Phase)
		assert.Equal(t, "first", d.configValue("deployed"), "B801: a chart")
		require.Equal(t, v1alpha1.PhaseSucceeded, d.run("second", "10m", nil).Status.Phase)
		assert.Equal(t, "second", d.configValue("deployed"), "B802: another one")

		wanted := object{"readinessChecks": d.deployedValue("wanted"), "exports": object{"exports": list{object{
			"key": "exportKey", "jsonPath": ".data.value",
			"fromResource": object{"apiVersion": "v1", "kind": "ConfigMap", "name": "deployed", "namespace": d.Namespace},
		}}}}
		item := d.run("wanted", "10m", wanted)
		require.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase, "B804: it is ready")
		require.NotNil(t, item.Status.ExportReference, "B803: an export")
		assert.Equal(t, "direct-export", item.Status.ExportReference.Name)
		secret := &corev1.Secret{}
		require.NoError(t, d.Client().Get(d.Ctx, d.key("direct-export"), secret))
		assert.JSONEq(t, `{"exportKey": "wanted"}`, string(secret.Data["config"]))

		item = d.run("wanted", "8s", object{"readinessChecks": d.deployedValue("another")})
		assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase, "B805: it does not become ready")
		assert.Contains(t, item.Status.LastError.Codes, v1alpha1.ErrorTimeout)
		d.uninstall()
	})
}

// syncKind stands for the Kustomizations of Flux.
var syncKind = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Sync"}

func (s *scene) serveSyncs() {
	s.T.Helper()
	keep := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "syncs.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: syncKind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "syncs", Singular: "sync", Kind: "Sync", ListKind: "SyncList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: syncKind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}},
			}},
		},
	}
	if err := s.Client().Create(s.Ctx, crd); err != nil {
		require.True(s.T, apierrors.IsAlreadyExists(err), "%v", err)
	}
}

// syncObject returns the Sync of the scene, to read into.
func (s *scene) syncObject() *unstructured.Unstructured {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(syncKind)
	found.SetNamespace(s.Namespace)
	found.SetName("apps")
	return found
}

func TestA34FluxUnderControl(t *testing.T) {
	s := newScene(t)
	s.serveSyncs()
	s.Target("cluster")
	s.install("root", onCluster(`deployItems:
- name: flux
  type: landscaper.gardener.cloud/kubernetes-manifest
  target: {import: cluster}
  config:
    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
    kind: ProviderConfiguration
    readinessChecks:
      custom:
      - name: reconciled
        resourceSelector: [{apiVersion: example.com/v1, kind: Sync, name: apps, namespace: `+sceneNamespace+`}]
        requirements: [{jsonPath: .status.ready, operator: ==, values: [{value: true}]}]
    manifests:
    - policy: manage
      patchAfterDeployment: {spec: {suspend: true}}
      patchBeforeDelete: {spec: {suspend: false}}
      manifest:
        apiVersion: example.com/v1
        kind: Sync
        metadata:
          name: apps
          namespace: `+sceneNamespace+`
          annotations: {reconcile.fluxcd.io/requestedAt: '{{ now | date "2006-01-02T15:04:05Z07:00" }}'}
        spec: {path: apps}
`))
	apps := s.syncObject()
	require.Eventually(t, func() bool { return s.Client().Get(s.Ctx, client.ObjectKeyFromObject(apps), apps) == nil }, landscapePatience, tick)
	_, err := time.Parse(time.RFC3339, apps.GetAnnotations()[meta.ReconcileRequestAnnotation])
	require.NoError(t, err)
	s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseProgressing })
	assert.NotContains(t, apps.Object["spec"], "suspend", "it has to reconcile before")

	hold := client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"finalizers": ["example.com/hold"]}, "status": {"ready": true}}`))
	require.NoError(t, s.Client().Patch(s.Ctx, apps, hold))
	s.succeeded("root")
	require.NoError(t, s.Client().Get(s.Ctx, client.ObjectKeyFromObject(apps), apps))
	assert.Equal(t, object{"path": "apps", "suspend": true}, apps.Object["spec"])

	s.Delete(s.Installation("root"))
	require.NoError(t, s.Await(s.Ctx, apps, func() bool { return apps.GetDeletionTimestamp() != nil }))
	assert.Equal(t, object{"path": "apps", "suspend": false}, apps.Object["spec"], "it has to reconcile its own deletion")
	require.NoError(t, s.Client().Patch(s.Ctx, apps, client.RawPatch("application/merge-patch+json", []byte(`{"metadata": {"finalizers": null}}`))))
	s.Gone(s.Installation("root"))
}

func TestA35DataFlowWithASecondCluster(t *testing.T) {
	s := newTwoSites(t)
	s.Target("first")
	s.TargetOf("second", s.access)
	clusters := list{object{"name": "first", "targetType": clusterType}, object{"name": "second", "targetType": clusterType}}
	both := object{"targets": list{object{"name": "first", "target": "first"}, object{"name": "second", "target": "second"}}}
	provider := object{
		"name": "tokenprovider",
		"blueprint": inTemplate(object{
			"imports": clusters,
			"exports": list{object{"name": "token", "type": "data", "schema": object{"type": "string"}}},
			"deployExecutions": goTemplate(`deployItems:
- name: provider
  type: landscaper.gardener.cloud/kubernetes-manifest
  target: {import: first}
  config:
    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
    kind: ProviderConfiguration
    readinessChecks:
      disableDefault: true
      custom:
      - name: token
        targetName: '{{ .imports.second.metadata.name }}'
        resourceSelector: [{apiVersion: v1, kind: Secret, name: token, namespace: ` + sceneNamespace + `}]
        requirements: [{jsonPath: .data.token, operator: exists}]
    exports:
      exports:
      - key: token
        jsonPath: .data.token
        targetName: '{{ .imports.second.metadata.name }}'
        fromResource: {apiVersion: v1, kind: Secret, name: token, namespace: ` + sceneNamespace + `}
    manifests:
    - policy: manage
      manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: request, namespace: ` + sceneNamespace + `}, data: {value: please}}
`),
			"exportExecutions": goTemplate(`exports: {token: {{ index .values.deployitems "provider" "token" }}}`),
		}),
		"imports": both,
		"exports": object{"data": list{object{"name": "token", "dataRef": "token"}}},
	}
	consumer := object{
		"name": "tokenconsumer",
		"blueprint": inTemplate(object{
			"imports":          list{clusters[0], object{"name": "token", "type": "data", "schema": object{"type": "string"}}},
			"deployExecutions": goTemplate("deployItems:\n" + configItem("consumer", "{import: first}", "received", "'{{ .imports.token }}'")),
		}),
		"imports": object{
			"targets": list{object{"name": "first", "target": "first"}}, "data": list{object{"name": "token", "dataRef": "token"}},
		},
	}
	s.install("root", object{
		"blueprint": inline(object{"imports": clusters, "subinstallations": list{provider, consumer}}), "imports": both,
	})
	require.Eventually(t, func() bool { return s.near("request") }, landscapePatience, tick)
	assert.False(t, s.near("received"), "there is no token yet")
	require.NoError(t, s.far.Client().Create(s.Ctx, &corev1.Secret{ObjectMeta: s.Named("token"), StringData: map[string]string{"token": "of-the-second"}}))
	s.succeeded("root")
	assert.Equal(t, base64.StdEncoding.EncodeToString([]byte("of-the-second")), s.configValue("received"))
	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"))
	assert.False(t, s.near("received") || s.near("request"))
}
