// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// scene is a landscape in a namespace of its own, with the statuses that controllers would write.
type scene struct {
	*testing.T
	client    client.Client
	namespace string
	began     time.Time
	// job is the ID of the last job, and clock is when the next object is reached by it, in seconds after began.
	job string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	cluster := platform.Shared(t).Cluster
	return &scene{T: t, client: cluster.Client(), namespace: cluster.Namespace(t), began: time.Now().Add(-3 * time.Minute).Truncate(time.Second), job: "20260102-1"}
}

// at is a time of the job.
func (s *scene) at(seconds int) *metav1.Time {
	return &metav1.Time{Time: s.began.Add(time.Duration(seconds) * time.Second)}
}

// create creates an object and writes its status.
func (s *scene) create(object client.Object) {
	s.Helper()
	status := object.DeepCopyObject().(client.Object)
	require.NoError(s, s.client.Create(s.Context(), object))
	status.SetResourceVersion(object.GetResourceVersion())
	status.SetUID(object.GetUID())
	status.SetCreationTimestamp(object.GetCreationTimestamp())
	require.NoError(s, s.client.Status().Update(s.Context(), status))
}

// part is what an Installation of a scene takes and gives, and how it is.
type part struct {
	name           string
	imports        []string
	target         string
	exports        []string
	exportedTarget string
	parent         *v1alpha1.Installation
	// from and to are the seconds of the job.
	from, to int
	items    []item
	mood
}

// mood is how an object is. Empty is well.
type mood struct {
	phase                         v1alpha1.Phase
	reason, message, drift        string
	suspended, unfinished, queued bool
}

type item struct {
	name, kind, chart string
	objects           []string // Kind namespace/name
	from, to          int
	mood
}

func (s *scene) install(p part) *v1alpha1.Installation {
	s.Helper()
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: p.name}}
	inst.Labels = map[string]string{"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
	inst.Spec.Blueprint.Inline = &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(`{"blueprint.yaml":"x"}`))}
	inst.Spec.Suspend = p.suspended
	for _, name := range p.imports {
		inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, v1alpha1.DataImport{Name: name, DataRef: name})
	}
	if p.target != "" {
		inst.Spec.Imports.Targets = []v1alpha1.TargetImport{{Name: "cluster", Target: p.target}}
	}
	for _, name := range p.exports {
		inst.Spec.Exports.Data = append(inst.Spec.Exports.Data, v1alpha1.DataExport{Name: name, DataRef: name})
	}
	if p.exportedTarget != "" {
		inst.Spec.Exports.Targets = []v1alpha1.TargetExport{{Name: "cluster", Target: p.exportedTarget}}
	}
	if p.parent != nil {
		inst.Name = p.parent.Name + "-" + p.name
		inst.Labels, inst.Annotations = nil, map[string]string{v1alpha1.SubinstallationNameAnnotation: p.name}
		require.NoError(s, controllerutil.SetControllerReference(p.parent, inst, s.client.Scheme()))
	}
	inst.Status.ObservedGeneration = 1
	inst.Status.LastAppliedRevision = "main@sha1:4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	inst.Status.JobStatus = s.status(p.mood, p.from, p.to, fmt.Sprintf("Deployed main@sha1:4b825dc6: %d items in %ds", len(p.items), p.to-p.from))
	if p.phase == "" {
		inst.Status.History = meta.History{{
			Digest: "sha256:1", FirstReconciled: *s.at(-86400), LastReconciled: *s.at(p.to), LastReconciledDuration: metav1.Duration{Duration: time.Duration(p.to-p.from) * time.Second},
			LastReconciledStatus: "Succeeded", TotalReconciliations: 3, Metadata: map[string]string{"revision": "main@sha1:4b825dc642cb6eb9a060e54bf8d69288fbee4904"},
		}}
	}
	s.create(inst)
	if p.phase == "" {
		s.exports(inst)
	}
	s.deploy(inst, p)
	return inst
}

// exports creates the DataObjects that an Installation exports.
func (s *scene) exports(inst *v1alpha1.Installation) {
	s.Helper()
	scope := ""
	if parent := inst.ParentReference(); parent != nil {
		scope = storage.InstallationScope(parent.Name)
	}
	for _, export := range inst.Spec.Exports.Data {
		object := &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: storage.DataName(scope, export.DataRef)}}
		object.Labels = map[string]string{
			v1alpha1.DataObjectSourceTypeLabel: v1alpha1.DataObjectSourceExport, v1alpha1.DataObjectSourceLabel: storage.InstallationScope(inst.Name),
			v1alpha1.DataObjectKeyLabel: export.DataRef, v1alpha1.DataObjectContextLabel: scope,
		}
		object.Data = v1alpha1.NewAnyJSON([]byte(`"hidden-data"`))
		require.NoError(s, s.client.Create(s.Context(), object))
	}
}

