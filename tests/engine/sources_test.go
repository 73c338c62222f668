// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"os"
	"slices"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
)

// grant lets a user do everything with our kinds and read the rest, but for one kind of sources.
func (s *site) grant(user, forbidden string) {
	s.t.Helper()
	readable := slices.DeleteFunc([]string{"gitrepositories", "ocirepositories", "buckets", "externalartifacts", "helmcharts"},
		func(kind string) bool { return kind == forbidden })
	read := []string{"get", "list", "watch"}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{v1alpha1.GroupName}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{APIGroups: []string{"source.toolkit.fluxcd.io"}, Resources: readable, Verbs: read},
		{APIGroups: []string{""}, Resources: []string{"secrets", "configmaps"}, Verbs: read},
		{APIGroups: []string{"", "events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}},
	}}
	require.NoError(s.t, s.Client().Create(s.ctx, role))
	require.NoError(s.t, s.Client().Create(s.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}))
}

// fromSource makes an Installation whose blueprint comes from a source that does not exist.
func (s *site) fromSource(namespace, name, kind string) *v1alpha1.Installation {
	s.t.Helper()
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: namespace, Annotations: map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"},
	}}
	inst.Spec.Blueprint.SourceReference = &v1alpha1.SourceReference{Kind: kind, Name: "absent"}
	require.NoError(s.t, s.Client().Create(s.ctx, inst))
	return inst
}

func TestAForbiddenKindOfSourceDoesNotBlockOthers(t *testing.T) {
	s := newSite(t)
	tools, err := binaries.Tools(s.ctx, os.Stderr, binaries.SourceController)
	require.NoError(t, err)
	require.NoError(t, s.InstallCRDs(s.ctx, tools.CRDDir(binaries.SourceController)))
	s.grant("restricted", "buckets")
	s.namespace("restricted")
	process := s.run("restricted", nil, "controller")

	allowed, refused := s.fromSource("restricted", "allowed", "GitRepository"), s.fromSource("restricted", "refused", "Bucket")
	s.until(allowed, func() bool { return conditions.GetReason(allowed, meta.ReadyCondition) == "SourceNotFound" })
	s.until(refused, func() bool { return refused.Status.LastError != nil })
	assert.Contains(t, refused.Status.LastError.Message, "forbidden")
	assert.Contains(t, process.LogTail(200), "may not list buckets.source.toolkit.fluxcd.io")
}
