// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func TestMain(m *testing.M) { os.Exit(platform.Main(m, platform.Options{LandscaperCRDs: true})) }

// estate is the objects of one namespace on a cluster without controllers.
type estate struct {
	*testing.T
	client.Client
	namespace string
}

// newEstate makes a namespace of the cluster that tests share, and the program with a kubeconfig of that namespace.
func newEstate(t *testing.T) (*estate, *program) {
	t.Helper()
	cluster := platform.Shared(t).Cluster
	c, err := connect(cluster.RestConfig)
	require.NoError(t, err)
	e := &estate{T: t, Client: c, namespace: cluster.Namespace(t)}
	p := start(t)
	p.write("kubeconfig", strings.Replace(string(cluster.Kubeconfig), "context:\n", "context:\n    namespace: "+e.namespace+"\n", 1))
	return e, p
}

// put creates an object below its owner and gives it a job.
func (e *estate) put(object, owner client.Object, job v1alpha1.JobStatus) {
	e.Helper()
	object.SetNamespace(e.namespace)
	if owner != nil {
		kinds, _, err := e.Scheme().ObjectKinds(owner)
		require.NoError(e, err)
		object.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, kinds[0])})
	}
	require.NoError(e, e.Create(e.Context(), object))
	*object.(interface{ Job() *v1alpha1.JobStatus }).Job() = job
	require.NoError(e, e.Status().Update(e.Context(), object))
}

func named(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }

func installation(name string) *v1alpha1.Installation {
	return &v1alpha1.Installation{ObjectMeta: named(name), Spec: v1alpha1.InstallationSpec{
		Blueprint: v1alpha1.BlueprintDefinition{Inline: &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(`{"blueprint.yaml":"x"}`))}},
	}}
}

// TestC33InspectShowsTheTree has a root whose second child has not got the job yet, and a failed item below the first one.
func TestC33InspectShowsTheTree(t *testing.T) {
	e, p := newEstate(t)
	at := []string{"--kubeconfig", filepath.Join(p.home, "kubeconfig")}

	job := func(phase v1alpha1.Phase, id string) v1alpha1.JobStatus {
		return v1alpha1.JobStatus{Phase: phase, JobID: id}
	}
	failed := job(v1alpha1.PhaseFailed, "1")
	failed.JobIDFinished = "1"
	failed.LastError = &v1alpha1.Error{Operation: "Deploy", Reason: "NoRoute", Message: "no route\nto host", LastTransitionTime: metav1.Now(), LastUpdateTime: metav1.Now()}
	root, first, second := installation("root"), installation("first"), installation("second")
	e.put(root, nil, job(v1alpha1.PhaseProgressing, "1"))
	e.put(first, root, failed)
	done := job(v1alpha1.PhaseSucceeded, "0")
	done.JobIDFinished = "0"
	e.put(second, root, done)
	execution := &v1alpha1.Execution{ObjectMeta: named("first")}
	e.put(execution, first, failed)
	item := &v1alpha1.DeployItem{ObjectMeta: named("web"), Spec: v1alpha1.DeployItemSpec{
		Type: "landscaper.gardener.cloud/helm", Target: &v1alpha1.DeployItemTarget{Name: "production"}, Configuration: &runtime.RawExtension{Raw: []byte("{}")},
	}}
	e.put(item, execution, failed)

	lost := job(v1alpha1.PhaseSucceeded, "1")
	lost.JobIDFinished = "1"
	lost.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "ChildLost", Message: "its child\nis gone", LastTransitionTime: metav1.Now()}}
	e.put(installation("third"), root, lost)

	tree := p.must(append(at, "tree")...)
	assert.Regexp(t, `(?m)^Installation root +► Progressing`, tree)
	assert.Regexp(t, `(?m)^├─ Installation first +✗ Failed +pending +no route to host$`, tree)
	assert.Regexp(t, `(?m)^│  └─ DeployItem web +✗ Failed +helm → production +no route to host$`, tree)
	assert.Regexp(t, `(?m)^└─ Installation third +✗ NotReady +pending +its child is gone$`, tree)
	assert.Equal(t, tree, p.must(append(at, "installation", "inspect")...), "the former name shows the same")
	onlyFailed := p.must(append(at, "i", "status", "root", "--failed")...)
	assert.NotContains(t, onlyFailed, "second")
	assert.Contains(t, onlyFailed, "third")
	assert.Contains(t, p.must(append(at, "i", "inspect", "first", "-A", "-o", "json")...), `"deployItem": {`)
	assert.Contains(t, p.must(append(at, "i", "inspect", "-A")...), "Installation "+e.namespace+"/root")
	assert.Contains(t, p.fail(append(at, "i", "inspect", "none")...), "there is no Installation none in namespace "+e.namespace)

	p.must(append(at, "reconcile", "installation", "root", "--wait=false")...)
	assert.Contains(t, p.fail(append(at, "reconcile", "installation", "first")...), "reconcile installation root -n "+e.namespace)
	p.must(append(at, "installation", "interrupt", "root")...)
	require.NoError(t, e.Get(t.Context(), client.ObjectKeyFromObject(root), root))
	assert.NotEmpty(t, root.Annotations[meta.ReconcileRequestAnnotation])
	assert.Equal(t, "interrupt", root.Annotations[v1alpha1.OperationAnnotation])

	stuck := installation("stuck")
	e.put(stuck, root, job(v1alpha1.PhaseDeleteFailed, "1"))
	p.must(append(at, "installation", "reconcile", "stuck")...) // the former name of the command
	require.NoError(t, e.Get(t.Context(), client.ObjectKeyFromObject(stuck), stuck))
	assert.NotEmpty(t, stuck.Annotations[meta.ReconcileRequestAnnotation], "a deletion that failed is tried again where it failed")

	second.Finalizers = []string{v1alpha1.Finalizer}
	require.NoError(t, e.Update(t.Context(), second))
	p.must(append(at, "installation", "force-delete", "second")...)
	require.NoError(t, e.Get(t.Context(), client.ObjectKeyFromObject(second), second))
	assert.Equal(t, "true", second.Annotations[v1alpha1.ForceDeleteAnnotation])
	assert.False(t, second.DeletionTimestamp.IsZero())
}
