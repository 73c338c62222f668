// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// Health is what a person wants to know first.
type Health string

// Healths of objects.
const (
	// Well is Ready, or of a kind that is always.
	Well Health = "Well"
	// Working goes on by itself.
	Working Health = "Working"
	// Failing has failed, also where something tries again.
	Failing Health = "Failing"
	// Held waits for a person: it is suspended or ignored before its spec is applied, or nothing starts a job for a change.
	Held Health = "Held"
)

// Status is what is shown of one object.
type Status struct {
	Health Health `json:"health"`
	// Ready is the status of the condition; empty for kinds without one.
	Ready string `json:"ready,omitempty"`
	// Phase of the last job, or a word for where an object without jobs is.
	Phase string `json:"phase,omitempty"`
	// Reason and Message are those of Ready, and Since is when it became so.
	Reason  string       `json:"reason,omitempty"`
	Message string       `json:"message,omitempty"`
	Since   *metav1.Time `json:"since,omitempty"`
	// Revision is what was applied last: of a source, a component or a chart.
	Revision  string `json:"revision,omitempty"`
	Suspended bool   `json:"suspended,omitempty"`
	Drifted   bool   `json:"drifted,omitempty"`
	// Drift says what is not as it was deployed; empty where nothing has drifted.
	Drift string `json:"drift,omitempty"`
	// Pending says that the spec is not applied and no job runs for it, or that no deployer has begun the job of a DeployItem.
	Pending bool `json:"pending,omitempty"`
	// Runs counts the jobs for the contents that status.history knows; 0 where that is not known.
	Runs int64 `json:"runs,omitempty"`
	// Took is how long the last job took, or has run until now.
	Took metav1.Duration `json:"took,omitzero"`
	// retries is true where something has failed and is tried again.
	retries bool
}

// conditioned is an object with conditions.
type conditioned interface{ GetConditions() []metav1.Condition }

// job is an object with the job protocol in its status.
type job interface {
	client.Object
	Job() *v1alpha1.JobStatus
}

// StatusOf returns what is shown of an object of a snapshot.
func StatusOf(object client.Object, now time.Time) Status {
	s := Status{Health: Well}
	if object, ok := object.(conditioned); ok {
		s.read(object.GetConditions())
	}
	switch object := object.(type) {
	case *v1alpha1.Installation:
		s.Revision, s.Suspended = object.Status.LastAppliedRevision, object.Spec.Suspend
		idle := object.Status.IsIdle() && object.DeletionTimestamp.IsZero()
		s.Pending = idle && (object.Generation != object.Status.ObservedGeneration || s.Reason == protocol.ReasonNotTriggered || s.Reason == protocol.ReasonSuspended)
		s.readHistory(object.Status.History) // its duration is more exact than times in seconds
		if !object.Status.IsIdle() || s.Runs == 0 {
			s.readTimes(object.Job(), now)
		}
		s.readJob(object)
	case *v1alpha1.Execution:
		s.readTimes(object.Job(), now)
		s.readJob(object)
	case *v1alpha1.DeployItem:
		s.Pending = !object.Status.IsIdle() && !object.IsPickedUp()
		if status, ok := providerStatus(object); ok && status.Release != nil {
			s.Revision = strings.TrimSpace(status.Release.ChartName + " " + status.Release.ChartVersion)
		}
		s.readTimes(object.Job(), now)
		s.readJob(object)
	case *v1alpha1.TargetSync:
		s.Suspended = object.Spec.Suspend
	case *v1alpha1.Environment: // its Ready tells of deployers alone
		agent := apimeta.FindStatusCondition(object.Status.Conditions, v1alpha1.AgentConnectedCondition)
		if s.Health == Well && agent != nil && agent.Status == metav1.ConditionFalse {
			s.Health, s.Reason, s.Message, s.Since = Failing, agent.Reason, agent.Message, &agent.LastTransitionTime
		}
	case *kustomizev1.Kustomization:
		s.Revision, s.Suspended = object.Status.LastAppliedRevision, object.Spec.Suspend
		s.readHistory(object.Status.History)
	case *sourcev1.GitRepository:
		s.readSource(object.Status.Artifact, object.Spec.Suspend)
	case *sourcev1.OCIRepository:
		s.readSource(object.Status.Artifact, object.Spec.Suspend)
	}
	if object.GetAnnotations()[v1alpha1.IgnoreAnnotation] == "true" {
		s.Suspended = true
	}
	if s.Suspended && s.Pending {
		s.Health = Held
	}
	return s
}

