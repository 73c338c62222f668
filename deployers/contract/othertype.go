// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// refuseOtherType fails the job of an item whose type somebody has changed: what earlier jobs have deployed is recorded in the status, in a form that only
// deployers of the former type know. Nothing of that record changes, so that one of them goes on with it once the type is set back.
func (r *starter) refuseOtherType(ctx context.Context, s *scope) error {
	former := items.FormerType(s.item)
	if former == "" {
		return nil
	}
	r.jobs.Forget(s.key())
	failure, now := otherType(s.item, former), time.Now()
	status := &s.item.Status
	status.ObservedGeneration, status.FirstError, status.LastErrors = s.item.Generation, nil, nil
	items.RecordFailure(s.item, failure, now)
	kit.Fail(s.item, failure, now)
	if err := r.writes.Status(ctx, s.item); err != nil {
		return err
	}
	r.options.Recorder.Event(s.item, corev1.EventTypeWarning, failure.Reason, failure.Error())
	if !items.IsTestRequested(s.item) || !items.IsTestJob(status.JobID) || items.IsGuarded(s.item) {
		return kit.ErrStop
	}
	return stopAfter(r.writes.Metadata(ctx, s.item, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}}))
}

// otherType says what to do about a type that was changed. An Execution sets the type of its items back with its next job.
func otherType(item *v1alpha1.DeployItem, former string) *kit.Failure {
	cure := "set spec.type back, annotate " + v1alpha1.OperationAnnotation + "=" + v1alpha1.OperationTestReconcile + " to try again"
	if kit.ControllerOf(item, "Execution") != nil {
		cure = "annotate its root Installation " + v1alpha1.OperationAnnotation + "=" + v1alpha1.OperationReconcile + ", which sets spec.type back"
	}
	then := ". For another type delete the DeployItem then and make another one"
	if items.IsDeleting(item) {
		then = ", or annotate the DeployItem " + v1alpha1.DeleteWithoutUninstallAnnotation + "=true to leave it there"
	}
	return &kit.Failure{Kind: kit.Stalled, Operation: operationReconcile, Reason: "TypeChanged", Err: fmt.Errorf(
		"spec.type was %s before, and only a deployer of that type can uninstall what it has deployed: %s%s", former, cure, then)}
}
