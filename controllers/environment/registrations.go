// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

const registrationOperation = "ReconcileDeployerRegistration"

// registrations shows on each DeployerRegistration how its deployer is installed in each Environment, and uninstalls it when the registration is deleted. The
// Installations themselves are made by the loop of the Environments.
type registrations struct {
	*Reconciler
	written protocol.Consistency
}

// registrationKey is the key of a registration in the Backoff, which has Environments by their names.
func registrationKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "DeployerRegistration", Name: name}
}

// registrationScope is one reconciliation of a registration.
type registrationScope struct {
	registration *v1alpha1.DeployerRegistration
	persisted    *v1alpha1.DeployerRegistrationStatus
	now          time.Time
	// installations are all of this registration; environments are those that are not in deletion, by name. They are the cache's own: nothing changes them.
	installations []*v1alpha1.Installation
	environments  []*v1alpha1.Environment
}

// Reconcile brings one registration on.
func (r *registrations) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	registration := &v1alpha1.DeployerRegistration{}
	if err := r.Get(ctx, req.NamespacedName, registration); err != nil {
		r.written.Forget(req.NamespacedName)
		r.Backoff.Forget(registrationKey(req.Name))
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Has(registration) || registration.Annotations[v1alpha1.IgnoreAnnotation] == "true" || r.written.Stale(registration) {
		return ctrl.Result{}, nil
	}
	s := &registrationScope{registration: registration, persisted: registration.Status.DeepCopy(), now: r.Now()}
	err := protocol.Run(ctx, s, []protocol.Step[*registrationScope]{r.readInstallations, r.uninstall, r.checkSpec, r.protect, r.readEnvironments})
	return r.settle(ctx, s, err)
}

func (r *registrations) readInstallations(ctx context.Context, s *registrationScope) (err error) {
	s.installations, err = r.Homes.OfRegistration(ctx, r.Client, s.registration.Name)
	return err
}

// uninstall takes a registration in deletion apart: its Installations, all at once, and then the finalizer.
func (r *registrations) uninstall(ctx context.Context, s *registrationScope) error {
	if s.registration.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := pair.Delete(ctx, r.Live, r.Client, registrationOperation, s.installations); err != nil {
		return err
	}
	left, err := r.Homes.OfRegistration(ctx, r.Live, s.registration.Name)
	if err != nil {
		return err
	}
	if err := pair.Delete(ctx, r.Live, r.Client, registrationOperation, left); err != nil {
		return err
	}
	if err := r.patch(ctx, s, protocol.MetadataChange{RemoveFinalizer: v1alpha1.DeployerManagementFinalizer}); err != nil {
		return err
	}
	return protocol.ErrStop
}

// checkSpec fails for a spec of which something could not be read.
func (r *registrations) checkSpec(_ context.Context, s *registrationScope) error {
	if err := s.registration.Undecoded.Err(); err != nil {
		return protocol.Stall(registrationOperation, "InvalidSpec", "%w", err)
	}
	return nil
}

// protect puts the finalizer on.
func (r *registrations) protect(ctx context.Context, s *registrationScope) error {
	return r.patch(ctx, s, protocol.MetadataChange{AddFinalizer: v1alpha1.DeployerManagementFinalizer})
}

func (r *registrations) patch(ctx context.Context, s *registrationScope, change protocol.MetadataChange) error {
	return protocol.PatchMetadataOnly(ctx, r.Client, s.registration, &s.registration.Status, change, &r.written)
}

