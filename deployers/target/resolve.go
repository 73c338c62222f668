// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Get reads a Target from cache. A Target that the cache does not have is looked up live, so that a cache that lags behind does
// not make it missing. The error of a missing Target has the reason NoTargetFound.
func Get(ctx context.Context, cache, live client.Reader, namespace, name string) (*v1alpha1.Target, error) {
	target, key := &v1alpha1.Target{}, types.NamespacedName{Namespace: namespace, Name: name}
	err := cache.Get(ctx, key, target)
	if apierrors.IsNotFound(err) {
		err = live.Get(ctx, key, target)
	}
	if apierrors.IsNotFound(err) {
		return nil, notFound(namespace, name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read Target %s: %w", key, err)
	}
	return target, nil
}

// Content returns the content of a Target of any type: its config, the value of the named key of its Secret, or all keys of
// the Secret as one JSON object (each value parsed as YAML). The Secret is read live, from the namespace of the Target. A Target
// with neither has no content.
func Content(ctx context.Context, live client.Reader, target *v1alpha1.Target) ([]byte, error) {
	if config := target.Spec.Configuration; config != nil && len(config.RawMessage) > 0 {
		return config.RawMessage, nil
	}
	ref := target.Spec.SecretRef
	if ref == nil {
		return nil, nil
	}
	secret, key := &corev1.Secret{}, types.NamespacedName{Namespace: target.Namespace, Name: ref.Name}
	err := live.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, contentMissing(err, "Secret %q of Target %q does not exist in namespace %q; create it or correct spec.secretRef.name of the Target",
			ref.Name, v1alpha1.OriginalName(target), target.Namespace)
	}
	if err != nil {
		return nil, fmt.Errorf("read Secret %s of Target %q: %w", key, v1alpha1.OriginalName(target), err)
	}
	return secretContent(target, secret, ref.Key)
}

func secretContent(target *v1alpha1.Target, secret *corev1.Secret, key string) ([]byte, error) {
	if key == "" {
		return wholeSecret(target, secret)
	}
	value, ok := secret.Data[key]
	if !ok {
		return nil, contentMissing(nil, "Secret %q of Target %q has no key %q; add it or correct spec.secretRef.key of the Target", secret.Name, v1alpha1.OriginalName(target), key)
	}
	return value, nil
}

func wholeSecret(target *v1alpha1.Target, secret *corev1.Secret) ([]byte, error) {
	all := make(map[string]any, len(secret.Data))
	for key, value := range secret.Data {
		var parsed any
		if err := foreign.Unmarshal(value, &parsed); err != nil {
			return nil, invalid(target, refuse(fmt.Sprintf("key %q of Secret %q", key, secret.Name), foreign.Problem(err)+where(err),
				"correct it, or set spec.secretRef.key to the one key to use"))
		}
		all[key] = parsed
	}
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("encode Secret %q of Target %q: %w", secret.Name, v1alpha1.OriginalName(target), err)
	}
	return raw, nil
}

// clusterContent returns the content of a Target of type kubernetes-cluster.
func clusterContent(ctx context.Context, live client.Reader, target *v1alpha1.Target) ([]byte, error) {
	if target.Spec.Type != v1alpha1.KubernetesClusterTargetType {
		return nil, refuse("spec.type", fmt.Sprintf("is %q", target.Spec.Type), fmt.Sprintf("a Target of type %q is expected here", v1alpha1.KubernetesClusterTargetType))
	}
	raw, err := Content(ctx, live, target)
	if err == nil && len(raw) == 0 {
		return nil, refuse("the Target", "has no content", "set spec.config or spec.secretRef")
	}
	return raw, err
}

// located adds to a refusal which Target it is about.
func located(target *v1alpha1.Target, err error) error {
	var r *refusal
	var e *Error
	if errors.As(err, &e) || !errors.As(err, &r) {
		return err
	}
	return invalid(target, err)
}
