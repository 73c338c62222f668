// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// manyNames is how many names an object has that is as large as may be.
const manyNames = 50_000

// asking is a Reconciler whose reads are counted, in a cluster with the Target, the Context and the Secret "there".
func asking(t *testing.T) (r *Reconciler, reads *int) {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	require.NoError(t, corev1.AddToScheme(scheme))
	reads = new(int)
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(target("there", ""), contextNaming("there", "", ""), secret("there"))
	c := interceptor.NewClient(
		builder.WithIndex(&v1alpha1.Target{}, contentIndex, contentsOf).Build(),
		interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				*reads++
				return c.Get(ctx, key, object, options...)
			},
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				*reads++
				return c.List(ctx, list, options...)
			},
		})
	return &Reconciler{Client: c, metadata: c}, reads
}

// pulling is a Context with pull secrets.
func pulling(secrets ...string) client.Object {
	object := &v1alpha1.Context{ObjectMeta: named("c")}
	for _, name := range secrets {
		object.RegistryPullSecrets = append(object.RegistryPullSecrets, v1alpha1.LocalObjectReference{Name: name})
	}
	return object
}

func TestAContextIsProtectedWithAsManyPullSecretsAsAreRead(t *testing.T) {
	secrets := []string{"there"}
	for i := range manyNames {
		secrets = append(secrets, "there", fmt.Sprintf("unknown-%d", i))
	}
	object := pulling(secrets...)
	r, reads := asking(t)
	require.NoError(t, r.Create(t.Context(), object))
	require.NoError(t, (&protector{Reconciler: r, kind: users[1]}).protect(t.Context(), object))
	assert.LessOrEqual(t, *reads, 100)
	found := &corev1.Secret{}
	require.NoError(t, r.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "there"}, found))
	assert.True(t, isProtected(found))
	assert.Len(t, contentsOf(object), 50)
}
