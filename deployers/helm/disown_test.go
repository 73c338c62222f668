// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/readiness"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// TestObjectsThatWereNotKeptAreTakenOutOfARelease has objects of which an apply remembers no more than that they exist.
func TestObjectsThatWereNotKeptAreTakenOutOfARelease(t *testing.T) {
	release := managedresource.ReleaseReference{Namespace: "shop", Name: "cart"}
	of := func(name, of string) *corev1.ConfigMap {
		labels, annotations := engine.Ownership("shop", of)
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: labels, Annotations: annotations}}
	}
	c := fake.NewClientBuilder().WithObjects(of("own", "cart"), of("foreign", "other")).Build()
	var applied []readiness.Subject
	for _, name := range []string{"own", "foreign", "gone"} {
		resource := managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}
		applied = append(applied, readiness.Subject{Resource: resource, Exists: true})
	}
	require.NoError(t, disown(t.Context(), &target.Cluster{Client: c}, applied, release))
	for name, want := range map[string]bool{"own": false, "foreign": true} {
		left := &corev1.ConfigMap{}
		require.NoError(t, c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, left))
		assert.Equal(t, want, engine.IsOwned(left), name)
	}
}
