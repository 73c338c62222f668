// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// namespaceRules are what charts of deployers need in the namespace of the deployers. Nothing of it reaches beyond, and roles that a chart brings
// can grant no more than this.
func namespaceRules() []rbacv1.PolicyRule {
	write := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Verbs: write, Resources: []string{"configmaps", "secrets", "services", "serviceaccounts", "persistentvolumeclaims"}},
		// Theirs alone: charts that would make it look for it.
		{APIGroups: []string{""}, Verbs: []string{"get"}, Resources: []string{"namespaces"}},
		// The container deployer makes Pods as it goes.
		{APIGroups: []string{""}, Verbs: []string{"get", "list", "watch", "create", "patch", "delete"}, Resources: []string{"pods"}},
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

// rights returns the role and the binding by which the deployers have their rights, by their names only.
func (c *Configuration) rights(rights HostRights) []client.Object {
	name := metav1.ObjectMeta{Name: c.rightsName()}
	if rights == ClusterRights {
		return []client.Object{&rbacv1.ClusterRole{ObjectMeta: name}, &rbacv1.ClusterRoleBinding{ObjectMeta: name}}
	}
	name.Namespace = c.Namespace
	return []client.Object{&rbacv1.Role{ObjectMeta: name}, &rbacv1.RoleBinding{ObjectMeta: name}}
}

// grant sets what one of the rights has to say. The role of a binding is set where there is none.
func (c *Configuration) grant(object client.Object) {
	switch o := object.(type) {
	case *rbacv1.Role:
		o.Rules = namespaceRules()
	case *rbacv1.ClusterRole:
		o.Rules = clusterRules()
	case *rbacv1.RoleBinding:
		o.Subjects, o.RoleRef.APIGroup = c.subjects(), rbacv1.GroupName
		o.RoleRef.Kind, o.RoleRef.Name = cmp.Or(o.RoleRef.Kind, "Role"), cmp.Or(o.RoleRef.Name, c.rightsName())
	case *rbacv1.ClusterRoleBinding:
		o.Subjects, o.RoleRef.APIGroup = c.subjects(), rbacv1.GroupName
		o.RoleRef.Kind, o.RoleRef.Name = cmp.Or(o.RoleRef.Kind, "ClusterRole"), cmp.Or(o.RoleRef.Name, c.rightsName())
	}
}

// isGranted reports whether a binding is one of this agent. Roles are told apart by their bindings.
func (c *Configuration) isGranted(object client.Object) bool {
	switch o := object.(type) {
	case *rbacv1.RoleBinding:
		return equality.Semantic.DeepEqual(o.Subjects, c.subjects())
	case *rbacv1.ClusterRoleBinding:
		return equality.Semantic.DeepEqual(o.Subjects, c.subjects())
	}
	return true
}

func (c *Configuration) subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: c.Namespace, Name: c.accountName()}}
}

// other returns the other kind of rights.
func (r HostRights) other() HostRights {
	if r == ClusterRights {
		return NamespaceRights
	}
	return ClusterRights
}
