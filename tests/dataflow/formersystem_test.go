// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// formerSystem is a cluster with the objects that the controllers of Gardener Landscaper leave behind. Its CRDs accept everything.
type formerSystem struct {
	*platform.Cluster
	t         *testing.T
	ctx       context.Context
	namespace string
	// access is a kubeconfig for the cluster itself, in Targets.
	access string
}

func newFormerSystem(ctx context.Context, t *testing.T) *formerSystem {
	t.Helper()
	shared := landscape.Shared(t)
	namespace := shared.Namespace(t)
	cluster, err := shared.SecondCluster(ctx, namespace, platform.Options{
		ControllerManager: true, CRDDirs: []string{looseCRDs(t)},
		AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	})
	require.NoError(t, err)
	config, err := cluster.NewUser("deployers", landscape.AllRights...)
	require.NoError(t, err)
	access, err := platform.KubeconfigFor(config)
	require.NoError(t, err)
	f := &formerSystem{Cluster: cluster, t: t, ctx: ctx, namespace: namespace, access: string(access)}
	f.make("v1", "Namespace", namespace, object{})
	f.make("v1", "Namespace", "ls-system", object{})
	return f
}

// crdBases is the folder of our CRDs.
var crdBases = filepath.Join("..", "..", "config", "crd", "bases")

// looseCRDs writes our CRDs with schemas that accept and keep everything, and returns their folder.
func looseCRDs(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files, err := os.ReadDir(crdBases)
	require.NoError(t, err)
	for _, file := range files {
		raw, err := os.ReadFile(filepath.Join(crdBases, file.Name()))
		require.NoError(t, err)
		crd := object{}
		require.NoError(t, yaml.Unmarshal(raw, &crd))
		for _, version := range crd["spec"].(object)["versions"].(list) {
			delete(version.(object), "selectableFields")
			version.(object)["schema"] = object{"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
		}
		raw, err = yaml.Marshal(crd)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file.Name()), raw, 0o600))
	}
	return dir
}

// make creates an object and writes its status.
func (f *formerSystem) make(apiVersion, kind, name string, content object) *unstructured.Unstructured {
	f.t.Helper()
	raw, err := json.Marshal(content)
	require.NoError(f.t, err)
	made := &unstructured.Unstructured{}
	require.NoError(f.t, json.Unmarshal(raw, &made.Object))
	status, hasStatus := made.Object["status"]
	made.SetAPIVersion(apiVersion)
	made.SetKind(kind)
	made.SetName(name)
	if kind != "Namespace" {
		made.SetNamespace(f.namespace)
	}
	require.NoError(f.t, f.Client().Create(f.ctx, made))
	if hasStatus {
		made.Object["status"] = status
		require.NoError(f.t, f.Client().Status().Update(f.ctx, made))
	}
	return made
}

func (f *formerSystem) ours(kind, name string, content object) *unstructured.Unstructured {
	f.t.Helper()
	return f.make(v1alpha1.GroupVersion.String(), kind, name, content)
}

func (f *formerSystem) target(name string) {
	f.t.Helper()
	f.ours("Target", name, object{"spec": object{"type": clusterType, "config": object{"kubeconfig": f.access}}})
}

// ownedBy returns an owner reference.
func ownedBy(owner client.Object, controller bool) list {
	ref := object{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": owner.GetObjectKind().GroupVersionKind().Kind,
		"name": owner.GetName(), "uid": string(owner.GetUID()),
	}
	if controller {
		ref["controller"], ref["blockOwnerDeletion"] = true, true
	}
	return list{ref}
}

const (
	formerJob  = "0b8f2f4c-53d5-4b2e-a3c1-7a6d1f5f0e11"
	formerTime = "2025-11-20T10:00:00Z"
)

// ended is the part of a status that all kinds have after a job.
func ended(more object) object {
	status := object{
		"phase": "Succeeded", "jobID": formerJob, "jobIDFinished": formerJob, "observedGeneration": 1, "phaseTransitionTime": formerTime,
		"transitionTimes": object{"triggerTime": formerTime, "initTime": formerTime, "waitTime": formerTime, "finishedTime": formerTime},
	}
	maps.Copy(status, more)
	return status
}

