// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"cmp"
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// kubeconfigKey is the key of every Secret with a kubeconfig, where nothing else is said.
const kubeconfigKey = "kubeconfig"

// Reasons of failures with the access to the source.
const (
	reasonSecretMissing = "SecretNotFound"
	reasonAccess        = "InvalidKubeconfig"
)

// access is the Secret with the kubeconfig of the source, and where in it that stands.
type access struct {
	secret *corev1.Secret
	key    string
}

// openSource opens the source cluster. It sends nothing to it.
func (r *Reconciler) openSource(ctx context.Context, s *scope) error {
	ref := s.sync.Spec.SecretRef
	s.access = access{secret: &corev1.Secret{}, key: ref.Key}
	s.access.key = cmp.Or(s.access.key, kubeconfigKey)
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: s.sync.Namespace, Name: ref.Name}, s.access.secret)
	if apierrors.IsNotFound(err) {
		return kit.Wait(operation, reasonSecretMissing,
			"Secret %q does not exist in namespace %s; create it or correct spec.secretRef.name", ref.Name, s.sync.Namespace)
	}
	if err != nil {
		return err
	}
	raw := s.access.secret.Data[s.access.key]
	if len(raw) == 0 {
		return kit.Wait(operation, reasonSecretMissing,
			"Secret %q has no key %q; add it, with the kubeconfig of the source cluster, or correct spec.secretRef.key", ref.Name, s.access.key)
	}
	s.source, err = r.Clusters.OpenKubeconfig(s.sync.Namespace, raw)
	if err != nil {
		return kit.Stall(operation, reasonAccess, "key %q of Secret %q cannot be used: %w", s.access.key, ref.Name, err)
	}
	return nil
}

var (
	secretKind = corev1.SchemeGroupVersion.WithKind("Secret")
	shootKind  = schema.GroupVersionKind{Group: "core.gardener.cloud", Version: "v1beta1", Kind: "Shoot"}
)

// follow watches what the source is asked for, so that a change there is synced at once.
func (r *Reconciler) follow(_ context.Context, s *scope) error {
	key := client.ObjectKeyFromObject(s.sync)
	if s.pattern == nil {
		r.sources.leave(key)
		return nil
	}
	r.sources.follow(key, s.source, target.Stream{Kind: kindOf(&s.sync.Spec), Namespace: s.sync.Spec.SourceNamespace}, s.pattern)
	return nil
}

// kindOf returns the kind that clusters are known by at the source.
func kindOf(spec *v1alpha1.TargetSyncSpec) schema.GroupVersionKind {
	if spec.ShootNameExpression != "" {
		return shootKind
	}
	return secretKind
}
