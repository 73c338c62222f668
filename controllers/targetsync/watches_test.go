// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func secretNamed(namespace, name, label string) client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{v1alpha1.TargetSyncLabel: label}}}
}

func TestWhichEventsWakeTargetSyncs(t *testing.T) {
	named := func(names ...string) (requests []reconcile.Request) {
		for _, name := range names {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "n", Name: name}})
		}
		return requests
	}
	builder := fake.NewClientBuilder().WithScheme(schemeOf(t))
	for name, source := range map[string]string{"a": "source", "b": "another"} {
		builder = builder.WithObjects(&v1alpha1.TargetSync{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name},
			Spec:       v1alpha1.TargetSyncSpec{SecretRef: v1alpha1.LocalSecretReference{Name: source}},
		})
	}
	r := &Reconciler{Client: builder.Build()}
	for name, c := range map[string]struct {
		secret client.Object
		want   []reconcile.Request
	}{
		"the access to a source":        {secretNamed("n", "source", ""), named("a")},
		"one that was made":             {secretNamed("n", "made", v1alpha1.TargetSyncOK), named("a", "b")},
		"another one":                   {secretNamed("n", "other", ""), nil},
		"the name in another namespace": {secretNamed("m", "source", ""), nil},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, r.ofSecret(t.Context(), c.secret)) })
	}
	assert.Equal(t, named("a", "b"), r.inNamespace(t.Context(), secretNamed("n", "any", "")))
}
