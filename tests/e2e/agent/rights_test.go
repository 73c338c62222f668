// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// mayIn asks a cluster what a ServiceAccount may do there.
func (s *scene) mayIn(cluster *platform.Cluster, namespace, account string, what authorizationv1.ResourceAttributes) bool {
	s.t.Helper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + namespace + ":" + account, Groups: []string{"system:authenticated", "system:serviceaccounts"}, ResourceAttributes: &what,
	}}
	require.NoError(s.t, cluster.Client().Create(s.ctx, review))
	return review.Status.Allowed
}

func TestAgentMayDoNothingElseOnTheLandscaperCluster(t *testing.T) {
	s := newScene(t, "bounded")
	own, other := v1alpha1.GroupName, "coordination.k8s.io"
	may := func(what authorizationv1.ResourceAttributes) bool {
		return s.mayIn(s.Cluster, s.home(), "landscaper-agent-bounded", what)
	}
	require.Eventually(t, func() bool {
		return may(authorizationv1.ResourceAttributes{Verb: "patch", Group: own, Resource: "environments", Name: "bounded"})
	}, patience, 50*time.Millisecond)
	for name, what := range map[string]authorizationv1.ResourceAttributes{
		"Secrets":                       {Verb: "get", Resource: "secrets", Namespace: s.home()},
		"Secrets of tenants":            {Verb: "list", Resource: "secrets", Namespace: "shop"},
		"tokens":                        {Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: s.home()},
		"other Environments":            {Verb: "get", Group: own, Resource: "environments", Name: "other"},
		"a new Environment":             {Verb: "create", Group: own, Resource: "environments", Name: "other"},
		"deletion of its Environment":   {Verb: "delete", Group: own, Resource: "environments", Name: "bounded"},
		"status of its Environment":     {Verb: "patch", Group: own, Resource: "environments", Subresource: "status", Name: "bounded"},
		"other Leases":                  {Verb: "update", Group: other, Resource: "leases", Namespace: s.home(), Name: "landscaper-agent-other"},
		"Leases of ls-system":           {Verb: "create", Group: other, Resource: "leases", Namespace: system},
		"DeployItems of tenants":        {Verb: "list", Group: own, Resource: "deployitems", Namespace: "shop"},
		"writing Targets":               {Verb: "update", Group: own, Resource: "targets", Namespace: s.home()},
		"writing Installations":         {Verb: "update", Group: own, Resource: "installations", Namespace: s.home()},
		"roles":                         {Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "rolebindings", Namespace: s.home()},
		"DeployerRegistrations":         {Verb: "get", Group: own, Resource: "deployerregistrations"},
		"impersonation":                 {Verb: "impersonate", Resource: "serviceaccounts", Namespace: s.home()},
		"Pods of the landscaper itself": {Verb: "get", Resource: "pods", Namespace: s.home()},
	} {
		t.Run(name, func(t *testing.T) { assert.False(t, may(what)) })
	}
}

func TestAccessOfTheDeployersEndsAtTheirNamespace(t *testing.T) {
	s := newScene(t, "narrow")
	s.startAgent()
	may := func(what authorizationv1.ResourceAttributes) bool {
		return s.mayIn(s.fence.Cluster, system, "deployer-narrow", what)
	}
	assert.True(t, may(authorizationv1.ResourceAttributes{Verb: "create", Group: "apps", Resource: "deployments", Namespace: system}))
	assert.True(t, may(authorizationv1.ResourceAttributes{Verb: "get", Resource: "namespaces", Namespace: system, Name: system}))
	for name, what := range map[string]authorizationv1.ResourceAttributes{
		"other Namespaces":  {Verb: "get", Resource: "namespaces", Namespace: "kube-system", Name: "kube-system"},
		"other namespaces":  {Verb: "get", Resource: "secrets", Namespace: "kube-system"},
		"the whole cluster": {Verb: "list", Resource: "configmaps"},
		"cluster roles":     {Verb: "create", Group: "rbac.authorization.k8s.io", Resource: "clusterrolebindings"},
		"more than it has":  {Verb: "escalate", Group: "rbac.authorization.k8s.io", Resource: "roles", Namespace: system},
		"tokens":            {Verb: "create", Resource: "serviceaccounts", Subresource: "token", Namespace: system},
		"nodes":             {Verb: "get", Resource: "nodes"},
	} {
		t.Run(name, func(t *testing.T) { assert.False(t, may(what)) })
	}
}

// TestRightsOfTheFormerKindAreTakenAway plays an agent that had hostRights: Cluster before.
func TestRightsOfTheFormerKindAreTakenAway(t *testing.T) {
	for name, c := range map[string]struct {
		subject string
		stays   bool
	}{
		"retired":  {subject: "deployer-retired"},
		"somebody": {subject: "somebody", stays: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, name)
			meta := metav1.ObjectMeta{Name: "landscaper:agent:deployer:" + name}
			role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}}
			binding := &rbacv1.ClusterRoleBinding{
				ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
				Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: c.subject}},
			}
			fence := s.fence.Client()
			require.NoError(t, errors.Join(fence.Create(s.ctx, role), fence.Create(s.ctx, binding)))
			s.startAgent()
			for _, object := range []client.Object{binding, role} {
				if c.stays {
					require.NoError(t, fence.Get(s.ctx, client.ObjectKeyFromObject(object), object))
					continue
				}
				require.Eventually(t, func() bool {
					return apierrors.IsNotFound(fence.Get(s.ctx, client.ObjectKeyFromObject(object), object))
				}, patience, 50*time.Millisecond)
			}
		})
	}
}

func TestRightsThatTheAgentMayNotRemoveAreNamed(t *testing.T) {
	s := newScene(t, "powerless")
	fence := s.fence.Client()
	require.NoError(t, fence.Delete(s.ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "landscaper-agent-powerless"}}))
	s.startAgent()
	require.Eventually(t, func() bool {
		events := &corev1.EventList{}
		require.NoError(t, fence.List(s.ctx, events, client.InNamespace(system)))
		return slices.ContainsFunc(events.Items, func(e corev1.Event) bool {
			return e.Reason == "RightsLeft" && strings.Contains(e.Message, `ClusterRoleBinding "landscaper:agent:deployer:powerless"`)
		})
	}, patience, 50*time.Millisecond)
}
