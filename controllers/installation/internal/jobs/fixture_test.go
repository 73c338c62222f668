// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// working is an Installation in a job.
func working(name, uid, job string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(uid)}}
	inst.Status.JobID = job
	return inst
}

// grown is an Installation that has succeeded with an Execution and a sub-installation.
func grown(phase v1alpha1.Phase) *v1alpha1.Installation {
	inst := working("root", "1", "job")
	inst.Status.Phase, inst.Status.JobIDFinished = phase, "job"
	inst.Status.ExecutionReference = &v1alpha1.ObjectReference{Name: "root", Namespace: "n"}
	inst.Status.SubInstCache = &v1alpha1.SubInstCache{ActiveSubs: []v1alpha1.SubNamePair{{SpecName: "sub", ObjectName: "root-sub"}}}
	return inst
}

// nest makes an Installation a sub-installation.
func nest(inst *v1alpha1.Installation) {
	parent := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "parent", UID: "parent"}}
	inst.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(parent, v1alpha1.GroupVersion.WithKind("Installation"))}
}

// nested returns a sub-installation whose annotation names a job.
func nested(annotation, running, finished string) *v1alpha1.Installation {
	inst := withJobs(running, finished)
	controls := true
	inst.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Installation", Name: "parent", UID: "parent", Controller: &controls}}
	inst.Annotations = map[string]string{v1alpha1.JobAnnotation: annotation}
	return inst
}

// withJobs returns an Installation that is at a job after it has ended another.
func withJobs(running, finished string) *v1alpha1.Installation {
	inst := &v1alpha1.Installation{}
	inst.Status.JobID, inst.Status.JobIDFinished = running, finished
	return inst
}

// exporter is an Installation that exports "out" and has failed for a reason.
func exporter(name, uid, reason string) *v1alpha1.Installation {
	inst := working(name, uid, "job")
	inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "out", DataRef: "out"}}
	inst.Status.JobIDFinished = "job"
	inst.Status.Phase, inst.Status.LastError = v1alpha1.PhaseFailed, &v1alpha1.Error{Reason: reason}
	return inst
}

// following lets every change start a job.
func following(inst *v1alpha1.Installation) *v1alpha1.Installation {
	metav1.SetMetaDataAnnotation(&inst.ObjectMeta, v1alpha1.ReconcileIfChangedAnnotation, "true")
	return inst
}

// leaving lets an Installation be in deletion.
func leaving(inst *v1alpha1.Installation) *v1alpha1.Installation {
	inst.DeletionTimestamp, inst.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{v1alpha1.Finalizer}
	return inst
}

func operate(inst *v1alpha1.Installation) {
	metav1.SetMetaDataAnnotation(&inst.ObjectMeta, v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
}
