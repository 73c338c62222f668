// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/enrolment"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

const (
	// leaseDuration is for how long a Lease holds that says nothing usable about it, and the grace for agents after the start of the process.
	leaseDuration = 45 * time.Second
	// minLease and maxLease bound what a Lease says.
	minLease, maxLease = 5 * time.Second, 10 * time.Minute
)

// Reasons of the condition AgentConnected.
const (
	reasonConnected   = "LeaseRenewed"
	reasonUnreachable = protocol.ReasonAgentUnreachable
	reasonNoAgent     = "NoAgent"
	reasonUnknown     = "NotObservedYet"
)

// maxVersion is how much of the version in a Lease is shown.
const maxVersion = 64

// sighting is what this process has seen of the Lease of an agent.
type sighting struct {
	// version is the resourceVersion, empty while there is no Lease.
	version string
	// at is when it was first seen so, by the own clock.
	at time.Time
	// renewed says that the Lease has changed under the eyes of this process, or was created less than its duration ago. What else was there
	// before says nothing about now.
	renewed bool
}

// agents holds the sightings by Environment. It is safe for concurrent use.
type agents struct {
	mu   sync.Mutex
	seen map[string]sighting
}

// see notes the state of the Lease of an agent, and returns what is known about it. When a Lease was created says the API server, by the clock of
// the landscaper cluster.
func (a *agents) see(name string, lease *coordinationv1.Lease, now time.Time) sighting {
	a.mu.Lock()
	defer a.mu.Unlock()
	last, known := a.seen[name]
	if known && last.version == lease.ResourceVersion {
		return last
	}
	if a.seen == nil {
		a.seen = map[string]sighting{}
	}
	next := sighting{version: lease.ResourceVersion, at: now, renewed: known && lease.ResourceVersion != ""}
	if created := lease.CreationTimestamp.Time; !known && now.Sub(created) < holds(lease) {
		next.renewed = true
		if created.Before(now) {
			next.at = created
		}
	}
	a.seen[name] = next
	return next
}

func (a *agents) forget(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.seen, name)
}

// verdict is what a sighting says about an agent.
type verdict struct {
	status metav1.ConditionStatus
	reason string
	// left is when to judge again without an event; 0 is never.
	left time.Duration
}

// judge says whether an agent is connected. Times that the agent wrote count for nothing: its clock may be wrong. Until a lease has passed
// since this process first looked, the last verdict stands, which is was.
func judge(seen sighting, holds time.Duration, was *metav1.Condition, now time.Time) verdict {
	left := seen.at.Add(holds).Sub(now)
	switch {
	case left > 0 && seen.renewed:
		return verdict{metav1.ConditionTrue, reasonConnected, left}
	case left > 0 && was == nil:
		return verdict{metav1.ConditionUnknown, reasonUnknown, left}
	case left > 0:
		return verdict{was.Status, was.Reason, left}
	case seen.version == "" && (was == nil || was.Status != metav1.ConditionTrue && was.Reason != reasonUnreachable):
		return verdict{metav1.ConditionFalse, reasonNoAgent, 0}
	}
	return verdict{metav1.ConditionFalse, reasonUnreachable, 0}
}

// judgeAgent puts into the status whether the agent gives signs of life.
func (r *Reconciler) judgeAgent(ctx context.Context, s *scope) error {
	if s.home == "" {
		return nil
	}
	lease := &coordinationv1.Lease{}
	err := r.Get(ctx, client.ObjectKey{Namespace: s.home, Name: v1alpha1.AgentLeasePrefix + s.env.Name}, lease)
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	seen := r.agents.see(s.env.Name, lease, s.now)
	was := conditions.Get(s.env, v1alpha1.AgentConnectedCondition)
	found := judge(seen, holds(lease), was, s.now)
	if found.left > 0 {
		s.wakeIn(found.left)
	}
	if version := lease.Annotations[v1alpha1.AgentVersionAnnotation]; version != "" {
		s.env.Status.AgentVersion = foreign.Beginning(version, maxVersion)
	}
	if was != nil && was.Status == found.status && was.Reason == found.reason {
		return nil
	}
	if seen.renewed {
		s.env.Status.AgentLastSeen = &metav1.Time{Time: seen.at}
	}
	show(s.env, s.home, found)
	return nil
}

// holds returns for how long a Lease holds.
func holds(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.LeaseDurationSeconds == nil {
		return leaseDuration
	}
	return min(max(time.Duration(*lease.Spec.LeaseDurationSeconds)*time.Second, minLease), maxLease)
}

func show(env *v1alpha1.Environment, namespace string, found verdict) {
	lease := namespace + "/" + v1alpha1.AgentLeasePrefix + env.Name
	switch found.status {
	case metav1.ConditionTrue:
		conditions.MarkTrue(env, v1alpha1.AgentConnectedCondition, found.reason, "the agent renews its Lease %s", lease)
	case metav1.ConditionUnknown:
		conditions.MarkUnknown(env, v1alpha1.AgentConnectedCondition, found.reason, "the Lease %s of the agent is awaited", lease)
	default:
		text := "the agent does not renew its Lease %s; its DeployItems wait until it does"
		if found.reason == reasonNoAgent {
			text = "no agent holds the Lease %s; install the agent of this Environment, or delete the Environment"
		}
		conditions.MarkFalse(env, v1alpha1.AgentConnectedCondition, found.reason, text, lease)
	}
}

