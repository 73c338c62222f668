// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package environment installs deployers into Environments: one Installation for each DeployerRegistration, with a ServiceAccount, rights, a token
// and the Targets that it needs. It judges whether the agent of an Environment gives signs of life. It promises nothing to others.
package environment

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

const operation = "ReconcileEnvironment"

// Reconciler keeps in the namespace of each Environment what the deployers of each Environment need.
type Reconciler struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder writes events. Those about an Environment are on the Installations of its deployers: it has no namespace itself.
	Recorder record.EventRecorder
	// Homes are the namespaces of the Installations, ServiceAccounts and Targets, and of the Leases of the agents.
	Homes pair.Homes
	// Share lets Environments without a namespace of their own share one.
	Share bool
	// Shard selects the Environments that this process brings on.
	Shard protocol.Shard
	// Backoff says when to try again after a failure.
	Backoff *queue.Backoff
	// Now is the clock.
	Now func() time.Time
	// TokenLife is for how long tokens are asked for; 0 is 30 days. A token is replaced after half of the life that it has got.
	TokenLife time.Duration

	agents   agents
	absences absences
	written  protocol.Consistency
	watches  *watches
}

// scope is one reconciliation of an Environment.
type scope struct {
	env       *v1alpha1.Environment
	persisted *v1alpha1.EnvironmentStatus
	now       time.Time
	// home is the namespace for all that is made, empty while there is none; homeless says why.
	home     string
	homeless error
	// namespaces are those in which the deployers may work; nil is all.
	namespaces []string
	// registrations are those that are not in deletion, by name; installations are all of this Environment.
	registrations []*v1alpha1.DeployerRegistration
	installations []*v1alpha1.Installation
	// states say how far each pair is, by registration.
	states map[string]pair.State
	// prevented says why a pair cannot be made, or never be installed, by registration.
	prevented map[string]string
	// problems are why single pairs could not be reconciled; the others are.
	problems []error
	// requeue is when something is due by the clock; zero is never.
	requeue time.Duration
}

// wakeIn notes when to look again.
func (s *scope) wakeIn(left time.Duration) {
	if s.requeue == 0 || left < s.requeue {
		s.requeue = max(left, time.Millisecond)
	}
}

// Reconcile brings one Environment on.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	env := &v1alpha1.Environment{}
	if err := r.Get(ctx, req.NamespacedName, env); err != nil {
		r.agents.forget(req.Name)
		r.absences.forget(req.Name)
		r.written.Forget(req.NamespacedName)
		r.Backoff.Forget(req.NamespacedName)
		if client.IgnoreNotFound(err) != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, r.deleteOrphans(ctx, req.Name)
	}
	if !r.Shard.Has(env) || env.Annotations[v1alpha1.IgnoreAnnotation] == "true" || r.written.Stale(env) {
		return ctrl.Result{}, nil
	}
	if err := r.watches.more(); err != nil {
		return ctrl.Result{}, err
	}
	s := &scope{env: env, persisted: env.Status.DeepCopy(), now: r.Now(), states: map[string]pair.State{}, prevented: map[string]string{}}
	err := protocol.Run(ctx, s, []protocol.Step[*scope]{
		r.readInstallations, r.takeStray, r.findHome, r.findNamespaces, r.judgeAgent, r.uninstall, checkSpec, r.protect, checkHome, r.keepHostTarget, r.readRegistrations,
		r.deleteRetired, r.keepPairs, r.findDeadlocks,
	})
	return r.settle(ctx, s, err)
}

// readInstallations reads the Installations of this Environment, retired ones included.
func (r *Reconciler) readInstallations(ctx context.Context, s *scope) (err error) {
	s.installations, err = r.Homes.OfEnvironment(ctx, r.Client, s.env.Name)
	return err
}

// protect puts the finalizer on.
func (r *Reconciler) protect(ctx context.Context, s *scope) error {
	return r.patch(ctx, s, protocol.MetadataChange{AddFinalizer: v1alpha1.DeployerManagementFinalizer})
}

func (r *Reconciler) patch(ctx context.Context, s *scope, change protocol.MetadataChange) error {
	return protocol.PatchMetadataOnly(ctx, r.Client, s.env, &s.env.Status, change, &r.written)
}

// checkSpec fails for a spec of which something could not be read, and for a namespace that can be none: the agent writes it, and blueprints of deployers
// write it into texts.
func checkSpec(_ context.Context, s *scope) error {
	if err := s.env.Undecoded.Err(); err != nil {
		return protocol.Stall(operation, "InvalidSpec", "%w", err)
	}
	if problems := validation.IsDNS1123Label(s.env.Spec.Namespace); len(problems) > 0 {
		return protocol.Stall(operation, "InvalidSpec", "spec.namespace: %.80q cannot be the name of a namespace: %s; correct it", s.env.Spec.Namespace, problems[0])
	}
	return nil
}

// readRegistrations reads which deployers belong here.
func (r *Reconciler) readRegistrations(ctx context.Context, s *scope) error {
	list := &v1alpha1.DeployerRegistrationList{}
	if err := r.List(ctx, list); err != nil {
		return err
	}
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp.IsZero() && list.Items[i].Annotations[v1alpha1.IgnoreAnnotation] != "true" {
			s.registrations = append(s.registrations, &list.Items[i])
		}
	}
	sortByName(s.registrations)
	return nil
}
