// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"fmt"
	"math"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// judge returns where the record breaks a rule. Roots are free to overtake each other in storms.
func (r *record) judge(storms [][2]int64) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &court{record: r, storms: storms, children: map[types.UID][]types.UID{}}
	for uid, states := range r.objects {
		if owner := metav1.GetControllerOf(states[0].object); owner != nil {
			c.children[owner.UID] = append(c.children[owner.UID], uid)
		}
	}
	for _, states := range r.objects {
		c.judge(states)
	}
	slices.Sort(c.wrong)
	return c.wrong
}

type court struct {
	*record
	storms   [][2]int64
	children map[types.UID][]types.UID
	wrong    []string
}

func (c *court) object(s state, format string, args ...any) {
	c.wrong = append(c.wrong, fmt.Sprintf("%s at %d: %s", nameOf(s.object), s.at, fmt.Sprintf(format, args...)))
}

func (c *court) judge(states []state) {
	if _, works := states[0].object.(worker); !works {
		return
	}
	c.endsOfJobs(states)
	c.noJobTwice(states)
	switch states[0].object.(type) {
	case *v1alpha1.Installation:
		c.childrenOncePerJob(states)
		c.producersFirst(states)
		c.consumersGoneFirst(states)
	case *v1alpha1.DeployItem:
		c.dependenciesFirst(states)
	}
}

const interruption = "operation was interrupted"

var (
	// breakages are in the messages of what goes wrong while something is broken.
	breakages = []string{landscape.QuotaMessage, landscape.WebhookMessage, landscape.PolicyMessage, "is forbidden", "connection refused"}
	// causes are in the messages of everything that may go wrong here; a deletion can only be interrupted, or fail while something is broken.
	causes = append([]string{"asks for the phase Failed", failure, interruption, "depending on installation"}, breakages...)
)

// endsOfJobs: a job ends in a final phase, and says why when it failed.
func (c *court) endsOfJobs(states []state) {
	for _, s := range states {
		job := s.object.(worker).Job()
		if job.JobID == "" || !job.IsIdle() {
			continue
		}
		switch {
		case !job.Phase.IsFinal():
			c.object(s, "the job ended in phase %q", job.Phase)
		case job.Phase == v1alpha1.PhaseDeleteFailed && !namesCause(job.LastError, append(breakages, interruption)...):
			c.object(s, "the deletion failed: %v", job.LastError)
		case job.Phase.IsFailed() && !namesCause(job.LastError, causes...):
			c.object(s, "the job failed without a cause: %v", job.LastError)
		}
	}
}

func namesCause(last *v1alpha1.Error, causes ...string) bool {
	return last != nil && slices.ContainsFunc(causes, func(cause string) bool { return strings.Contains(last.Message, cause) })
}

// noJobTwice: a job that is over never comes back.
func (c *court) noJobTwice(states []state) {
	jobs := jobsOf(states)
	seen := map[string]bool{}
	for _, job := range jobs {
		if seen[job] {
			c.object(states[len(states)-1], "job %s came back: %v", job, jobs)
		}
		seen[job] = true
	}
	ended := ""
	for _, s := range states {
		job := s.object.(worker).Job()
		if job.IsIdle() {
			ended = job.JobID
		} else if job.JobID == ended {
			c.object(s, "job %s began again", ended)
		}
	}
}

// childrenOncePerJob: whoever is a child when a job succeeds has ended that job, and had no other in between.
func (c *court) childrenOncePerJob(states []state) {
	parents := map[string]bool{}
	for _, job := range jobsOf(states) {
		parents[job] = true
	}
	for _, s := range states {
		job := s.object.(worker).Job()
		if s.object.GetDeletionTimestamp() != nil || job.JobID == "" || !job.IsIdle() || job.Phase != v1alpha1.PhaseSucceeded {
			continue
		}
		for _, child := range c.childrenAt(s) {
			if last := child.object.(worker).Job(); child.object.GetDeletionTimestamp() == nil && last.JobIDFinished != job.JobID {
				c.object(s, "%s has not ended the job: %v", nameOf(child.object), last.JobIDFinished)
			}
		}
	}
	for _, uid := range c.children[states[0].object.GetUID()] {
		for _, s := range c.objects[uid] {
			work, ok := s.object.(worker)
			if ok && work.GetDeletionTimestamp() == nil && work.Job().JobID != "" && !parents[work.Job().JobID] {
				c.object(s, "job %s is none of %s", work.Job().JobID, nameOf(states[0].object))
			}
		}
	}
}

// childrenAt returns the workers that an object owned at a moment, as they were.
func (c *court) childrenAt(s state) []state {
	var found []state
	for _, uid := range c.children[s.object.GetUID()] {
		if child, ok := at(c.objects[uid], s.at); ok {
			if _, works := child.object.(worker); works {
				found = append(found, child)
			}
		}
	}
	return found
}

// at returns the state of an object at a moment.
func at(states []state, moment int64) (state, bool) {
	var found state
	for _, s := range states {
		if s.at <= moment {
			found = s
		}
	}
	return found, found.object != nil && !found.gone
}

