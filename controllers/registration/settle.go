// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"

	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fluxcd/pkg/apis/meta"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/notify"
)

// settle is the only place that turns the end of a reconciliation into status, events and requeue.
func (r *Reconciler) settle(ctx context.Context, s *scope, err error) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(s.registration)
	if gone := err == nil || apierrors.IsNotFound(err); gone && !s.registration.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if kit.IsTransient(err) {
		return r.Backoff.Later(ctx, key, err), nil
	}
	found := judge(s.registration, s.environments, s.installations)
	if err != nil {
		found.failure = kit.AsOwnFailure(operation, err)
	}
	s.observe(found)
	if err := r.record(ctx, s); err != nil {
		return r.Backoff.Later(ctx, key, err), nil
	}
	if found.failure != nil && found.failure.Kind == kit.Retry {
		return ctrl.Result{RequeueAfter: r.Backoff.After(key, found.failure)}, nil
	}
	r.Backoff.Forget(key)
	return ctrl.Result{}, nil
}

// record writes the status, and tells the Installations when a person has to act.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	before := stalledFor(s.persisted)
	if _, err := kit.WriteStatus(ctx, r.Client, s.registration, &s.registration.Status, s.persisted, &r.written); err != nil {
		return client.IgnoreNotFound(err)
	}
	if reason := stalledFor(&s.registration.Status); reason != "" && reason != before {
		for _, installation := range s.installations {
			metadata := notify.Once(notify.Since(conditions.Get(s.registration, meta.ReadyCondition)))
			r.Recorder.AnnotatedEventf(installation, metadata, corev1.EventTypeWarning, reason, "DeployerRegistration %s: %s",
				s.registration.Name, conditions.GetMessage(s.registration, meta.ReadyCondition))
		}
	}
	return nil
}

func stalledFor(status *v1alpha1.DeployerRegistrationStatus) string {
	for _, condition := range status.Conditions {
		if condition.Type == meta.StalledCondition {
			return condition.Reason
		}
	}
	return ""
}
