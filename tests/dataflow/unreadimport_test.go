// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// limitedShard starts a controller of the scene's shard that may do everything but read the Secrets of the scene. The first function lets it, the
// second does not any more.
func (s *scene) limitedShard() (grant, revoke func()) {
	s.T.Helper()
	name := s.shardUser()
	to := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: name}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.GroupName, "coordination.k8s.io", "source.toolkit.fluxcd.io", "events.k8s.io"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps", "events", "namespaces", "serviceaccounts"}, Verbs: []string{"*"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch", "patch"}},
	}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: to, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	}
	reader := &rbacv1.Role{ObjectMeta: s.Named("reader"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}},
	}}
	for _, one := range []client.Object{role, binding, reader} {
		require.NoError(s.T, s.Client().Create(s.Ctx, one))
	}
	landscape.Run(s.Ctx, s.T, s.Cluster, name, nil, "controller", "--watch-label-selector="+protocol.ShardLabel+"="+s.shardName(), "--max-retry-delay=2s",
		"--log-level=info")
	right := func() *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{
			ObjectMeta: s.Named("reader"), Subjects: to, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "reader"},
		}
	}
	allowed := func() bool {
		may, err := platform.May(s.Ctx, s.Client(), name, authorizationv1.ResourceAttributes{Namespace: s.Namespace, Verb: "get", Resource: "secrets"})
		require.NoError(s.T, err)
		return may
	}
	return func() { require.NoError(s.T, s.Client().Create(s.Ctx, right())) }, func() {
		s.Delete(right())
		require.Eventually(s.T, func() bool { return !allowed() }, landscape.Patience, landscape.Tick)
	}
}

// TestAnImportThatMayNotBeReadIsTriedAgain takes the right to read Secrets from a controller: that the import is there is no reason to say that it is
// not, and no event of it tells when the right is back.
func TestAnImportThatMayNotBeReadIsTriedAgain(t *testing.T) {
	s := newScene(t)
	grant, revoke := s.limitedShard()
	word := &corev1.Secret{ObjectMeta: s.Named("word"), StringData: map[string]string{"word": "one"}}
	require.NoError(t, s.Client().Create(s.Ctx, word))
	s.Put("Installation", "root", object{
		"metadata": object{
			"labels": object{protocol.ShardLabel: s.shardName()},
			"annotations": object{
				v1alpha1.ReconcileIfChangedAnnotation: "true", v1alpha1.ReconcileIfImportsChangedAnnotation: "true",
			},
		},
		"spec": object{
			"blueprint": inline(object{
				"imports": dataImports("word"), "exports": dataExports("out"),
				"exportExecutions": goTemplate("exports: {out: {{ .imports.word }}}"),
			}),
			"imports": object{"data": list{object{"name": "word", "secretRef": object{"name": "word", "key": "word"}}}},
			"exports": object{"data": refs("out")},
		},
	})
	refused := s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
		return inst.Status.LastError != nil && strings.Contains(inst.Status.LastError.Message, "forbidden")
	})
	assert.NotEqual(t, "ImportNotFound", refused.Status.LastError.Reason)
	assert.False(t, refused.Status.IsIdle(), "the job goes on")
	s.RequireStandstill()
	grant()
	s.succeeded("root")
	assert.Equal(t, `"one"`, s.value("out"))

	revoke()
	word.StringData = map[string]string{"word": "two"}
	require.NoError(t, s.Client().Update(s.Ctx, word))
	s.RequireStandstill()
	s.RequireJobs(1, "root")
	grant()
	s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return inst.Status.IsIdle() && s.value("out") == `"two"` })
	s.RequireJobs(2, "root")
}