// read takes in what conditions say.
func (s *Status) read(conditions []metav1.Condition) {
	drifted := apimeta.FindStatusCondition(conditions, v1alpha1.DriftedCondition)
	if drifted != nil && drifted.Status == metav1.ConditionTrue {
		s.Drifted, s.Drift = true, drifted.Message
	}
	ready := apimeta.FindStatusCondition(conditions, meta.ReadyCondition)
	if ready == nil {
		return
	}
	s.Ready, s.Reason, s.Message, s.Since = string(ready.Status), ready.Reason, ready.Message, &ready.LastTransitionTime
	reconciling := apimeta.FindStatusCondition(conditions, meta.ReconcilingCondition)
	s.retries = reconciling != nil && reconciling.Status == metav1.ConditionTrue && reconciling.Reason == meta.ProgressingWithRetryReason
	switch {
	case ready.Status == metav1.ConditionTrue:
	case ready.Reason == protocol.ReasonNotTriggered || ready.Reason == protocol.ReasonSuspended:
		s.Health = Held
	case ready.Status == metav1.ConditionFalse || s.retries:
		s.Health = Failing
	default:
		s.Health = Working
	}
	if s.Drifted && s.Health == Well {
		s.Since = &drifted.LastTransitionTime
	}
}

// readJob takes in what the job protocol says.
func (s *Status) readJob(object job) {
	job := object.Job()
	s.Phase = string(job.Phase)
	if s.Ready == "" {
		s.Ready = string(metav1.ConditionUnknown)
		if job.LastError != nil {
			s.Reason, s.Message, s.Since = job.LastError.Reason, job.LastError.Message, &job.LastError.LastUpdateTime
		}
	}
	switch {
	case s.Health == Held || s.retries:
	case job.Phase.IsFailed() && job.IsIdle():
		s.Health = Failing
	case !job.IsIdle(), job.Phase == "", !object.GetDeletionTimestamp().IsZero():
		s.Health = Working
	}
	if !object.GetDeletionTimestamp().IsZero() && !job.Phase.IsDeletion() {
		s.Phase = string(v1alpha1.PhaseDeleting)
	} else if job.Phase == "" || !job.IsIdle() && job.Phase.IsFinal() {
		s.Phase = "Waiting"
	}
}

// readTimes takes in how long the last job took.
func (s *Status) readTimes(job *v1alpha1.JobStatus, now time.Time) {
	times := job.TransitionTimes
	if times == nil || times.TriggerTime == nil {
		return
	}
	end := now
	if times.FinishedTime != nil && job.IsIdle() {
		end = times.FinishedTime.Time
	}
	s.Took.Duration = max(0, end.Sub(times.TriggerTime.Time))
}

// readHistory takes in how often and how long the contents ran that an object remembers.
func (s *Status) readHistory(history meta.History) {
	for i, content := range history {
		s.Runs += content.TotalReconciliations
		if i == 0 {
			s.Took = content.LastReconciledDuration
		}
	}
}

func (s *Status) readSource(artifact *meta.Artifact, suspended bool) {
	s.Suspended = suspended
	if artifact != nil {
		s.Revision = artifact.Revision
	}
}

// Text is what is to be said: why an object is not well, what has drifted, or what its last job did.
func (s *Status) Text() string {
	if s.Drifted && s.Health == Well {
		return Short(s.Drift)
	}
	return Short(s.Message)
}

// Mark is one sign for the health.
func (s *Status) Mark() string {
	if s.Health == Well && s.Drifted {
		return "⚠"
	}
	return map[Health]string{Well: "✔", Working: "►", Failing: "✗", Held: "⚠"}[s.Health]
}

// Word says in one word where an object is: its phase, else what Ready says.
func (s *Status) Word() string {
	word := cmp.Or(s.Phase, map[string]string{"True": "Ready", "False": "NotReady", "Unknown": "Progressing"}[s.Ready])
	if s.Health == Failing && (s.Phase == string(v1alpha1.PhaseSucceeded) || word == "Ready") {
		return "NotReady"
	}
	return word
}

// Flags says what is special about an object.
func (s *Status) Flags() string {
	var flags []string
	for _, flag := range []struct {
		is   bool
		name string
	}{{s.Suspended, "suspended"}, {s.Drifted, "drifted"}, {s.Pending, "pending"}} {
		if flag.is {
			flags = append(flags, flag.name)
		}
	}
	return strings.Join(flags, " ")
}

var fullDigest = regexp.MustCompile(`:([0-9a-f]{8})[0-9a-f]{32,}`)

// Short shortens the digests in a text to what a person compares, and makes it Plain.
func Short(text string) string { return fullDigest.ReplaceAllString(Plain(text), ":$1") }

// Plain leaves out control characters, so that no text in a cluster steers a terminal. Lines and tabs stay.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
}

// ShowDuration rounds how long a job took to what a person compares; empty for nothing.
func ShowDuration(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return duration.HumanDuration(d)
}

// ShowAge says for how long something has been, as kubectl does.
func ShowAge(since, now time.Time) string {
	if since.IsZero() {
		return ""
	}
	return duration.HumanDuration(now.Sub(since))
}
