// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package registration shows on a DeployerRegistration how its deployer is installed in each Environment, and uninstalls it when the registration
// is deleted. The Installations themselves are made by the loop of the Environments. It promises nothing to others.
package registration

import (
	"context"
	"time"

	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const operation = "ReconcileDeployerRegistration"

// Reconciler watches over the Installations of each DeployerRegistration.
type Reconciler struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder writes events. They are on the Installations: a registration has no namespace itself.
	Recorder record.EventRecorder
	// Homes are the namespaces of the Installations.
	Homes pair.Homes
	// Shard selects the registrations that this process brings on.
	Shard kit.Shard
	// Backoff says when to try again after a failure.
	Backoff *kit.Backoff
	// Now is the clock.
	Now func() time.Time

	written kit.Consistency
}

// scope is one reconciliation of a registration.
type scope struct {
	registration *v1alpha1.DeployerRegistration
	persisted    *v1alpha1.DeployerRegistrationStatus
	now          time.Time
	// installations are all of this registration; environments are those that are not in deletion, by name. They are the cache's own: nothing changes them.
	installations []*v1alpha1.Installation
	environments  []*v1alpha1.Environment
}

// Reconcile brings one registration on.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	registration := &v1alpha1.DeployerRegistration{}
	if err := r.Get(ctx, req.NamespacedName, registration); err != nil {
		r.written.Forget(req.NamespacedName)
		r.Backoff.Forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Has(registration) || registration.Annotations[v1alpha1.IgnoreAnnotation] == "true" || r.written.Stale(registration) {
		return ctrl.Result{}, nil
	}
	s := &scope{registration: registration, persisted: registration.Status.DeepCopy(), now: r.Now()}
	err := kit.Run(ctx, s, []kit.Step[*scope]{r.readInstallations, r.uninstall, r.checkSpec, r.protect, r.readEnvironments})
	return r.settle(ctx, s, err)
}

func (r *Reconciler) readInstallations(ctx context.Context, s *scope) (err error) {
	s.installations, err = r.Homes.OfRegistration(ctx, r.Client, s.registration.Name)
	return err
}

// uninstall takes a registration in deletion apart: its Installations, all at once, and then the finalizer.
func (r *Reconciler) uninstall(ctx context.Context, s *scope) error {
	if s.registration.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := pair.Delete(ctx, r.Live, r.Client, operation, s.installations); err != nil {
		return err
	}
	left, err := r.Homes.OfRegistration(ctx, r.Live, s.registration.Name)
	if err != nil {
		return err
	}
	if err := pair.Delete(ctx, r.Live, r.Client, operation, left); err != nil {
		return err
	}
	if err := r.patch(ctx, s, kit.MetadataChange{RemoveFinalizer: v1alpha1.DeployerManagementFinalizer}); err != nil {
		return err
	}
	return kit.ErrStop
}

// checkSpec fails for a spec of which something could not be read.
func (r *Reconciler) checkSpec(_ context.Context, s *scope) error {
	if err := s.registration.Undecoded.Err(); err != nil {
		return kit.Stall(operation, "InvalidSpec", "%w", err)
	}
	return nil
}

// protect puts the finalizer on.
func (r *Reconciler) protect(ctx context.Context, s *scope) error {
	return r.patch(ctx, s, kit.MetadataChange{AddFinalizer: v1alpha1.DeployerManagementFinalizer})
}

func (r *Reconciler) patch(ctx context.Context, s *scope, change kit.MetadataChange) error {
	return kit.PatchMetadataOnly(ctx, r.Client, s.registration, &s.registration.Status, change, &r.written)
}

func (r *Reconciler) readEnvironments(ctx context.Context, s *scope) error {
	list := &v1alpha1.EnvironmentList{}
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() {
			s.environments = append(s.environments, &list.Items[i])
		}
	}
	return nil
}
