// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// absent is an object that an import names and the cache does not show.
type absent struct {
	kind, field string
	key         client.ObjectKey
}

// Error says what is not there and how to cure it.
func (a *absent) Error() string {
	return fmt.Sprintf("%s %s not found; create it or change %s", a.kind, a.key, a.field)
}

// importable are the kinds of objects that imports name.
var importable = map[string]func() client.Object{
	"DataObject": func() client.Object { return &v1alpha1.DataObject{} },
	"Target":     func() client.Object { return &v1alpha1.Target{} },
	"Secret":     func() client.Object { return &corev1.Secret{} },
	"ConfigMap":  func() client.Object { return &corev1.ConfigMap{} },
}

// arriving reports whether the API server has the object that an import misses, so that the cache, which may be late, will show it.
func (r *Reconciler) arriving(ctx context.Context, problem error) (bool, error) {
	var lacking *absent
	if !errors.As(problem, &lacking) || importable[lacking.kind] == nil {
		return false, nil
	}
	err := r.Live.Get(ctx, lacking.key, importable[lacking.kind]())
	return err == nil, client.IgnoreNotFound(err)
}
