// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// allow gives a ServiceAccount all rights in the namespace.
func (s *served) allow(account string) {
	s.t.Helper()
	require.NoError(s.t, s.p.Client().Create(s.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: account},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: s.namespace, Name: account}},
	}))
	what := authorizationv1.ResourceAttributes{Namespace: s.namespace, Verb: "create", Resource: "configmaps"}
	require.Eventually(s.t, func() bool {
		may, err := platform.May(s.t.Context(), s.p.Client(), "system:serviceaccount:"+s.namespace+":"+account, what)
		return err == nil && may
	}, time.Minute, 20*time.Millisecond)
}

// actAs makes the item act as a ServiceAccount.
func (s *served) actAs(item *v1alpha1.DeployItem, account string) {
	s.t.Helper()
	base := item.DeepCopy()
	item.Spec.ServiceAccountName = account
	require.NoError(s.t, s.p.Client().Patch(s.t.Context(), item, client.MergeFrom(base)))
}

// actors returns in whose name ConfigMaps were written on the target since a time.
func (s *served) actors(since time.Time) map[string]bool {
	s.t.Helper()
	requests, err := s.p.Requests(s.t.Context(), since)
	require.NoError(s.t, err)
	names := map[string]bool{}
	for _, request := range requests {
		if request.User == s.namespace && request.Resource == "configmaps" && request.Writes() && request.Code < 300 {
			names[request.Impersonated] = true
		}
	}
	return names
}

func TestAccountWithoutRightsIsNamedAndCuredByAnother(t *testing.T) {
	s := serve(t)
	item := s.create(manifests("1", "a"))
	s.finish(item)
	weak, strong := "system:serviceaccount:"+s.namespace+":weak", "system:serviceaccount:"+s.namespace+":strong"

	s.actAs(item, "weak")
	base := item.DeepCopy()
	item.Spec.Configuration = s.config(manifests("2", "a"))
	require.NoError(t, s.p.Client().Patch(t.Context(), item, client.MergeFrom(base)))
	s.begin(item)
	s.await(item, func() bool { return item.Status.JobID == item.Status.JobIDFinished })
	require.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	assert.Contains(t, item.Status.LastError.Message, weak)
	assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorUnauthorized}, item.Status.LastError.Codes)
	s.standsStill(item, s.namespace)

	s.allow("strong")
	s.actAs(item, "strong")
	since := time.Now()
	s.begin(item)
	s.finish(item)
	assert.Equal(t, map[string]bool{strong: true}, s.actors(since))
}

func TestUninstallActsAsTheAccountOfTheSpec(t *testing.T) {
	s := serve(t)
	s.allow("strong")
	item := s.create(manifests("1", "a"))
	s.finish(item)
	s.actAs(item, "strong")
	since := time.Now()
	require.NoError(t, s.p.Client().Delete(t.Context(), item))
	s.begin(item)
	require.NoError(t, s.p.AwaitGone(t.Context(), item))
	assert.Equal(t, map[string]bool{"system:serviceaccount:" + s.namespace + ":strong": true}, s.actors(since))
}
