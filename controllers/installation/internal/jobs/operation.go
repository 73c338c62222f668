// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// OperationInGitCondition is True while Flux keeps an operation annotation on an Installation. Its message names the cure.
const OperationInGitCondition = kit.OperationInGitCondition

// Meaning is what the operation annotation of an Installation asks for.
type Meaning int

const (
	// asksNothing: there is no annotation, or status says that a job was started for it.
	AsksNothing Meaning = iota
	// asksForJob: a job has to start, or the one that starts now answers it.
	asksForJob
	// asksInVain: nothing comes of it here, so it goes.
	AsksInVain
)

// MeaningOf returns what the operation annotation asks for while no job runs, if it is not kept in Git. The jobs of a sub-installation are those of
// its parent, but a failed deletion is tried again alone: the parent may be gone.
func MeaningOf(inst *v1alpha1.Installation) Meaning {
	switch value := inst.Annotations[v1alpha1.OperationAnnotation]; {
	case value == "", value == v1alpha1.OperationReconcile && OperationAnswered(inst):
		return AsksNothing
	case value == v1alpha1.OperationReconcile && (inst.IsRoot() || inst.Status.Phase == v1alpha1.PhaseDeleteFailed):
		return asksForJob
	}
	return AsksInVain
}

// OperationAnswered reports whether status names a job that the operation annotation has started and metadata does not say so yet: an operation
// that is still there is the one that started it. Once metadata says so, any operation is a new one.
func OperationAnswered(inst *v1alpha1.Installation) bool {
	job := inst.Status.OperationJobID
	return job != "" && inst.Annotations[v1alpha1.JobAnnotation] != job
}

// CloseOperation takes the job of an operation out of status once metadata names it and the job has ended. From then on an operation is a new
// one also where a client has replaced all annotations, that of the job with them.
func CloseOperation(inst *v1alpha1.Installation) {
	ended := inst.Status.JobID != inst.Status.OperationJobID || inst.Status.JobIDFinished == inst.Status.OperationJobID
	if ended && !OperationAnswered(inst) {
		inst.Status.OperationJobID = ""
	}
}