func (r *registrations) readEnvironments(ctx context.Context, s *registrationScope) error {
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

// settle is the only place that turns the end of a reconciliation into status, events and requeue.
func (r *registrations) settle(ctx context.Context, s *registrationScope, err error) (ctrl.Result, error) {
	key := registrationKey(s.registration.Name)
	if gone := err == nil || apierrors.IsNotFound(err); gone && !s.registration.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if protocol.IsTransient(err) {
		return r.Backoff.Later(ctx, key, err), nil
	}
	found := judgeRegistration(s.registration, s.environments, s.installations)
	if err != nil {
		found.failure = protocol.AsOwnFailure(registrationOperation, err)
	}
	s.observe(found)
	if err := r.record(ctx, s); err != nil {
		return r.Backoff.Later(ctx, key, err), nil
	}
	if found.failure != nil && found.failure.Kind == protocol.Retry {
		return ctrl.Result{RequeueAfter: r.Backoff.After(key, found.failure)}, nil
	}
	r.Backoff.Forget(key)
	return ctrl.Result{}, nil
}

// record writes the status, and tells the Installations when a person has to act.
func (r *registrations) record(ctx context.Context, s *registrationScope) error {
	before := stalledFor(s.persisted)
	if _, err := protocol.WriteStatus(ctx, r.Client, s.registration, &s.registration.Status, s.persisted, &r.written); err != nil {
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

// setUp registers the controller.
func (r *registrations) setUp(mgr ctrl.Manager, options controller.Options) error {
	made := predicate.NewPredicateFuncs(r.Homes.Holds)
	return ctrl.NewControllerManagedBy(mgr).
		Named("deployerregistration").
		For(&v1alpha1.DeployerRegistration{}).
		Watches(&v1alpha1.Environment{}, handler.EnqueueRequestsFromMapFunc(r.all), builder.WithPredicates(environmentChanged)).
		Watches(&v1alpha1.Installation{}, handler.EnqueueRequestsFromMapFunc(ofRegistration), builder.WithPredicates(made)).
		WithOptions(options).
		Complete(r)
}

// environmentChanged passes what of an Environment a registration shows.
var environmentChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, isEnv := e.ObjectOld.(*v1alpha1.Environment)
	now, _ := e.ObjectNew.(*v1alpha1.Environment)
	return !isEnv || before.DeletionTimestamp.IsZero() != now.DeletionTimestamp.IsZero() ||
		!equality.Semantic.DeepEqual(before.Status.Conditions, now.Status.Conditions) ||
		!equality.Semantic.DeepEqual(before.Status.Deployers, now.Status.Deployers)
}}

// all returns every registration.
func (r *registrations) all(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &v1alpha1.DeployerRegistrationList{}
	if err := r.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot list the DeployerRegistrations")
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return named(names...)
}

func ofRegistration(_ context.Context, installation client.Object) []reconcile.Request {
	return named(pair.Of(installation).Registration)
}

// maxListed is how many Environments the status of a registration lists. It is written whenever a pair changes: with all pairs of a fleet in it, what
// is written would grow with the square of the fleet.
const maxListed = 10

// judgement is how the deployer of a registration is installed in the Environments.
type judgement struct {
	// listed are those of the status.
	listed []v1alpha1.RegistrationEnvironment
	// failure is the gravest that is missing; nil when nothing is.
	failure      *protocol.Failure
	total, ready int
}

// judgeRegistration says how the deployer is installed in each Environment. What an Environment says about a deadlock counts more than what the Installation
// says, which only waits. Listed are first those where it is not ready.
func judgeRegistration(registration *v1alpha1.DeployerRegistration, environments []*v1alpha1.Environment, installations []*v1alpha1.Installation) judgement {
	found := judgement{total: len(environments)}
	var ready []v1alpha1.RegistrationEnvironment
	made := map[pair.Key]*v1alpha1.Installation{}
	for _, installation := range installations {
		made[pair.Of(installation)] = installation
	}
	sorted := slices.Clone(environments)
	slices.SortFunc(sorted, func(a, b *v1alpha1.Environment) int { return cmp.Compare(a.Name, b.Name) })
	for _, env := range sorted {
		key := pair.Key{Registration: registration.Name, Environment: env.Name}
		shown := v1alpha1.RegistrationEnvironment{Name: env.Name}
		failure := judgePair(key, env, made[key], &shown)
		if shown.Ready {
			found.ready++
			ready = append(ready, shown)
		} else {
			found.listed = append(found.listed, shown)
		}
		if failure != nil && (found.failure == nil || found.failure.Kind != protocol.Stalled && failure.Kind == protocol.Stalled) {
			found.failure = failure
		}
	}
	found.listed = append(found.listed, ready...)
	found.listed = found.listed[:min(len(found.listed), maxListed)]
	return found
}

// judgePair judges one pair by its Installation, which may be nil.
func judgePair(key pair.Key, env *v1alpha1.Environment, installation *v1alpha1.Installation, shown *v1alpha1.RegistrationEnvironment) *protocol.Failure {
	if err := key.Check(registrationOperation); err != nil {
		shown.Message = err.Error()
		return protocol.AsFailure(registrationOperation, err)
	}
	if installation != nil {
		shown.Installation = installation.Name
	}
	state := pair.StateOf(installation)
	shown.Ready = state.Ready
	if state.Ready {
		return nil
	}
	failure := &protocol.Failure{Kind: protocol.Waiting, Operation: registrationOperation, Reason: "DeployerNotReady"}
	if state.Stalled {
		failure.Kind = protocol.Stalled
	}
	message := state.Message
	for _, deployer := range env.Status.Deployers {
		if deployer.Name == key.Registration && deployer.Message != "" {
			failure.Kind, failure.Reason, failure.Codes = protocol.Stalled, "DeployerPrevented", []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}
			message = deployer.Message
		}
	}
	if failure.Kind != protocol.Stalled && !conditions.IsTrue(env, v1alpha1.AgentConnectedCondition) {
		failure.Kind, failure.Reason = protocol.Waiting, protocol.ReasonAgentUnreachable
		message += "; " + cmp.Or(conditions.GetMessage(env, v1alpha1.AgentConnectedCondition), "its agent is awaited")
	}
	shown.Message = protocol.Message(message)
	failure.Err = fmt.Errorf("environment %s: %s", env.Name, shown.Message)
	return failure
}

// observe puts the judgement into the status.
func (s *registrationScope) observe(found judgement) {
	d := s.registration
	d.Status.ObservedGeneration = d.Generation
	if requested, ok := meta.ReconcileAnnotationValue(d.Annotations); ok {
		d.Status.LastHandledReconcileAt = requested
	}
	d.Status.Environments = found.listed
	d.Status.TotalEnvironments, d.Status.ReadyEnvironments = int32(found.total), int32(found.ready) // #nosec G115 -- nobody has so many clusters
	if found.failure != nil && found.failure.Kind == protocol.Stalled {
		d.Status.LastError = protocol.NewError(d.Status.LastError, found.failure, s.now)
	} else {
		d.Status.LastError = nil
	}
	pair.Show(d, found.failure, "", fmt.Sprintf("installed in Environments: %d", found.total))
}