// conditions are of the former form: with a time and codes that ours do not have, a status and a reason that ours may not have.
func formerConditions(kind string) list {
	return list{
		object{
			"type": kind, "status": "True", "reason": "Done", "message": "done", "lastTransitionTime": formerTime, "lastUpdateTime": formerTime,
		},
		object{
			"type": kind + "s", "status": "Progressing", "reason": "not finished yet", "message": "Op: x - Reason: y", "codes": list{"ERR_UNFINISHED"},
			"lastTransitionTime": formerTime, "lastUpdateTime": formerTime,
		},
	}
}

// root makes a root Installation.
func (f *formerSystem) root(name string, spec, status object) *unstructured.Unstructured {
	f.t.Helper()
	spec = maps.Clone(spec)
	spec["context"] = "default"
	return f.ours("Installation", name, object{
		"metadata": object{"finalizers": list{v1alpha1.Finalizer}}, "spec": spec, "status": status,
	})
}

// sub makes a sub-installation with a generated name.
func (f *formerSystem) sub(parent client.Object, template, name string, spec, status object) *unstructured.Unstructured {
	f.t.Helper()
	spec = maps.Clone(spec)
	spec["context"] = "default"
	return f.ours("Installation", name, object{
		"metadata": object{
			"generateName": template + "-", "finalizers": list{v1alpha1.Finalizer}, "ownerReferences": ownedBy(parent, true),
			"labels":      object{v1alpha1.EncompassedByLabel: parent.GetName()},
			"annotations": object{v1alpha1.SubinstallationNameAnnotation: template},
		},
		"spec": spec, "status": status,
	})
}

// execution makes the Execution of an Installation from deploy items as a template renders them.
func (f *formerSystem) execution(owner client.Object, rendered string, status object) *unstructured.Unstructured {
	f.t.Helper()
	var items list
	require.NoError(f.t, yaml.Unmarshal([]byte(rendered), &items))
	raw, err := json.Marshal(items)
	require.NoError(f.t, err)
	return f.ours("Execution", owner.GetName(), object{
		"metadata": object{
			"finalizers": list{v1alpha1.Finalizer}, "ownerReferences": ownedBy(owner, true),
			"annotations": object{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile},
		},
		"spec": object{"context": "default", "deployItemsCompressed": gzipped(f.t, raw)}, "status": status,
	})
}

