// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// trigger says what started the last job of an Installation, as far as its status tells.
func trigger(inst *v1alpha1.Installation) string {
	status := &inst.Status
	times, clock := status.TransitionTimes, status.AutomaticReconcileStatus
	switch {
	case status.JobID == "" || times == nil || times.TriggerTime == nil:
		return ""
	case !inst.IsRoot():
		return "the job of its parent"
	case status.OperationJobID == status.JobID:
		return "a person: the annotation " + v1alpha1.OperationAnnotation
	case clock != nil && !clock.LastReconcileTime.IsZero() && times.TriggerTime.Sub(clock.LastReconcileTime.Time).Abs() < 2*time.Second:
		return "the clock: spec.automaticReconcile"
	case len(status.History) == 0:
		return ""
	case status.History[0].TotalReconciliations > 1:
		return "a request, or the retry of a failed job: the content is the same as before"
	case len(status.History) > 1 && status.History[1].Metadata["revision"] != "" && status.History[0].Metadata["revision"] != status.History[1].Metadata["revision"]:
		return fmt.Sprintf("new content, of source revision %s after %s", Short(status.History[0].Metadata["revision"]), Short(status.History[1].Metadata["revision"]))
	case len(status.History) > 1:
		return "new content: the spec, the imports or the files of the source"
	}
	return "the first content that was seen"
}

// path follows who ended last in the last job, from an object down, and who that one had to wait for.
func (s *Snapshot) path(object job) []Leg {
	var legs []Leg
	seen := map[job]bool{}
	for current := object; current != nil && !seen[current]; {
		seen[current] = true
		if times := current.Job().TransitionTimes; times != nil && times.TriggerTime != nil && times.FinishedTime != nil && kindName(current) != "Execution" {
			legs = append(legs, Leg{nameOfLeg(current), *times.TriggerTime, metav1.Duration{Duration: times.FinishedTime.Sub(times.TriggerTime.Time)}})
		}
		next := lastEnded(s.Children(current), object.Job().JobID)
		if inst, ok := current.(*v1alpha1.Installation); ok && next == nil && current != object {
			next = s.lastProducer(inst, seen)
		}
		current = next
	}
	return legs
}

func nameOfLeg(object client.Object) ID {
	id := IDOf(object)
	id.Name = cmp.Or(object.GetLabels()[v1alpha1.ExecutionManagedNameLabel], id.Name)
	return id
}

// lastEnded returns the object of a job that ended last, nil where none has.
func lastEnded(objects []client.Object, id string) job {
	var last job
	for _, object := range objects {
		object, ok := object.(job)
		if !ok || object.Job().JobID != id || object.Job().TransitionTimes == nil || object.Job().TransitionTimes.FinishedTime == nil {
			continue
		}
		if last == nil || last.Job().TransitionTimes.FinishedTime.Before(object.Job().TransitionTimes.FinishedTime) {
			last = object
		}
	}
	return last
}

// lastProducer returns the sibling of the same job that a sub-installation waited for longest.
func (s *Snapshot) lastProducer(inst *v1alpha1.Installation, seen map[job]bool) job {
	var siblings []client.Object
	for _, imported := range s.Imports(inst) {
		if imported.From != nil && !seen[imported.From] && s.Parent(imported.From) == s.Parent(inst) {
			siblings = append(siblings, imported.From)
		}
	}
	return lastEnded(siblings, inst.Status.JobID)
}
