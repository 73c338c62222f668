// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// state is what a person wants to know first.
type state int

const (
	busy state = iota
	done
	failed
)

// A status is what is shown of one object.
type status struct {
	state    state
	phase    string
	revision string
	message  string // why it is not done
}

const phaseWaiting = "Waiting"

// statusOfSource is Fetching until there is an artifact.
func statusOfSource(conditions []metav1.Condition, artifact *meta.Artifact) status {
	s := status{phase: "Fetching"}
	if artifact != nil {
		s = status{state: done, phase: "Fetched", revision: shortRevision(artifact.Revision)}
	}
	ready := apimeta.FindStatusCondition(conditions, meta.ReadyCondition)
	if ready != nil && ready.Status == metav1.ConditionFalse {
		s.state, s.phase, s.message = failed, "Failed", ready.Message
	}
	return s
}

// statusOfKustomization is Ready also while Flux applies the same revision once more, as it does at every interval, and Failed also
// while it tries a failed revision once more.
func statusOfKustomization(l *landscape, kustomization *kustomizev1.Kustomization) status {
	wanted := l.wanted(kustomization)
	s := status{phase: "Applying", revision: shortRevision(wanted)}
	switch failure := l.failures[keyOf(kustomization)]; {
	case wanted == "":
		s.phase, s.message = phaseWaiting, "for "+kustomization.Spec.SourceRef.Kind+" "+kustomization.Spec.SourceRef.Name
	case wanted == kustomization.Status.LastAppliedRevision:
		s.state, s.phase = done, "Ready"
	case wanted == failure.revision:
		s.state, s.phase, s.message = failed, "Failed", failure.message
	case checksHealth(kustomization):
		s.message = "waits for all that it has applied"
	}
	return s
}

func checksHealth(kustomization *kustomizev1.Kustomization) bool {
	running := apimeta.FindStatusCondition(kustomization.Status.Conditions, meta.ReconcilingCondition)
	return running != nil && strings.HasPrefix(running.Message, "Running health checks")
}

// A failure is why a revision could not be applied.
type failure struct{ revision, message string }

// failureOf returns how the latest attempt of a Kustomization has failed, if it has.
func failureOf(kustomization *kustomizev1.Kustomization) (failure, bool) {
	ready := apimeta.FindStatusCondition(kustomization.Status.Conditions, meta.ReadyCondition)
	if ready == nil || ready.Status != metav1.ConditionFalse || kustomization.Status.LastAttemptedRevision == "" {
		return failure{}, false
	}
	return failure{revision: kustomization.Status.LastAttemptedRevision, message: ready.Message}, true
}

// statusOfInstallation shows the revision of the blueprint's source, or the generation where the blueprint is in the spec.
func statusOfInstallation(inst *v1alpha1.Installation) status {
	s := statusOfJob(inst)
	s.revision = fmt.Sprintf("generation %d", inst.Status.ObservedGeneration)
	if inst.Status.ObservedGeneration < 0 {
		s.revision = ""
	}
	if len(inst.Status.Sources) > 0 {
		s.revision = shortRevision(inst.Status.Sources[0].Revision)
	}
	if s.state == done && inst.Generation != inst.Status.ObservedGeneration && inst.DeletionTimestamp.IsZero() {
		s.state, s.message = busy, "the spec has changed"
	}
	return s
}

// statusOfItem shows the deployer, and the chart of a helm item.
func statusOfItem(item *v1alpha1.DeployItem) status {
	s := statusOfJob(item)
	s.revision = item.Spec.Type[strings.LastIndex(item.Spec.Type, "/")+1:]
	if deployed := deployedBy(item); deployed.Release != nil {
		s.revision = fmt.Sprintf("chart %s %s", deployed.Release.ChartName, deployed.Release.ChartVersion)
	}
	return s
}

// A jobObject carries the job protocol in its status.
type jobObject interface {
	client.Object
	Job() *v1alpha1.JobStatus
}

func statusOfJob(object jobObject) status {
	job := object.Job()
	switch {
	case !object.GetDeletionTimestamp().IsZero() && !job.Phase.IsDeletion():
		return status{phase: string(v1alpha1.PhaseDeleting)}
	case job.Phase == "":
		return status{phase: phaseWaiting}
	case !job.IsIdle() && job.Phase.IsFinal():
		return status{phase: "Queued"}
	case job.IsIdle() && job.Phase == v1alpha1.PhaseSucceeded:
		return status{state: done, phase: string(job.Phase)}
	}
	s := status{phase: string(job.Phase), message: jobMessage(job)}
	if job.IsIdle() && job.Phase.IsFailed() {
		s.state = failed
	}
	return s
}

func jobMessage(job *v1alpha1.JobStatus) string {
	if job.LastError != nil {
		return job.LastError.Message
	}
	if ready := apimeta.FindStatusCondition(job.Conditions, meta.ReadyCondition); ready != nil {
		return ready.Message
	}
	return ""
}

// shortRevision cuts the digest of a revision such as main@sha1:0123… to what a person compares.
func shortRevision(revision string) string {
	const digits = 8
	start := strings.LastIndex(revision, ":") + 1
	if start == 0 || len(revision) <= start+digits {
		return revision
	}
	return revision[:start+digits]
}
