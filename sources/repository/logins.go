// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// SecretReader returns the function for Options.Secret on the landscaper cluster. The reader has no cache.
func SecretReader(live client.Reader) func(ctx context.Context, namespace, name string) (map[string][]byte, error) {
	return func(ctx context.Context, namespace, name string) (map[string][]byte, error) {
		secret := &corev1.Secret{}
		if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
			return nil, fmt.Errorf("read Secret %s/%s: %w", namespace, name, err)
		}
		return secret.Data, nil
	}
}

// AccountReader returns the function for Options.PullSecrets on the landscaper cluster. The reader has no cache.
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
