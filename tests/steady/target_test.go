// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package steady

import (
	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// targetBehindDoor makes the Target of the scene behind a door, which is open.
func (s *scene) targetBehindDoor() *platform.Door {
	s.T.Helper()
	config, err := s.NewUser(s.Deployer(), landscape.AllRights...)
	require.NoError(s.T, err)
	door, err := platform.NewDoor(config)
	require.NoError(s.T, err)
	s.T.Cleanup(door.Close)
	s.targetWith(s.kubeconfig(door.Through(config)))
	return door
}

func (s *scene) kubeconfig(config *rest.Config) string {
	s.T.Helper()
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(s.T, err)
	return string(kubeconfig)
}

// targetWith makes the Target of the scene.
func (s *scene) targetWith(kubeconfig string) {
	s.T.Helper()
	s.Put("Target", "cluster", object{"spec": object{
		"type": "landscaper.gardener.cloud/kubernetes-cluster", "config": object{"kubeconfig": kubeconfig},
	}})
}

// targetWithRights makes the Target of the scene for a user who may do everything with some resources of the namespace. The function
// that it returns takes the rights away and returns what gives them back.
func (s *scene) targetWithRights(resources ...string) (revoke func() (grant func())) {
	s.T.Helper()
	config, err := s.NewUser(s.Deployer())
	require.NoError(s.T, err)
	s.targetWith(s.kubeconfig(config))
	role := &rbacv1.Role{ObjectMeta: s.Named("deployer"), Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: resources, Verbs: []string{"*"}},
	}}
	require.NoError(s.T, s.Client().Create(s.Ctx, role))
	binding := func() *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{
			ObjectMeta: s.Named("deployer"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "deployer"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: s.Deployer()}},
		}
	}
	grant := func() { require.NoError(s.T, s.Client().Create(s.Ctx, binding())) }
	grant()
	return func() func() {
		require.NoError(s.T, s.Client().Delete(s.Ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "deployer"}}))
		return grant
	}
}
