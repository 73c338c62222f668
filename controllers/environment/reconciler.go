// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package environment installs the deployers of DeployerRegistrations into Environments: one Installation for each pair, with a ServiceAccount, rights, a
// token and the Targets that it needs. It judges whether the agent of an Environment gives signs of life.
package environment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
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
	// Recorder writes events. They are on the Installations of the deployers: Environments and DeployerRegistrations have no namespace themselves.
	Recorder record.EventRecorder
	// Homes are the namespaces of the Installations, ServiceAccounts and Targets, and of the Leases of the agents.
	Homes pair.Homes
	// Share lets Environments without a namespace of their own share one.
	Share bool
	// Shard selects the Environments and DeployerRegistrations that this process brings on.
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

const reasonDeployers = "DeployersNotReady"

// settle is the only place that turns the end of a reconciliation into status, events and requeue.
func (r *Reconciler) settle(ctx context.Context, s *scope, err error) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(s.env)
	if gone := err == nil || apierrors.IsNotFound(err); gone && !s.env.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if protocol.IsTransient(err) {
		return ctrl.Result{RequeueAfter: r.Backoff.After(key, err)}, nil
	}
	if err != nil {
		s.problems = append(s.problems, err)
	}
	failure := s.failure()
	s.observe(failure)
	if err := r.record(ctx, s); err != nil {
		return r.Backoff.Later(ctx, key, err), nil
	}
	if failure == nil || failure.Kind != protocol.Retry {
		r.Backoff.Forget(key)
		return ctrl.Result{RequeueAfter: s.requeue}, nil
	}
	s.wakeIn(r.Backoff.After(key, failure))
	return ctrl.Result{RequeueAfter: s.requeue}, nil
}

// failure is the gravest problem: one that is tried again before one that stalls, so that the retry is not lost, and those before one that waits.
func (s *scope) failure() *protocol.Failure {
	if len(s.problems) == 0 {
		return nil
	}
	var gravest *protocol.Failure
	for _, kind := range []protocol.FailureKind{protocol.Retry, protocol.Stalled, protocol.Waiting} {
		for _, problem := range s.problems {
			if failure := protocol.AsOwnFailure(operation, problem); gravest == nil && failure.Kind == kind {
				gravest = failure
			}
		}
	}
	if more := len(s.problems) - 1; more > 0 {
		gravest = &protocol.Failure{
			Kind: gravest.Kind, Operation: gravest.Operation, Reason: gravest.Reason, Codes: gravest.Codes,
			Err: fmt.Errorf("%w (and %d more problems)", gravest.Err, more),
		}
	}
	return gravest
}

// observe puts the end of the reconciliation into the status.
func (s *scope) observe(failure *protocol.Failure) {
	env := s.env
	env.Status.ObservedGeneration = env.Generation
	if requested, ok := meta.ReconcileAnnotationValue(env.Annotations); ok {
		env.Status.LastHandledReconcileAt = requested
	}
	env.Status.Deployers = s.deployers()
	if failure == nil {
		failure = s.unready()
	}
	working := ""
	if failure != nil && failure.Kind == protocol.Retry {
		working = meta.ProgressingWithRetryReason
	}
	pair.Show(env, failure, working, fmt.Sprintf("installed deployers: %d", len(s.states)))
}

// unready says which deployer is not installed yet, or not uninstalled: one for which a person has to act before others. Without agent the others are no
// surprise, and there is nothing to do but to bring the agent back.
func (s *scope) unready() *protocol.Failure {
	var first *protocol.Failure
	for _, registration := range s.registrations {
		state := s.states[registration.Name]
		if state.Stalled {
			key := pair.Key{Registration: registration.Name, Environment: s.env.Name}
			return &protocol.Failure{Kind: protocol.Stalled, Operation: operation, Reason: reasonDeployers, Err: fmt.Errorf(
				"deployer %s is not installed; Installation %s/%s says: %s", registration.Name, s.home, key.Name(), state.Message)}
		}
		if !state.Ready && first == nil {
			first = s.waiting("deployer %s is not installed: %s", registration.Name, state.Message)
		}
	}
	for _, installation := range s.installations {
		name := pair.Of(installation).Registration
		if _, isWanted := s.states[name]; !isWanted && first == nil {
			first = s.waiting("deployer %s is still being uninstalled: %s", name, pair.StateOf(installation).Message)
		}
	}
	return first
}

// waiting says what is not done yet of a deployer.
func (s *scope) waiting(format, deployer, message string) *protocol.Failure {
	message = fmt.Sprintf(format, deployer, message)
	if !isConnected(s.env) {
		return &protocol.Failure{Kind: protocol.Waiting, Operation: operation, Reason: reasonUnreachable, Err: fmt.Errorf(
			"%s; %s", message, conditions.GetMessage(s.env, v1alpha1.AgentConnectedCondition))}
	}
	return &protocol.Failure{Kind: protocol.Waiting, Operation: operation, Reason: reasonDeployers, Err: errors.New(message)}
}

// deployers lists the deployers for the status: those that registrations want, and those that are still being uninstalled.
func (s *scope) deployers() []v1alpha1.EnvironmentDeployer {
	shown := map[string]v1alpha1.EnvironmentDeployer{}
	for _, installation := range s.installations {
		deployer := v1alpha1.EnvironmentDeployer{Name: pair.Of(installation).Registration, Ready: pair.StateOf(installation).Ready}
		if component := installation.Spec.ComponentDescriptor; component != nil && component.Reference != nil {
			deployer.Version = component.Reference.Version
		}
		shown[deployer.Name] = deployer
	}
	for name, message := range s.prevented {
		deployer := shown[name]
		deployer.Name, deployer.Message = name, message
		shown[name] = deployer
	}
	names := slices.Sorted(maps.Keys(shown))
	var all []v1alpha1.EnvironmentDeployer
	for _, name := range names[:min(len(names), pair.MaxShown)] {
		all = append(all, shown[name])
	}
	return all
}

// record writes the status, and tells the Installations of the deployers when the agent goes or comes back.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	before := connection(s.persisted.Conditions)
	if _, err := protocol.WriteStatus(ctx, r.Client, s.env, &s.env.Status, s.persisted, &r.written); err != nil {
		return client.IgnoreNotFound(err)
	}
	now := connection(s.env.Status.Conditions)
	if now == before || before == "" {
		return nil
	}
	kind := corev1.EventTypeNormal
	if now != metav1.ConditionTrue {
		kind = corev1.EventTypeWarning
	}
	for _, installation := range s.installations {
		metadata := notify.Once(notify.Since(conditions.Get(s.env, v1alpha1.AgentConnectedCondition)))
		r.Recorder.AnnotatedEventf(installation, metadata, kind, conditions.GetReason(s.env, v1alpha1.AgentConnectedCondition), "Environment %s: %s",
			s.env.Name, conditions.GetMessage(s.env, v1alpha1.AgentConnectedCondition))
	}
	return nil
}

func connection(all []metav1.Condition) metav1.ConditionStatus {
	for _, condition := range all {
		if condition.Type == v1alpha1.AgentConnectedCondition {
			return condition.Status
		}
	}
	return ""
}
