// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"time"

	"github.com/stretchr/testify/require"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

// Deployer is the user under which Targets of the scene let the deployers in, so that its requests can be told apart.
func (s *Scene) Deployer() string { return "deployer-of-" + s.Namespace }

// DeployerAccess returns a kubeconfig of the deployer for the cluster itself.
func (s *Scene) DeployerAccess() string {
	s.T.Helper()
	config, err := s.NewUser(s.Deployer(), AllRights...)
	require.NoError(s.T, err)
	return s.kubeconfig(config)
}

func (s *Scene) kubeconfig(config *rest.Config) string {
	s.T.Helper()
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(s.T, err)
	return string(kubeconfig)
}

// Target makes a Target of the cluster itself.
func (s *Scene) Target(name string) {
	s.T.Helper()
	s.targetWith(name, s.DeployerAccess())
}

// TargetOf makes a Target with the access of a user.
func (s *Scene) TargetOf(name string, config *rest.Config) {
	s.T.Helper()
	s.targetWith(name, s.kubeconfig(config))
}

func (s *Scene) targetWith(name, kubeconfig string) {
	s.T.Helper()
	s.Put("Target", name, map[string]any{"spec": map[string]any{
		"type": "landscaper.gardener.cloud/kubernetes-cluster", "config": map[string]any{"kubeconfig": kubeconfig},
	}})
}

// TargetBehindDoor makes a Target with the access of a user behind a door, which is open.
func (s *Scene) TargetBehindDoor(name string, config *rest.Config) *faults.Door {
	s.T.Helper()
	door, err := faults.NewDoor(config)
	require.NoError(s.T, err)
	s.T.Cleanup(door.Close)
	s.TargetOf(name, door.Through(config))
	return door
}

// LimitedDeployer makes the deployer a user who may do everything with some resources of the namespace, and nothing else. The function that
// it returns takes these rights away and returns what gives them back.
func (s *Scene) LimitedDeployer(resources ...string) (config *rest.Config, revoke func() (grant func())) {
	s.T.Helper()
	config, err := s.NewUser(s.Deployer())
	require.NoError(s.T, err)
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
	grant := func() {
		require.NoError(s.T, s.Client().Create(s.Ctx, binding()))
		s.awaitRight(resources[0], true)
	}
	grant()
	return config, func() func() {
		require.NoError(s.T, s.Client().Delete(s.Ctx, binding()))
		s.awaitRight(resources[0], false)
		return grant
	}
}

// awaitRight waits until the API server lets the deployer delete a resource, or does not any more.
func (s *Scene) awaitRight(resource string, allowed bool) {
	s.T.Helper()
	what := authorizationv1.ResourceAttributes{Namespace: s.Namespace, Verb: "delete", Resource: resource}
	require.Eventually(s.T, func() bool {
		may, err := platform.May(s.Ctx, s.Client(), s.Deployer(), what)
		return err == nil && may == allowed
	}, Patience, 10*time.Millisecond)
}
