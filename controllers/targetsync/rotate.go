// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const (
	// tokenLife is for how long a token is asked for, rotateAfter how old it gets.
	tokenLife   = 90 * 24 * time.Hour
	rotateAfter = 60 * 24 * time.Hour
)

const reasonRotation = "TokenRotationFailed"

// rotateToken puts a new token into the Secret with the access to the source when it is time, or somebody asks. The old token stays valid
// until it expires, so nothing breaks when the process dies in between. A failure is a problem of the TargetSync; the sync goes on.
func (r *Reconciler) rotateToken(ctx context.Context, s *scope) error {
	if s.sync.Spec.TokenRotation == nil || !s.sync.Spec.TokenRotation.Enabled {
		return nil
	}
	if s.sync.Annotations[v1alpha1.RotateTokenAnnotation] == "" {
		s.sync.Status.LastHandledTokenRotation = ""
	}
	left := untilRotation(&s.sync.Status, s.sync.Annotations[v1alpha1.RotateTokenAnnotation], s.now)
	if left > 0 {
		s.wakeIn(left)
		return nil
	}
	if err := r.newToken(ctx, s); err != nil {
		if kit.IsTransient(err) {
			return err
		}
		s.problems = append(s.problems, err)
		return nil
	}
	s.sync.Status.LastTokenRotationTime = &metav1.Time{Time: s.now}
	s.sync.Status.LastHandledTokenRotation = s.sync.Annotations[v1alpha1.RotateTokenAnnotation]
	s.wakeIn(rotateAfter)
	return r.writeStatus(ctx, s)
}

// untilRotation returns how long the token may stay. Asked is the value of the annotation that asks for a new one.
func untilRotation(status *v1alpha1.TargetSyncStatus, asked string, now time.Time) time.Duration {
	if status.LastTokenRotationTime == nil || kit.IsAhead(status.LastTokenRotationTime.Time, now) || asked != "" && asked != status.LastHandledTokenRotation {
		return 0
	}
	return max(status.LastTokenRotationTime.Add(rotateAfter).Sub(now), 0)
}

// newToken asks the source for a token of the ServiceAccount that its kubeconfig acts as, and writes it into the Secret.
func (r *Reconciler) newToken(ctx context.Context, s *scope) error {
	secret, key := s.access.secret, s.access.key
	if kit.IsOwnedByFlux(secret) {
		return kit.Stall(operation, reasonRotation,
			"Secret %q is applied by Flux, which would put the old token back; take the Secret out of Git, or remove spec.tokenRotation", secret.Name)
	}
	var config clientcmdv1.Config
	if err := foreign.Unmarshal(secret.Data[key], &config); err != nil || len(config.AuthInfos) != 1 || config.AuthInfos[0].Name == "" {
		return kit.Stall(operation, reasonRotation,
			"key %q of Secret %q has to be a kubeconfig with exactly one user, named as its ServiceAccount in namespace %q of the source cluster; correct it, or remove spec.tokenRotation",
			key, secret.Name, s.sync.Spec.SourceNamespace)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.sync.Spec.SourceNamespace, Name: config.AuthInfos[0].Name}}
	life := int64(tokenLife.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &life}}
	if err := s.source.Client.SubResource("token").Create(ctx, account, request); err != nil {
		return kit.Again(operation, reasonRotation,
			"no new token for ServiceAccount %q in namespace %q of the source cluster: %w; it needs the right to create serviceaccounts/token for itself",
			account.Name, account.Namespace, err)
	}
	config.AuthInfos[0].AuthInfo = clientcmdv1.AuthInfo{Token: request.Status.Token}
	written, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	secret.Data[key] = written
	return r.Update(ctx, secret)
}
