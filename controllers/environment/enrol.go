// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"fmt"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/enrolment"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
)

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
