// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// verificationKey marks a context.Context of a lookup for which only sources count that Flux has verified.
type verificationKey struct{}

func withVerification(ctx context.Context, required bool) context.Context {
	if !required {
		return ctx
	}
	return context.WithValue(ctx, verificationKey{}, true)
}

// SourceLookup returns the function by which component repositories find Flux sources: through a client that reads from caches, and under
// a policy. Where the Context of the Installation requires it, sources have to be verified by Flux.
func SourceLookup(reader client.Reader, policy flux.Policy) func(context.Context, string, v1alpha1.SourceReference) (flux.Source, error) {
	return func(ctx context.Context, namespace string, ref v1alpha1.SourceReference) (flux.Source, error) {
		source, err := flux.Lookup(ctx, reader, namespace, ref, policy)
		if err == nil && ctx.Value(verificationKey{}) != nil {
			err = source.RequireVerified()
		}
		return source, err
	}
}

// AccountReader returns the function by which component repositories find the pull secrets of a ServiceAccount, live.
func AccountReader(live client.Reader) func(ctx context.Context, namespace, name string) ([]string, error) {
	return func(ctx context.Context, namespace, name string) ([]string, error) {
		account := &corev1.ServiceAccount{}
		if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, account); err != nil {
			return nil, fmt.Errorf("read ServiceAccount %s/%s: %w", namespace, name, err)
		}
		var names []string
		for _, secret := range account.ImagePullSecrets {
			names = append(names, secret.Name)
		}
		return names, nil
	}
}

// SecretReader returns the function by which component repositories read the pull secrets of OCIRepositories, live.
func SecretReader(live client.Reader) func(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	return func(ctx context.Context, namespace, name string) (map[string][]byte, error) {
		secret := &corev1.Secret{}
		if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
			return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
		}
		return secret.Data, nil
	}
}
