// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// bindingTo binds nobody to a Role.
func bindingTo(namespace, role string) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
	}
}

// limited opens a cluster for a user that may write roles and bindings of one namespace, and grants no more than it has.
func limited(t *testing.T, p *platform.Platform, namespace string) *Cluster {
	t.Helper()
	user, err := p.NewUser("limited-" + namespace)
	require.NoError(t, err)
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles", "rolebindings"}, Verbs: []string{"get", "create", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "limited"}, Rules: rules}
	require.NoError(t, p.Client().Create(t.Context(), role))
	binding := bindingTo(namespace, "limited")
	binding.Subjects = []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "limited-" + namespace}}
	require.NoError(t, p.Client().Create(t.Context(), binding))
	kubeconfig, err := platform.KubeconfigFor(user)
	require.NoError(t, err)
	cluster, err := newClients(t, p, Options{}).OpenKubeconfig(namespace, kubeconfig)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		err := cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "none"}, &corev1.ConfigMap{})
		return apierrors.IsNotFound(err)
	}, time.Minute, 50*time.Millisecond)
	return cluster
}

func TestBindingWaitsForTheRoleOfTheSameMoment(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	cluster := limited(t, p, namespace)
	writes := map[string]func(*rbacv1.RoleBinding) error{
		"created": func(b *rbacv1.RoleBinding) error { return cluster.Client.Create(t.Context(), b) },
		"applied": func(b *rbacv1.RoleBinding) error {
			raw := []byte(`{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"RoleBinding","metadata":{"name":"applied"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"applied"}}`)
			return cluster.Client.Patch(t.Context(), b, client.RawPatch(types.ApplyPatchType, raw), client.FieldOwner("test"))
		},
	}
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			made := make(chan error, 1)
			time.AfterFunc(50*time.Millisecond, func() {
				rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}}
				made <- cluster.Client.Create(t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Rules: rules})
			})
			require.NoError(t, write(bindingTo(namespace, name)))
			require.NoError(t, <-made)
		})
	}
}

func TestBindingToNoRoleIsRefusedByTheServer(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	cluster := limited(t, p, namespace)
	err := cluster.Client.Create(t.Context(), bindingTo(namespace, "none"))
	require.True(t, apierrors.IsNotFound(err), err)
	assert.ErrorContains(t, err, `"none" not found`)
}