func gzipped(t *testing.T, raw []byte) string {
	t.Helper()
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err := io.Copy(writer, bytes.NewReader(raw))
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

// item makes the DeployItem of a rendered deploy item, with a generated name.
func (f *formerSystem) item(execution client.Object, name, rendered string, status object) *unstructured.Unstructured {
	f.t.Helper()
	var items []object
	require.NoError(f.t, yaml.Unmarshal([]byte(rendered), &items))
	item := items[0]
	spec := object{"type": item["type"], "config": item["config"], "context": "default"}
	reached := v1alpha1.NoTargetName
	if target, ok := item["target"].(object); ok {
		spec["target"], reached = target, target["name"].(string)
	}
	for _, optional := range []string{"updateOnChangeOnly", "timeout"} {
		if value, ok := item[optional]; ok {
			spec[optional] = value
		}
	}
	return f.ours("DeployItem", name, object{
		"metadata": object{
			"generateName": execution.GetName() + "-" + item["name"].(string) + "-",
			"finalizers":   list{v1alpha1.Finalizer}, "ownerReferences": ownedBy(execution, true),
			"labels": object{
				v1alpha1.ExecutionManagedByLabel: execution.GetName(), v1alpha1.ExecutionManagedNameLabel: item["name"],
			},
			"annotations": object{
				v1alpha1.DeployerTypeAnnotation: item["type"], v1alpha1.DeployerTargetNameAnnotation: reached,
				v1alpha1.DependsOnAnnotation: "", v1alpha1.ReconcileTimeAnnotation: formerTime,
			},
		},
		"spec": spec, "status": status,
	})
}

// itemEnded is the status of a DeployItem after a job.
func itemEnded(deployer string, more object) object {
	status := ended(object{
		"jobIDGenerationTime": formerTime, "lastReconcileTime": formerTime,
		"deployer":   object{"identity": deployer + "-x", "name": deployer, "version": "v0.153.0"},
		"conditions": formerConditions("DeployItemValidation"),
	})
	maps.Copy(status, more)
	return status
}

// managed is the provider status of the manifest deployer after it has deployed objects.
func managed(deployed ...client.Object) object {
	var resources list
	for _, resource := range deployed {
		gvk := resource.GetObjectKind().GroupVersionKind()
		resources = append(resources, object{"policy": "manage", "resource": object{
			"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind, "name": resource.GetName(), "namespace": resource.GetNamespace(),
			"uid": string(resource.GetUID()),
		}})
	}
	return object{
		"apiVersion": "manifest.deployer.landscaper.gardener.cloud/v1alpha2", "kind": "ProviderStatus", "managedResources": resources,
	}
}

// config deploys a ConfigMap as the manifest deployer does for the item of a name.
func (f *formerSystem) config(name, item, value string) *unstructured.Unstructured {
	f.t.Helper()
	return f.make("v1", "ConfigMap", name, object{
		"metadata": object{"labels": object{v1alpha1.ManifestDeployItemLabel: item}}, "data": object{"value": value},
	})
}

// flow is where a DataObject or Target belongs: to whom, in which scope, under which key.
type flow struct {
	owner            client.Object
	scope, key, kind string
	labels           object
}

func (f *formerSystem) metadata(at flow, hash string) object {
	labels := object{
		v1alpha1.DataObjectKeyLabel: at.key, v1alpha1.DataObjectSourceLabel: storage.InstallationScope(at.owner.GetName()),
		v1alpha1.DataObjectSourceTypeLabel: at.kind, v1alpha1.DataObjectJobIDLabel: formerJob,
	}
	if at.scope != "" {
		labels[v1alpha1.DataObjectContextLabel] = at.scope
	}
	maps.Copy(labels, at.labels)
	return object{"labels": labels, "annotations": object{v1alpha1.HashAnnotation: hash}, "ownerReferences": ownedBy(at.owner, false)}
}

// value makes a DataObject of the data flow.
func (f *formerSystem) value(at flow, value any) {
	f.t.Helper()
	f.ours("DataObject", storage.DataName(at.scope, at.key), object{"metadata": f.metadata(at, f.hash(value)), "data": value})
}

// copyOfTarget makes the copy of the Target of the cluster.
func (f *formerSystem) copyOfTarget(at flow) {
	f.t.Helper()
	config := object{"kubeconfig": f.access}
	f.ours("Target", storage.DataName(at.scope, at.key), object{
		"metadata": f.metadata(at, f.hash(config)), "spec": object{"type": clusterType, "config": config},
	})
}

func (f *formerSystem) hash(value any) string {
	f.t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(f.t, err)
	return storage.DataHash(v1alpha1.NewAnyJSON(raw))
}

// exportsOfItems makes the Secret with the exports of an item and the DataObject with those of the Execution, whose other items have none.
func (f *formerSystem) exportsOfItems(execution, item client.Object, name string, exported object, others ...string) {
	f.t.Helper()
	raw, err := json.Marshal(exported)
	require.NoError(f.t, err)
	f.make("v1", "Secret", item.GetName()+"-export", object{
		"metadata": object{"ownerReferences": ownedBy(item, true)}, "stringData": object{"config": string(raw)},
	})
	scope := storage.ExecutionScope(execution.GetName())
	all := object{name: exported}
	for _, other := range others {
		all[other] = nil
	}
	f.ours("DataObject", storage.DataName(scope, ""), object{
		"metadata": object{
			"ownerReferences": ownedBy(execution, true), "annotations": object{v1alpha1.HashAnnotation: f.hash(all)},
			"labels": object{
				v1alpha1.DataObjectContextLabel: scope, v1alpha1.DataObjectSourceLabel: scope, v1alpha1.DataObjectSourceTypeLabel: "export",
				v1alpha1.DataObjectJobIDLabel: formerJob,
			},
		},
		"data": all,
	})
}

const chartTemplate = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {value: {{ .Values.value | quote }}}\n"

// chart returns a chart with one ConfigMap, as chart.archive.raw has it.
func chart(t *testing.T) string {
	t.Helper()
	packed, err := servers.PackageChart(fstest.MapFS{
		"Chart.yaml":        {Data: []byte("apiVersion: v2\nname: config\nversion: 1.0.0\n")},
		"templates/cm.yaml": {Data: []byte(chartTemplate)},
	})
	require.NoError(t, err)
	return base64.StdEncoding.EncodeToString(packed)
}

// release deploys the chart as Helm does: the object and the record of revision 1.
func (f *formerSystem) release(name, value string) {
	f.t.Helper()
	raw, err := json.Marshal(object{
		"name": name, "namespace": f.namespace, "version": 1, "config": object{"value": value},
		"info": object{"first_deployed": formerTime, "last_deployed": formerTime, "deleted": "", "description": "Install complete", "status": "deployed"},
		"chart": object{
			"metadata":  object{"apiVersion": "v2", "name": "config", "version": "1.0.0"},
			"templates": list{object{"name": "templates/cm.yaml", "data": []byte(chartTemplate)}},
		},
		"manifest": strings.NewReplacer("{{ .Release.Name }}", name, "{{ .Values.value | quote }}", `"`+value+`"`).
			Replace("---\n# Source: config/templates/cm.yaml\n" + chartTemplate),
	})
	require.NoError(f.t, err)
	f.make("v1", "Secret", "sh.helm.release.v1."+name+".v1", object{
		"type":       "helm.sh/release.v1",
		"metadata":   object{"labels": object{"owner": "helm", "name": name, "status": "deployed", "version": "1", "modifiedAt": "1763632800"}},
		"stringData": object{"release": gzipped(f.t, raw)},
	})
	f.make("v1", "ConfigMap", name, object{
		"metadata": object{
			"labels":      object{"app.kubernetes.io/managed-by": "Helm"},
			"annotations": object{"meta.helm.sh/release-name": name, "meta.helm.sh/release-namespace": f.namespace},
		},
		"data": object{"value": value},
	})
}

// takeOver replaces the CRDs by ours and starts our processes.
func (f *formerSystem) takeOver() {
	f.t.Helper()
	require.NoError(f.t, f.InstallCRDs(f.ctx, crdBases))
	for name, command := range map[string]string{
		landscape.Controller: "controller", landscape.ManifestDeployer: "deployer manifest", landscape.MockDeployer: "deployer mock",
		landscape.HelmDeployer: "deployer helm",
	} {
		landscape.Run(f.ctx, f.t, f.Cluster, name, landscape.AllRights, command, "--log-level=info")
	}
}

// states returns all objects of the namespace but events by kind and name.
func (f *formerSystem) states() map[string]*unstructured.Unstructured {
	f.t.Helper()
	found := map[string]*unstructured.Unstructured{}
	kinds := map[string]string{
		"Installation": v1alpha1.GroupVersion.String(), "Execution": v1alpha1.GroupVersion.String(), "DeployItem": v1alpha1.GroupVersion.String(),
		"DataObject": v1alpha1.GroupVersion.String(), "Target": v1alpha1.GroupVersion.String(), "ConfigMap": "v1", "Secret": "v1",
	}
	for kind, apiVersion := range kinds {
		all := &unstructured.UnstructuredList{}
		all.SetAPIVersion(apiVersion)
		all.SetKind(kind + "List")
		require.NoError(f.t, f.Client().List(f.ctx, all, client.InNamespace(f.namespace)))
		for i := range all.Items {
			found[kind+"/"+all.Items[i].GetName()] = &all.Items[i]
		}
	}
	delete(found, "ConfigMap/kube-root-ca.crt")
	return found
}

// installation waits for a state of an Installation.
func (f *formerSystem) installation(name string, done func(*v1alpha1.Installation) bool) *v1alpha1.Installation {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.ctx, landscape.Patience)
	defer cancel()
	inst := &v1alpha1.Installation{}
	inst.Name, inst.Namespace = name, f.namespace
	require.NoError(f.t, f.Await(ctx, inst, func() bool { return done(inst) }))
	return inst
}

// valueOf returns what was deployed.
func (f *formerSystem) valueOf(name string) string {
	f.t.Helper()
	config := &corev1.ConfigMap{}
	require.NoError(f.t, f.Client().Get(f.ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, config))
	return config.Data["value"]
}
