// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

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

// importing is a root at work that imports Targets.
func importing(targets ...string) client.Object {
	inst := importer(v1alpha1.Finalizer)
	inst.Spec.Imports.Targets = []v1alpha1.TargetImport{{Name: "clusters", Targets: targets}}
	return inst
}

// using is a DeployItem whose configuration names Targets.
func using(targets ...string) client.Object {
	var config strings.Builder
	for _, name := range targets {
		fmt.Fprintf(&config, `{"targetName":%q},`, name)
	}
	return item("", "missing", `{"a":[`+config.String()+`{}]}`)
}

// pulling is a Context that names pull secrets.
func pulling(secrets ...string) client.Object {
	object := &v1alpha1.Context{ObjectMeta: named("c")}
	for _, name := range secrets {
		object.RegistryPullSecrets = append(object.RegistryPullSecrets, v1alpha1.LocalObjectReference{Name: name})
	}
	return object
}

func TestEventsWakeOnlyWhatIsThere(t *testing.T) {
	unknown := make([]string, 0, manyNames)
	for i := range manyNames {
		unknown = append(unknown, fmt.Sprintf("unknown-%d", i))
	}
	imports := func(r *Reconciler, obj client.Object) []reconcile.Request {
		return r.importedBy(users[0])(t.Context(), obj)
	}
	uses := func(r *Reconciler, obj client.Object) []reconcile.Request {
		return r.usedBy(users[0])(t.Context(), obj)
	}
	names := func(r *Reconciler, obj client.Object) []reconcile.Request {
		return r.namedBy(contents[0])(t.Context(), obj)
	}
	for name, tc := range map[string]struct {
		woken func(*Reconciler, client.Object) []reconcile.Request
		event client.Object
		want  []reconcile.Request
	}{
		"many imports, all unknown":      {imports, importing(unknown...), nil},
		"many imports, one of them":      {imports, importing(append([]string{"there"}, unknown...)...), requests("n", []string{"there"})},
		"few imports":                    {imports, importing("unknown", "there"), requests("n", []string{"there"})},
		"many other Targets of an item":  {uses, using(unknown[:maxSecondary]...), nil},
		"few other Targets of an item":   {uses, using("unknown", "there"), requests("n", []string{"there"})},
		"many pull secrets, all unknown": {names, pulling(unknown...), nil},
		"few pull secrets":               {names, pulling("unknown", "there"), requests("n", []string{"there"})},
	} {
		t.Run(name, func(t *testing.T) {
			r, reads := asking(t)
			assert.Equal(t, tc.want, tc.woken(r, tc.event))
			assert.LessOrEqual(t, *reads, maxAsked)
		})
	}
}

func TestTheContextOfAnItemIsWokenWhereItIsThere(t *testing.T) {
	r, _ := asking(t)
	assert.Equal(t, requests("n", []string{"there"}), r.usedBy(users[1])(t.Context(), item("", "there", "")))
	assert.Empty(t, r.usedBy(users[1])(t.Context(), item("", "missing", "")))
}

// TestWhatCannotBeAskedForIsWoken covers a cache that cannot answer: nothing may be missed for that.
func TestWhatCannotBeAskedForIsWoken(t *testing.T) {
	r, _ := asking(t)
	r.Client = interceptor.NewClient(r.Client.(client.WithWatch), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return context.Canceled
		},
	})
	assert.Equal(t, requests("n", []string{"unknown"}), r.importedBy(users[0])(t.Context(), importing("unknown")))
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
	assert.LessOrEqual(t, *reads, maxAsked)
	found := &corev1.Secret{}
	require.NoError(t, r.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "there"}, found))
	assert.True(t, isProtected(found))
	assert.Len(t, contentsOf(object), 50)
}
