// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package children

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// isOfFormer reports whether an object belongs to an Installation that had the name of this one and is gone. The garbage collector deletes it.
func (f *Family) isOfFormer(object client.Object) bool {
	owner := metav1.GetControllerOf(object)
	return owner != nil && owner.Kind == "Installation" && owner.Name == f.Inst.Name && owner.UID != f.Inst.UID
}

// awaitFormer waits for the end of a child of a former Installation. One whose deletion has failed waits for a person, so the message says why it
// failed and how to try again.
func awaitFormer(reason, kind string, child kit.JobObject) error {
	job := child.Job()
	if job.Phase != v1alpha1.PhaseDeleteFailed || !job.IsIdle() {
		return kit.Wait(jobs.Operation, reason, "waiting for %s %s of a former Installation with the same name to be deleted", kind, child.GetName())
	}
	cause := "its status does not say why"
	if job.LastError != nil {
		cause = job.LastError.Message
	}
	return kit.Wait(jobs.Operation, reason, "%s %s of a former Installation with the same name could not be deleted: %s; remove the cause and annotate "+
		"it %s=%s", kind, child.GetName(), cause, v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
}