// producersFirst: an Installation hands a job to its children only after everybody that it imports from has succeeded.
func (c *court) producersFirst(states []state) {
	for _, job := range jobsOf(states) {
		moment := c.handedOver(states[0].object.GetUID(), job)
		now, ok := at(states, moment)
		if moment == math.MaxInt64 || !ok || now.object.GetDeletionTimestamp() != nil {
			continue
		}
		inst := now.object.(*v1alpha1.Installation)
		if inst.IsRoot() && c.inStorm(moment) {
			continue
		}
		for _, producer := range c.siblingsAt(inst, moment) {
			if !flows(producer, inst) {
				continue
			}
			status := &producer.Status
			if !status.IsIdle() || status.Phase != v1alpha1.PhaseSucceeded || !inst.IsRoot() && status.JobID != job {
				c.object(now, "job %s began while %s is %s with job %s", job, producer.Name, status.Phase, status.JobID)
			}
		}
	}
}

// handedOver is the moment at which the first child got a job, with a spec or by status; MaxInt64 if none did.
func (c *court) handedOver(owner types.UID, job string) int64 {
	moment := int64(math.MaxInt64)
	for _, uid := range c.children[owner] {
		for _, s := range c.objects[uid] {
			child, works := s.object.(worker)
			has := s.object.GetAnnotations()[v1alpha1.JobAnnotation] == job || works && child.Job().JobID == job
			if has && s.object.GetDeletionTimestamp() == nil {
				moment = min(moment, s.at)
			}
		}
	}
	return moment
}

func (c *court) inStorm(moment int64) bool {
	return slices.ContainsFunc(c.storms, func(s [2]int64) bool { return s[0] <= moment && moment <= s[1] })
}

// siblingsAt returns the other Installations of the same parent at a moment.
func (c *court) siblingsAt(inst *v1alpha1.Installation, moment int64) []*v1alpha1.Installation {
	var found []*v1alpha1.Installation
	for uid, states := range c.objects {
		if uid == inst.UID || ownerOf(states[0].object) != ownerOf(inst) {
			continue
		}
		if now, ok := at(states, moment); ok {
			if sibling, ok := now.object.(*v1alpha1.Installation); ok {
				found = append(found, sibling)
			}
		}
	}
	return found
}

func ownerOf(object client.Object) types.UID {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return owner.UID
	}
	return ""
}

// flows reports whether an Installation imports what another one exports.
func flows(from, to *v1alpha1.Installation) bool {
	return slices.ContainsFunc(to.Spec.Imports.Data, func(i v1alpha1.DataImport) bool {
		return slices.ContainsFunc(from.Spec.Exports.Data, func(e v1alpha1.DataExport) bool { return e.DataRef == i.DataRef })
	})
}

// consumersGoneFirst: an Installation uninstalls nothing while somebody imports from it, unless the blueprint dropped it.
func (c *court) consumersGoneFirst(states []state) {
	for _, uid := range c.children[states[0].object.GetUID()] {
		for _, s := range c.objects[uid] {
			if s.object.GetDeletionTimestamp() == nil {
				continue
			}
			if now, ok := at(states, s.at); ok && now.object.GetDeletionTimestamp() != nil {
				c.unused(now, s.at)
			}
			break
		}
	}
}

func (c *court) unused(now state, moment int64) {
	inst := now.object.(*v1alpha1.Installation)
	if inst.Annotations[v1alpha1.DeleteIgnoreSuccessorsAnnotation] == "true" {
		return
	}
	for _, consumer := range c.siblingsAt(inst, moment) {
		if flows(inst, consumer) {
			c.object(now, "its children are deleted at %d although %s imports from it", moment, consumer.Name)
		}
	}
}

// dependenciesFirst: an item gets a job only after everything it depends on has succeeded in it.
func (c *court) dependenciesFirst(states []state) {
	for _, job := range jobsOf(states) {
		first := slices.IndexFunc(states, func(s state) bool { return s.object.(worker).Job().JobID == job })
		s := states[first]
		if s.object.GetDeletionTimestamp() != nil || s.object.(worker).Job().Phase.IsFinal() && s.object.(worker).Job().IsIdle() {
			continue // interrupted items get a job only to end it
		}
		depends := strings.Split(s.object.GetAnnotations()[v1alpha1.DependsOnAnnotation], ",")
		for _, uid := range c.children[ownerOf(s.object)] {
			other, living := at(c.objects[uid], s.at)
			work, works := other.object.(worker)
			if !living || !works || !slices.Contains(depends, work.GetLabels()[v1alpha1.ExecutionManagedNameLabel]) {
				continue
			}
			if status := work.Job(); status.JobIDFinished != job || status.Phase != v1alpha1.PhaseSucceeded {
				c.object(s, "got job %s while %s is %s with %s", job, nameOf(other.object), status.Phase, status.JobIDFinished)
			}
		}
	}
}
