// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// waitingClient watches one object as every client of the API does that has asked for a job: it waits for "no operation, generation observed,
// jobID equals jobIDFinished, phase final". What it finds then has to be the answer to its request, at whatever moment it looks.
type waitingClient struct {
	// Requests that are not answered yet.
	operation, token, generation, job *request
	// handed is the job that the annotation for it named last.
	handed string
}

// request is the last job that had ended when somebody asked for another one.
type request struct {
	value    string
	finished string
}

// worker is an object that runs jobs.
type worker interface {
	client.Object
	Job() *v1alpha1.JobStatus
}

// see takes the next state of the object and returns what is wrong with it, or nothing.
func (c *waitingClient) see(object worker, follows bool) string {
	job := object.Job()
	if object.GetDeletionTimestamp() != nil {
		return ""
	}
	c.note(object, follows)
	c.noteJob(object)
	if object.GetAnnotations()[v1alpha1.OperationAnnotation] != "" || !job.IsIdle() || !job.Phase.IsFinal() || job.JobID == "" {
		return ""
	}
	return c.answer(object)
}

// note takes the requests down that a state shows.
func (c *waitingClient) note(object worker, follows bool) {
	job := object.Job()
	switch operation := object.GetAnnotations()[v1alpha1.OperationAnnotation]; {
	case operation == "", operation == v1alpha1.OperationReconcile && isNested(object):
	case operation != promised(object):
		c.operation = nil // it has replaced the request
	case c.operation == nil:
		c.operation = &request{finished: job.JobIDFinished}
	}
	switch {
	case isSuspended(object):
		c.generation = nil // nothing is promised
	case follows && object.GetGeneration() != observed(object) && c.generation == nil:
		c.generation = &request{finished: job.JobIDFinished}
	}
	token := object.GetAnnotations()[meta.ReconcileRequestAnnotation]
	if inst, ok := object.(*v1alpha1.Installation); ok {
		if token != inst.Status.LastHandledReconcileAt && (c.token == nil || c.token.value != token) {
			c.token = &request{value: token, finished: job.JobIDFinished}
		}
	}
}

// noteJob takes the job down that the annotation asks for and the status does not show. A parent gives a sub-installation one only with a new
// spec; anything else is a forgery.
func (c *waitingClient) noteJob(object worker) {
	handed := object.GetAnnotations()[v1alpha1.JobAnnotation]
	_, isInstallation := object.(*v1alpha1.Installation)
	forged := isInstallation && object.GetGeneration() == observed(object)
	if handed != c.handed && handed != object.Job().JobID && !forged {
		c.job = &request{value: handed, finished: object.Job().JobIDFinished}
	}
	c.handed = handed
}

// promised is the operation that promises a job: of a root that to reconcile, of a DeployItem the one for tests; of others none does.
func promised(object worker) string {
	switch object.(type) {
	case *v1alpha1.Installation:
		return v1alpha1.OperationReconcile
	case *v1alpha1.DeployItem:
		return v1alpha1.OperationTestReconcile
	}
	return ""
}

// observed is the generation that the last job was for.
func observed(object worker) int64 {
	switch object := object.(type) {
	case *v1alpha1.Installation:
		return object.Status.ObservedGeneration
	case *v1alpha1.Execution:
		return object.Status.ObservedGeneration
	case *v1alpha1.DeployItem:
		return object.Status.ObservedGeneration
	}
	return 0
}

func isSuspended(object worker) bool {
	inst, ok := object.(*v1alpha1.Installation)
	return ok && inst.Spec.Suspend
}

func isNested(object worker) bool {
	inst, ok := object.(*v1alpha1.Installation)
	return ok && !inst.IsRoot()
}

// answer checks a state that a waiting client takes for the answer.
func (c *waitingClient) answer(object worker) string {
	finished := object.Job().JobIDFinished
	if c.operation != nil {
		if finished == c.operation.finished {
			return fmt.Sprintf("the operation %s is gone, and job %s that ended before it was set looks like the answer", promised(object), finished)
		}
		c.operation = nil
	}
	if c.job != nil && object.GetGeneration() == observed(object) {
		if finished == c.job.finished {
			return fmt.Sprintf("job %s is asked for, and job %s that ended before looks like it", c.job.value, finished)
		}
		c.job = nil
	}
	if c.generation != nil && object.GetGeneration() == observed(object) {
		if finished == c.generation.finished {
			return fmt.Sprintf("generation %d counts as observed, and job %s that ended before it looks like the answer", object.GetGeneration(), finished)
		}
		c.generation = nil
	}
	inst, ok := object.(*v1alpha1.Installation)
	if !ok {
		return ""
	}
	if c.token != nil && inst.Status.LastHandledReconcileAt == c.token.value {
		if finished == c.token.finished {
			return fmt.Sprintf("request %q counts as handled, and job %s that ended before it looks like the answer", c.token.value, finished)
		}
		c.token = nil
	}
	return ""
}
