// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// startItems hands the running job to every item whose dependencies have finished, unless one has failed.
func (r *Reconciler) startItems(ctx context.Context, s *scope) error {
	job := s.execution.Status.JobID
	for i := range s.templates {
		if item := s.items[s.templates[i].Name]; ended(item, job) && item.Status.Phase != v1alpha1.PhaseSucceeded {
			return nil
		}
	}
	for i := range s.templates {
		template := &s.templates[i]
		item := s.items[template.Name]
		if item.Status.JobID == job || !s.ready(template) {
			continue
		}
		if err := r.handOver(ctx, s, item); err != nil {
			return err
		}
	}
	return nil
}

// ready tells whether everything that a template depends on has succeeded in the running job.
func (s *scope) ready(template *v1alpha1.DeployItemTemplate) bool {
	for _, name := range template.DependsOn {
		item := s.items[name]
		if !ended(item, s.execution.Status.JobID) || item.Status.Phase != v1alpha1.PhaseSucceeded {
			return false
		}
	}
	return true
}

// ended tells whether an item has ended the job.
func ended(item *v1alpha1.DeployItem, job string) bool {
	return item != nil && item.Status.JobID == job && item.Status.JobIDFinished == job
}

// handOver starts the running job on an item, as the DeployItem protocol says. It does nothing when the item already has the job,
// and waits for a job that the item still runs.
func (r *Reconciler) handOver(ctx context.Context, s *scope, item *v1alpha1.DeployItem) error {
	if item.Status.JobID == s.execution.Status.JobID || !item.Status.IsIdle() {
		return nil
	}
	now := metav1.NewTime(s.now)
	item.Status.JobID = s.execution.Status.JobID
	item.Status.JobIDGenerationTime = &now
	item.Status.TransitionTimes = &v1alpha1.TransitionTimes{TriggerTime: &now}
	if err := r.Status().Update(ctx, item); err != nil {
		return err
	}
	r.items.Wrote(item)
	return nil
}
