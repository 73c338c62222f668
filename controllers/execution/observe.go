// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

const (
	succeededMessage = "all deploy items succeeded"
	workingMessage   = "deploy items are processed"
	deletingMessage  = "deploy items are being deleted"
)

// verdict is what became of a job.
type verdict int

const (
	unfinished verdict = iota
	allSucceeded
	someFailed
)

// judge returns what became of a job on the items of the templates, and the first item that failed. A failed one decides only when none
// is running any more.
func judge(templates []v1alpha1.DeployItemTemplate, items map[string]*v1alpha1.DeployItem, job string) (verdict, *v1alpha1.DeployItem) {
	var failed *v1alpha1.DeployItem
	done, running := 0, 0
	for i := range templates {
		item := items[templates[i].Name]
		switch {
		case succeeded(item, job):
			done++
		case ended(item, job) && failed == nil:
			failed = item
		case item != nil && item.Status.JobID == job && !item.Status.IsIdle():
			running++
		}
	}
	switch {
	case failed != nil && running == 0:
		return someFailed, failed
	case done == len(templates):
		return allSucceeded, nil
	}
	return unfinished, nil
}

// observeItems ends the job when all items have succeeded, or when one has failed and none is running. Otherwise the next
// event of an item comes back here.
func (r *Reconciler) observeItems(ctx context.Context, s *scope) error {
	result, failed := judge(s.templates, s.items, s.execution.Status.JobID)
	switch result {
	case someFailed:
		s.fail(itemFailure(failed))
	case allSucceeded:
		if err := (exporter{r.Client, r.Live}).collect(ctx, s); err != nil {
			return err
		}
		protocol.Succeed(s.execution, succeededMessage, s.now)
	default:
		s.showCause(s.inOrder(), workingMessage)
		return r.letGoUnpicked(ctx, s)
	}
	return nil
}

// inOrder returns the items of the templates in the order of the spec.
func (s *scope) inOrder() []*v1alpha1.DeployItem {
	var items []*v1alpha1.DeployItem
	for i := range s.templates {
		if item := s.items[s.templates[i].Name]; item != nil {
			items = append(items, item)
		}
	}
	return items
}

// showCause shows what the running job waits for.
func (s *scope) showCause(items []*v1alpha1.DeployItem, otherwise string) {
	protocol.ShowCause(s.execution, s.causeAt(items), otherwise)
}

// causeAt returns why the running job is not done: why an item is tried again, that no deployer begins one, or what one waits for. What an item shows
// before its deployer has picked the job up belongs to the job before, unless the controller says it.
func (s *scope) causeAt(items []*v1alpha1.DeployItem) protocol.Cause {
	running := slices.DeleteFunc(slices.Clone(items), func(item *v1alpha1.DeployItem) bool {
		return item.Status.JobID != s.execution.Status.JobID || item.Status.IsIdle()
	})
	for _, item := range running {
		if status := &item.Status; status.Phase != "" && !status.Phase.IsFinal() && status.LastError != nil {
			return protocol.Cause{Reason: meta.ProgressingWithRetryReason, Message: itemFailure(item).Error()}
		}
	}
	if late, _ := s.late(running, unattended); len(late) > 0 {
		return unpicked(late[0])
	}
	for _, item := range running {
		if cause := protocol.CauseOf(item); cause.Message != "" {
			return cause.Below(wayTo(item))
		}
	}
	return protocol.Cause{}
}

// wayTo names an item as its Execution shows it.
func wayTo(item *v1alpha1.DeployItem) string {
	return fmt.Sprintf("deploy item %s (%s)", templateOf(item), item.Name)
}

// itemFailure passes the cause of a failed item on, with its name.
func itemFailure(item *v1alpha1.DeployItem) *protocol.Failure {
	failure := &protocol.Failure{Kind: protocol.Stalled, Operation: operation, Reason: "DeployItemFailed"}
	last := item.Status.LastError
	if last == nil {
		failure.Err = fmt.Errorf("%s is %s", wayTo(item), item.Status.Phase)
		return failure
	}
	failure.Codes = last.Codes
	if last.Reason != "" {
		failure.Reason = last.Reason
	}
	failure.Err = fmt.Errorf("%s: %s", wayTo(item), last.Message)
	return failure
}

// showDrift shows which items are not as they were deployed, also while no job runs.
func showDrift(_ context.Context, s *scope) error {
	var drifted []string
	for _, item := range s.all {
		if conditions.IsTrue(item, v1alpha1.DriftedCondition) {
			drifted = append(drifted, "deploy item "+cmp.Or(item.Labels[v1alpha1.ExecutionManagedNameLabel], item.Name))
		}
	}
	protocol.ShowDrift(s.execution, drifted)
	return nil
}
