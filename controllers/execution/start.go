// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// startItems hands the running job to every item whose dependencies have succeeded, unless one has failed.
func (r *Reconciler) startItems(ctx context.Context, s *scope) error {
	for _, item := range runnable(s.templates, s.items, s.execution.Status.JobID) {
		if err := r.startOn(ctx, s, item); err != nil {
			return err
		}
	}
	return nil
}

// runnable returns the items to start now under a job: none once one has failed, else those that have not got the job, run no other that does
// not give way, and depend on nothing that has not succeeded in it.
func runnable(templates []v1alpha1.DeployItemTemplate, items map[string]*v1alpha1.DeployItem, job string) []*v1alpha1.DeployItem {
	var next []*v1alpha1.DeployItem
	for i := range templates {
		item := items[templates[i].Name]
		if ended(item, job) && !succeeded(item, job) {
			return nil
		}
		if item.Status.JobID == job || !item.Status.IsIdle() && !runsByClock(item) {
			continue
		}
		if !slices.ContainsFunc(templates[i].DependsOn, func(name string) bool { return !succeeded(items[name], job) }) {
			next = append(next, item)
		}
	}
	return next
}

// ended reports whether an item has ended the job.
func ended(item *v1alpha1.DeployItem, job string) bool {
	return item != nil && item.Status.JobID == job && item.Status.JobIDFinished == job
}

func succeeded(item *v1alpha1.DeployItem, job string) bool {
	return ended(item, job) && item.Status.Phase == v1alpha1.PhaseSucceeded
}
