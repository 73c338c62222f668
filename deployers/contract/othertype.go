// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/notify"
)

// refuseOtherType fails the job of an item whose type somebody has changed: what earlier jobs have deployed is recorded in the status, in a form that only
// deployers of the former type know. Nothing of that record changes, so that one of them goes on with it once the type is set back.
func (r *starter) refuseOtherType(ctx context.Context, s *scope) error {
	former := kit.FormerType(s.item)
	if former == "" {
		return nil
	}
	r.jobs.Forget(s.key())
	failure := &kit.Failure{Kind: kit.Stalled, Operation: operationReconcile, Reason: "TypeChanged", Err: kit.TypeChanged(s.item, former)}
	now := time.Now()
	status := &s.item.Status
	status.ObservedGeneration, status.FirstError, status.LastErrors = s.item.Generation, nil, nil
	items.RecordFailure(s.item, failure, now)
	kit.Fail(s.item, failure, now)
	if err := r.writes.Status(ctx, s.item); err != nil {
		return err
	}
	r.options.Recorder.AnnotatedEventf(s.item, notify.Once(status.JobID), corev1.EventTypeWarning, failure.Reason, "%s", failure.Error())
	if !items.IsTestRequested(s.item) || !items.IsTestJob(status.JobID) || items.IsGuarded(s.item) {
		return kit.ErrStop
	}
	return stopAfter(r.writes.Metadata(ctx, s.item, kit.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: nil}}))
}
