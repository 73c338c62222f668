// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// EnsureNamespace creates a namespace that does not exist, labelled as Helm does it. Whoever may not create namespaces may still use one
// that exists.
func (e *Engine) EnsureNamespace(ctx context.Context, cluster *target.Cluster, name string) error {
	if err := ensureNamespace(ctx, cluster.Client, name); err != nil {
		return fmt.Errorf("namespace %s cannot be created: %w", name, err)
	}
	return nil
}

func ensureNamespace(ctx context.Context, c client.Client, name string) error {
	err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}}})
	switch {
	case err == nil || apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err):
		if c.Get(ctx, client.ObjectKey{Name: name}, &corev1.Namespace{}) == nil {
			return nil
		}
	}
	return err
}