// isConnected reports whether the agent gives signs of life.
func isConnected(env *v1alpha1.Environment) bool {
	return conditions.IsTrue(env, v1alpha1.AgentConnectedCondition)
}

const (
	// agentTokenLife is for how long the first token of an agent is asked for.
	agentTokenLife = 7 * 24 * time.Hour
	// maxClaim bounds how long a claim stays that says nothing usable about its end.
	maxClaim = 24 * time.Hour
)

// enroller answers the claims of agents: the first key in a claim gets a token of the agent, encrypted for that key. The answer is a Secret of its own,
// which the bootstrap token cannot write: there is one for each claim, whatever happens to the claim later.
type enroller struct{ *Reconciler }

// claimant returns the Environment that a claim is for; false for all other Secrets.
func claimant(homes *pair.Homes, secret client.Object) (string, bool) {
	name, isClaim := strings.CutPrefix(secret.GetName(), enrolment.ClaimPrefix)
	return name, isClaim && secret.GetLabels()[v1alpha1.DeployerEnvironmentLabel] == name && homes.Has(secret.GetNamespace(), name)
}

// Reconcile answers one claim, and deletes it when it is over.
func (e *enroller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &corev1.Secret{}
	if err := e.Live.Get(ctx, req.NamespacedName, claim); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	name, isClaim := claimant(&e.Homes, claim)
	if !isClaim || !claim.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	left := endOf(claim).Sub(e.Now())
	if left <= 0 {
		only := client.Preconditions{UID: &claim.UID}
		return ctrl.Result{}, client.IgnoreNotFound(e.Delete(ctx, claim, only))
	}
	if enrolment.CheckPublic(claim.Data[enrolment.PublicKey]) != nil {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	if err := e.answer(ctx, name, claim); err != nil {
		return e.Backoff.Later(ctx, req.NamespacedName, fmt.Errorf("answer the claim of the agent of Environment %s: %w", name, err)), nil
	}
	e.Backoff.Forget(req.NamespacedName)
	return ctrl.Result{RequeueAfter: left}, nil
}

// endOf is when a claim is over.
func endOf(claim *corev1.Secret) time.Time {
	latest := claim.CreationTimestamp.Add(maxClaim)
	end, err := time.Parse(time.RFC3339, claim.Annotations[enrolment.ExpiresAnnotation])
	if err != nil || end.After(latest) {
		return latest
	}
	return end
}

// answer answers a claim that was not answered yet. Creating the answer decides: of two processes, or of two keys, one gets a token.
func (e *enroller) answer(ctx context.Context, name string, claim *corev1.Secret) error {
	answer := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: claim.Namespace, Name: enrolment.AnswerPrefix + name, Labels: map[string]string{v1alpha1.DeployerEnvironmentLabel: name},
		Annotations:     map[string]string{enrolment.ClaimAnnotation: string(claim.UID)},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: claim.Name, UID: claim.UID}},
	}}
	present := &corev1.Secret{}
	err := e.Live.Get(ctx, client.ObjectKeyFromObject(answer), present)
	switch {
	case err == nil && present.Annotations[enrolment.ClaimAnnotation] == string(claim.UID):
		return nil
	case err == nil:
		err = e.Delete(ctx, present, client.Preconditions{UID: &present.UID})
	}
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if err := e.checkAdmitted(ctx, claim.Namespace, name); err != nil {
		return err
	}
	seconds := int64(agentTokenLife.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: enrolment.AccountPrefix + name}}
	if err := e.SubResource("token").Create(ctx, account, request); err != nil {
		return err
	}
	sealed, err := enrolment.Seal(claim.Data[enrolment.PublicKey], name, string(claim.UID), enrolment.Credential{
		Token: request.Status.Token, Expires: request.Status.ExpirationTimestamp.Time,
	})
	if err != nil {
		return err
	}
	answer.Data = map[string][]byte{enrolment.Answer: sealed}
	if err := e.Create(ctx, answer); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil
}

// checkAdmitted fails where no operator has made the namespace for the Environment.
func (e *enroller) checkAdmitted(ctx context.Context, namespace, environment string) error {
	if namespace == e.Homes.Shared {
		if !e.Share {
			return fmt.Errorf("namespace %s is for no Environment; start the controller with --shared-environments, or make a namespace by flux/agent-access", namespace)
		}
		return nil
	}
	found, err := e.namespace(ctx, namespace)
	if err == nil && (found == nil || found.Labels[v1alpha1.DeployerEnvironmentLabel] != environment) {
		return fmt.Errorf("namespace %s is not for this Environment; give it the label %s: %s", namespace, v1alpha1.DeployerEnvironmentLabel, environment)
	}
	return err
}
