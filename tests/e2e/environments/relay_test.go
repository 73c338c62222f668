// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/relay"
)

// mayReach reports whether a deployer gets through the API server to a Service.
func (s *stage) mayReach(deployer client.Client, namespace, service string) bool {
	s.t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "services", Subresource: "proxy", Namespace: namespace, Name: service},
	}}
	require.NoError(s.t, deployer.Create(s.ctx, review))
	return review.Status.Allowed
}

// requestToken asks for a token of a ServiceAccount of the stage.
func (s *stage) requestToken(deployer client.Client, name string) error {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{relay.Audience}}}
	return deployer.SubResource("token").Create(s.ctx, &corev1.ServiceAccount{ObjectMeta: s.named(name)}, request)
}

func TestDeployersWithSourcesGetToTheContentRelay(t *testing.T) {
	s := newStage(t, func(s *stage) { s.relay = s.p.Namespace(t) })
	env := s.env("east", in(s.namespace))
	s.create(env, deployer("helm"), deployer("manifest"))
	s.triggered("helm-east")
	s.triggered("manifest-east")
	helm, manifest := s.asDeployer("helm-east"), s.asDeployer("manifest-east")

	assert.True(t, s.mayReach(helm, s.relay, relay.ProxyName("landscaper-relay")))
	assert.False(t, s.mayReach(helm, s.relay, relay.ProxyName("another")))
	assert.False(t, s.mayReach(helm, s.namespace, relay.ProxyName("landscaper-relay")))
	assert.False(t, s.mayReach(manifest, s.relay, relay.ProxyName("landscaper-relay")), "it has no content")

	require.NoError(t, s.requestToken(helm, "helm-east"))
	assert.True(t, apierrors.IsForbidden(s.requestToken(helm, "manifest-east")), "a token of another deployer")
	assert.True(t, apierrors.IsForbidden(s.requestToken(manifest, "manifest-east")))
	s.requireSteady()
}

func TestRightsForTheContentRelayComeBackAndGo(t *testing.T) {
	s := newStage(t, func(s *stage) { s.relay = s.p.Namespace(t) })
	env := s.env("east", in(s.namespace))
	registration := deployer("helm")
	s.create(env, registration)
	s.succeed("helm-east")
	role := &rbacv1.Role{ObjectMeta: s.named("helm-east-content-relay")}
	until(s, role, func(*rbacv1.Role) bool { return true })
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.relay, Name: "helm-east-content-relay"}}
	until(s, binding, func(*rbacv1.RoleBinding) bool { return true })

	require.NoError(t, s.client.Delete(s.ctx, binding.DeepCopy()))
	uid := binding.UID
	until(s, binding, func(b *rbacv1.RoleBinding) bool { return b.UID != uid })

	require.NoError(t, s.client.Delete(s.ctx, registration))
	s.uninstall("helm-east")
	s.gone(binding)
	s.gone(role)
}

func TestWithoutContentRelayNobodyGetsRightsForIt(t *testing.T) {
	s := newStage(t)
	s.create(s.env("east", in(s.namespace)), deployer("helm"))
	s.triggered("helm-east")
	assert.True(t, apierrors.IsForbidden(s.requestToken(s.asDeployer("helm-east"), "helm-east")))
	assert.True(t, apierrors.IsNotFound(s.client.Get(s.ctx, client.ObjectKeyFromObject(&rbacv1.Role{ObjectMeta: s.named("helm-east-content-relay")}), &rbacv1.Role{})))
}