// deploy creates the Execution of an Installation with its DeployItems.
func (s *scene) deploy(inst *v1alpha1.Installation, p part) {
	s.Helper()
	if len(p.items) == 0 {
		return
	}
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: inst.Name}}
	require.NoError(s, controllerutil.SetControllerReference(inst, execution, s.client.Scheme()))
	var worst mood
	for _, i := range p.items {
		if i.mood != (mood{}) {
			worst = i.mood
		}
	}
	execution.Status.JobStatus = s.status(worst, p.from, p.to, "deployed")
	s.create(execution)
	for _, i := range p.items {
		object := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: inst.Name + "-" + i.name}}
		object.Labels = map[string]string{v1alpha1.ExecutionManagedNameLabel: i.name}
		object.Spec.Type = "landscaper.gardener.cloud/" + i.kind
		if p.target != "" {
			object.Spec.Target = &v1alpha1.DeployItemTarget{Name: p.target}
		}
		require.NoError(s, controllerutil.SetControllerReference(execution, object, s.client.Scheme()))
		object.Status.JobStatus = s.status(i.mood, i.from, i.to, "deployed "+strings.Join(i.objects, ", "))
		if !i.queued {
			object.Status.LastReconcileTime = s.at(i.from)
			object.Status.Deployer = &v1alpha1.DeployerInformation{Name: i.kind, Version: "v0.1.0"}
		}
		s.record(object, i)
		s.create(object)
	}
}

// record writes what the deployer has deployed.
func (s *scene) record(object *v1alpha1.DeployItem, i item) {
	s.Helper()
	var resources []map[string]any
	for _, each := range i.objects {
		kind, name, _ := strings.Cut(each, " ")
		namespace, name, _ := strings.Cut(name, "/")
		resources = append(resources, map[string]any{"policy": "manage", "resource": map[string]any{"apiVersion": "v1", "kind": kind, "namespace": namespace, "name": name}})
	}
	status := map[string]any{"managedResources": resources}
	if i.chart != "" {
		name, version, _ := strings.Cut(i.chart, " ")
		status["release"] = map[string]any{"name": name, "namespace": "shop", "revision": 3, "chartName": name, "chartVersion": version}
	}
	text, err := json.Marshal(status)
	require.NoError(s, err)
	object.Status.ProviderStatus = &runtime.RawExtension{Raw: text}
}

func (s *scene) status(m mood, from, to int, words string) v1alpha1.JobStatus {
	status := v1alpha1.JobStatus{Phase: v1alpha1.PhaseSucceeded, JobID: s.job, JobIDFinished: s.job}
	status.TransitionTimes = &v1alpha1.TransitionTimes{TriggerTime: s.at(from), InitTime: s.at(from + min(2, (to-from)/3)), FinishedTime: s.at(to)}
	ready := metav1.Condition{Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: "ReconciliationSucceeded", Message: words, LastTransitionTime: *s.at(to)}
	if m.phase != "" {
		status.Phase, ready.Status, ready.Reason, ready.Message = m.phase, metav1.ConditionFalse, m.reason, m.message
	}
	if m.unfinished {
		status.JobIDFinished, status.TransitionTimes.FinishedTime, ready.Status = "20260101-1", nil, metav1.ConditionUnknown
	}
	if m.queued {
		status.TransitionTimes.InitTime = nil
	}
	apimeta.SetStatusCondition(&status.Conditions, ready)
	if m.drift != "" {
		apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: v1alpha1.DriftedCondition, Status: metav1.ConditionTrue, Reason: "DriftDetected", Message: m.drift, LastTransitionTime: *s.at(to + 60),
		})
	}
	return status
}

// target creates a Target of a person, or of an Environment.
func (s *scene) target(name, environment string) {
	s.Helper()
	target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	target.Spec.Type = "landscaper.gardener.cloud/kubernetes-cluster"
	target.Spec.Configuration = &v1alpha1.AnyJSON{RawMessage: []byte(`{"kubeconfig":"hidden-kubeconfig"}`)}
	if environment != "" {
		target.Annotations = map[string]string{v1alpha1.EnvironmentAnnotation: environment}
	}
	s.create(target)
}
