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

// statusOfKustomization is Ready also while Flux applies the same revision once more, as it does at every interval.
func statusOfKustomization(l *landscape, kustomization *kustomizev1.Kustomization) status {
	wanted, applied := l.wanted(kustomization), kustomization.Status.LastAppliedRevision
	s := status{phase: phaseWaiting, revision: shortRevision(wanted)}
	ready := apimeta.FindStatusCondition(kustomization.Status.Conditions, meta.ReadyCondition)
	switch {
	case ready == nil:
		s.message = "for " + kustomization.Spec.SourceRef.Kind + " " + kustomization.Spec.SourceRef.Name
	case ready.Status == metav1.ConditionFalse && ready.Reason != meta.ArtifactFailedReason:
		s.state, s.phase, s.message = failed, "Failed", ready.Message
	case wanted == applied && wanted != "":
		s.state, s.phase = done, "Ready"
	case ready.Status == metav1.ConditionTrue:
		s.phase = "Applying"
	default:
		s.phase, s.message = "Applying", reconciling(kustomization.Status.Conditions, ready.Message)
	}
	return s
}

func reconciling(conditions []metav1.Condition, otherwise string) string {
	if found := apimeta.FindStatusCondition(conditions, meta.ReconcilingCondition); found != nil {
		return found.Message
	}
	return otherwise
}

// statusOfInstallation shows the revision of the blueprint's source, or the generation where the blueprint is in the spec.
func statusOfInstallation(inst *v1alpha1.Installation) status {
	s := statusOfJob(&inst.Status.JobStatus)
	s.revision = fmt.Sprintf("generation %d", inst.Status.ObservedGeneration)
	if inst.Status.ObservedGeneration < 0 {
		s.revision = ""
	}
	if len(inst.Status.Sources) > 0 {
		s.revision = shortRevision(inst.Status.Sources[0].Revision)
	}
	if s.state == done && inst.Generation != inst.Status.ObservedGeneration {
		s.state, s.message = busy, "the spec has changed"
	}
	return s
}

// statusOfItem shows the deployer, and the chart of a helm item.
func statusOfItem(item *v1alpha1.DeployItem) status {
	s := statusOfJob(&item.Status.JobStatus)
	s.revision = item.Spec.Type[strings.LastIndex(item.Spec.Type, "/")+1:]
	if deployed := deployedBy(item); deployed.Release != nil {
		s.revision = fmt.Sprintf("chart %s %s", deployed.Release.ChartName, deployed.Release.ChartVersion)
	}
	return s
}

func statusOfJob(job *v1alpha1.JobStatus) status {
	s := status{phase: string(job.Phase)}
	switch {
	case job.Phase == "":
		s.phase = phaseWaiting
	case !job.IsIdle() && job.Phase.IsFinal():
		s.phase = "Queued"
	case job.IsIdle() && job.Phase.IsFailed():
		s.state = failed
	case job.IsIdle() && job.Phase == v1alpha1.PhaseSucceeded:
		s.state = done
	}
	s.message = jobMessage(job, s.state)
	return s
}

func jobMessage(job *v1alpha1.JobStatus, state state) string {
	if state == done {
		return ""
	}
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
