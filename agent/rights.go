// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// namespaceRules are what charts of deployers need in the namespace of the deployers. Nothing of it reaches beyond, and roles that a chart brings
// can grant no more than this.
func namespaceRules() []rbacv1.PolicyRule {
	write := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Verbs: write, Resources: []string{"configmaps", "secrets", "services", "serviceaccounts", "persistentvolumeclaims"}},
		{APIGroups: []string{""}, Verbs: []string{"get", "list", "watch"}, Resources: []string{"pods"}},
		{APIGroups: []string{"", "events.k8s.io"}, Verbs: []string{"create", "patch"}, Resources: []string{"events"}},
		{APIGroups: []string{"apps"}, Verbs: write, Resources: []string{"deployments", "statefulsets"}},
		{APIGroups: []string{"apps"}, Verbs: []string{"get", "list", "watch"}, Resources: []string{"replicasets", "controllerrevisions"}},
		{APIGroups: []string{"batch"}, Verbs: write, Resources: []string{"jobs", "cronjobs"}},
		{APIGroups: []string{"autoscaling"}, Verbs: write, Resources: []string{"horizontalpodautoscalers"}},
		{APIGroups: []string{"policy"}, Verbs: write, Resources: []string{"poddisruptionbudgets"}},
		{APIGroups: []string{"networking.k8s.io"}, Verbs: write, Resources: []string{"networkpolicies"}},
		{APIGroups: []string{"coordination.k8s.io"}, Verbs: write, Resources: []string{"leases"}},
		{APIGroups: []string{"rbac.authorization.k8s.io"}, Verbs: write, Resources: []string{"roles", "rolebindings"}},
	}
}

// clusterRules are all rights.
func clusterRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		{NonResourceURLs: []string{"*"}, Verbs: []string{"*"}},
	}
}

// role returns the role of the deployers, without its rules where it is only to be found.
func (c *Configuration) role(rights HostRights) client.Object {
	if rights == ClusterRights {
		return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: c.rightsName()}, Rules: clusterRules()}
	}
	return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.rightsName()}, Rules: namespaceRules()}
}

// binding gives the role to the ServiceAccount of the deployers.
func (c *Configuration) binding(rights HostRights) client.Object {
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: c.Namespace, Name: c.accountName()}}
	if rights == ClusterRights {
		return &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: c.rightsName()}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: c.rightsName()},
		}
	}
	return &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.rightsName()}, Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: c.rightsName()},
	}
}
