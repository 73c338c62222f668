// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/envsubst"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func isolated(s *stage) { s.isolated = true }

// admit applies flux/agent-access for an Environment, as an operator does it, and returns its namespace.
func (s *stage) admit(name, namespaces string) string {
	s.t.Helper()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("..", "..", "..", "flux", "agent-access"))
	require.NoError(s.t, err)
	text, err := built.AsYaml()
	require.NoError(s.t, err)
	values := map[string]string{"environment": name, "namespaces": namespaces}
	substituted, err := envsubst.Eval(string(text), func(name string) (string, bool) {
		value, isSet := values[name]
		return value, isSet
	})
	require.NoError(s.t, err)
	require.NoError(s.t, s.p.ApplyYAML(s.ctx, substituted))
	home := v1alpha1.EnvironmentNamespacePrefix + name
	s.grantHome(home)
	return home
}

// at is a stage whose pairs are looked for in the namespace of an Environment.
func (s *stage) at(namespace string) *stage {
	return &stage{t: s.t, p: s.p, ctx: s.ctx, client: s.client, namespace: namespace, events: s.events}
}

// as returns a client with a token of a ServiceAccount.
func (s *stage) as(namespace, account string) client.WithWatch {
	s.t.Helper()
	request := &authenticationv1.TokenRequest{}
	of := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}
	require.NoError(s.t, s.client.SubResource("token").Create(s.ctx, of, request))
	return s.with(request.Status.Token)
}

func (s *stage) with(token string) client.WithWatch {
	s.t.Helper()
	access := rest.AnonymousClientConfig(s.p.RestConfig)
	access.BearerToken = token
	c, err := client.NewWithWatch(access, client.Options{Scheme: s.client.Scheme(), Mapper: s.client.RESTMapper()})
	require.NoError(s.t, err)
	return c
}

// raid tries everything that somebody with the credentials of an Environment might want of others. It returns what was tried.
func (s *stage) raid(c client.WithWatch, env string, namespaces ...string) map[string]error {
	found := map[string]error{}
	list := map[string]client.ObjectList{
		"secrets": &corev1.SecretList{}, "targets": &v1alpha1.TargetList{}, "items": &v1alpha1.DeployItemList{},
		"installations": &v1alpha1.InstallationList{}, "accounts": &corev1.ServiceAccountList{}, "pods": &corev1.PodList{},
		"maps": &corev1.ConfigMapList{}, "leases": &coordinationv1.LeaseList{}, "data": &v1alpha1.DataObjectList{},
	}
	for kind, objects := range list {
		found["list all "+kind] = c.List(s.ctx, objects)
		found["watch all "+kind] = s.watch(c, objects)
	}
	for _, namespace := range namespaces {
		in := client.InNamespace(namespace)
		object := metav1.ObjectMeta{Namespace: namespace, Name: "victim"}
		for kind, objects := range list {
			found["list "+kind+" of "+namespace] = c.List(s.ctx, objects, in)
			found["watch "+kind+" of "+namespace] = s.watch(c, objects, in)
		}
		for kind, one := range map[string]client.Object{
			"secret": &corev1.Secret{ObjectMeta: object}, "target": &v1alpha1.Target{ObjectMeta: object}, "item": &v1alpha1.DeployItem{ObjectMeta: object},
			"lease": &coordinationv1.Lease{ObjectMeta: object}, "account": &corev1.ServiceAccount{ObjectMeta: object}, "pod": pod(object),
			"binding": &rbacv1.RoleBinding{ObjectMeta: object, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"}},
			"role":    &rbacv1.Role{ObjectMeta: object},
		} {
			found["get "+kind+" of "+namespace] = c.Get(s.ctx, client.ObjectKeyFromObject(one), one.DeepCopyObject().(client.Object))
			found["create "+kind+" in "+namespace] = c.Create(s.ctx, one.DeepCopyObject().(client.Object))
			found["delete "+kind+" of "+namespace] = c.Delete(s.ctx, one)
			found["patch "+kind+" of "+namespace] = c.Patch(s.ctx, one, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`)))
		}
		for _, account := range []string{"victim", "landscaper-agent-" + strings.TrimPrefix(namespace, v1alpha1.EnvironmentNamespacePrefix), "default"} {
			found["token of "+account+" in "+namespace] = c.SubResource("token").Create(s.ctx,
				&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}}, &authenticationv1.TokenRequest{})
		}
		status := &v1alpha1.DeployItem{ObjectMeta: object}
		found["status of an item of "+namespace] = c.Status().Patch(s.ctx, status, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Succeeded"}}`)))
	}
	other := &v1alpha1.Environment{ObjectMeta: metav1.ObjectMeta{Name: env}}
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"a":"b"}}}`))
	found["get another environment"] = c.Get(s.ctx, client.ObjectKeyFromObject(other), other)
	found["patch another environment"] = c.Patch(s.ctx, other, patch)
	found["status of another environment"] = c.Status().Patch(s.ctx, other, patch)
	found["delete another environment"] = c.Delete(s.ctx, other)
	found["create an environment"] = c.Create(s.ctx, s.env("conquered"))
	found["list environments"] = c.List(s.ctx, &v1alpha1.EnvironmentList{})
	found["create a registration"] = c.Create(s.ctx, deployer("conquered"))
	found["create a namespace"] = c.Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ls-env-conquered"}})
	found["bind cluster-admin"] = c.Create(s.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "conquered"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
	})
	return found
}

func pod(meta metav1.ObjectMeta) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: meta, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
}

func (s *stage) watch(c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	stream, err := c.Watch(s.ctx, list, options...)
	if err == nil {
		stream.Stop()
	}
	return err
}

// impersonating is the client of somebody who pretends to be another one.
func (s *stage) impersonating(token, user string) client.Client {
	s.t.Helper()
	access := rest.AnonymousClientConfig(s.p.RestConfig)
	access.BearerToken, access.Impersonate.UserName = token, user
	c, err := client.New(access, client.Options{Scheme: s.client.Scheme(), Mapper: s.client.RESTMapper()})
	require.NoError(s.t, err)
	return c
}

// furnish puts something to steal into a namespace.
func (s *stage) furnish(namespace string) {
	s.t.Helper()
	object := metav1.ObjectMeta{Namespace: namespace, Name: "victim"}
	s.create(&corev1.Secret{ObjectMeta: object}, &corev1.ServiceAccount{ObjectMeta: object}, &coordinationv1.Lease{ObjectMeta: object},
		&v1alpha1.Target{ObjectMeta: object, Spec: v1alpha1.TargetSpec{Type: "x"}}, &v1alpha1.DeployItem{ObjectMeta: object, Spec: v1alpha1.DeployItemSpec{Type: "x"}})
}

func TestNothingOfOthersIsReachedWithTheCredentialsOfAnEnvironment(t *testing.T) {
	s := newStage(t, isolated)
	shop, tenant := s.p.Namespace(t), s.p.Namespace(t)
	hostile, victim := s.admit("hostile", shop), s.admit("prey", tenant)
	s.create(s.env("hostile"), s.env("prey"), deployer("helm", v1alpha1.HelmDeployItemType), deployer("container", v1alpha1.ContainerDeployItemType))
	for _, pair := range []string{"helm", "container"} {
		s.at(hostile).triggered(pair + "-hostile")
		s.at(victim).triggered(pair + "-prey")
	}
	for _, namespace := range []string{shop, tenant, victim, s.namespace} {
		s.furnish(namespace)
	}
	identities := map[string]string{"helm": s.at(hostile).token("helm-hostile"), "container": s.at(hostile).token("container-hostile")}
	request := &authenticationv1.TokenRequest{}
	agent := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: hostile, Name: "landscaper-agent-hostile"}}
	require.NoError(t, s.client.SubResource("token").Create(s.ctx, agent, request))
	identities["agent"] = request.Status.Token

	require.Eventually(t, func() bool {
		return s.with(identities["helm"]).List(s.ctx, &v1alpha1.DeployItemList{}, client.InNamespace(shop)) == nil &&
			s.with(identities["agent"]).List(s.ctx, &v1alpha1.DeployItemList{}, client.InNamespace(hostile)) == nil
	}, patience, tick, "what is theirs they have")
	for name, token := range identities {
		namespaces := []string{tenant, victim, s.namespace, "kube-system"}
		if name == "agent" {
			namespaces = append(namespaces, shop)
		}
		for tried, err := range s.raid(s.with(token), "prey", namespaces...) {
			assert.True(t, apierrors.IsForbidden(err), "%s: %s: %v", name, tried, err)
		}
		for _, user := range []string{"system:admin", "system:serviceaccount:" + victim + ":helm-prey", "system:serviceaccount:" + hostile + ":landscaper-agent-hostile"} {
			err := s.impersonating(token, user).List(s.ctx, &corev1.SecretList{})
			assert.True(t, apierrors.IsForbidden(err) && strings.Contains(err.Error(), "impersonate"), "%s as %s: %v", name, user, err)
		}
	}
	assert.True(t, apierrors.IsForbidden(s.with(identities["agent"]).Get(s.ctx, client.ObjectKey{Namespace: hostile, Name: "any"}, &corev1.Secret{})))
	assert.True(t, apierrors.IsForbidden(s.with(identities["agent"]).SubResource("token").Create(s.ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: hostile, Name: "helm-hostile"}}, &authenticationv1.TokenRequest{})))
}

// Otherwise the deployers of the landscaper cluster would carry out what somebody behind a fence thinks up.
func TestNobodyOfAnEnvironmentChangesWhatADeployItemSays(t *testing.T) {
	s := newStage(t, isolated)
	shop := s.p.Namespace(t)
	home := s.admit("reader", shop)
	s.create(s.env("reader"), deployer("mock"))
	s.at(home).triggered("mock-reader")
	for namespace, c := range map[string]client.Client{home: s.as(home, "landscaper-agent-reader"), shop: s.with(s.at(home).token("mock-reader"))} {
		item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "item"}, Spec: v1alpha1.DeployItemSpec{Type: "x"}}
		s.create(item)
		patch := func(text string) error {
			return c.Patch(s.ctx, item.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(text)))
		}
		require.Eventually(t, func() bool { return patch(`{"metadata":{"annotations":{"a":"b"}}}`) == nil }, patience, tick, "what is theirs they have")
		refused := func(spec string) bool {
			err := patch(`{"spec":` + spec + `}`)
			return err != nil && strings.Contains(err.Error(), "do not change the spec of a DeployItem")
		}
		tried := 0
		require.Eventually(t, func() bool { // the API server learns of the policy by a watch
			tried++
			return refused(fmt.Sprintf(`{"config":{"tried":%d}}`, tried)) // a change that was let through is none when it is tried again
		}, patience, tick)
		for _, spec := range []string{`{"type":"landscaper.gardener.cloud/container"}`, `{"target":{"name":"other"}}`, `{"config":{"a":"b"}}`, `{"serviceAccountName":"a"}`} {
			assert.True(t, refused(spec), spec)
		}
		require.NoError(t, c.Status().Patch(s.ctx, item.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Succeeded"}}`))))
	}
}

func TestAnAgentCannotWidenWhereItsDeployersWork(t *testing.T) {
	s := newStage(t, isolated)
	shop, tenant := s.p.Namespace(t), s.p.Namespace(t)
	home := s.admit("greedy", shop)
	env := s.env("greedy")
	s.create(env, deployer("mock"))
	installation := s.at(home).triggered("mock-greedy")
	assert.JSONEq(t, `["`+home+`","`+shop+`"]`, string(installation.Spec.ImportDataMappings["watchNamespaces"].RawMessage), "all is all that is allowed")
	s.furnish(tenant)
	c, agent := s.with(s.at(home).token("mock-greedy")), s.as(home, "landscaper-agent-greedy")
	reads := func(namespace string) error {
		return c.Get(s.ctx, client.ObjectKey{Namespace: namespace, Name: "victim"}, &corev1.Secret{})
	}
	require.Eventually(t, func() bool { return apierrors.IsNotFound(reads(shop)) }, patience, tick)
	wish := `{"spec":{"namespaces":["` + shop + `","` + tenant + `"]},"metadata":{"annotations":{"` + v1alpha1.AllowedNamespacesAnnotation + `":"*"}}}`
	require.NoError(t, agent.Patch(s.ctx, env.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(wish))))
	until(s, env, func(e *v1alpha1.Environment) bool {
		return conditions.IsStalled(e) && conditions.GetReason(e, meta.ReadyCondition) == "NamespaceNotAllowed"
	})
	assert.Contains(t, conditions.GetMessage(env, meta.ReadyCondition), "add it to the annotation "+v1alpha1.AllowedNamespacesAnnotation+" of namespace "+home)
	assert.True(t, apierrors.IsForbidden(reads(tenant)), "%v", reads(tenant))
	assert.True(t, apierrors.IsNotFound(reads(shop)), "what is allowed goes on")
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}}
	for what, err := range map[string]error{
		"the namespace itself": agent.Patch(s.ctx, space.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":null}}`))),
		"the status":           agent.Status().Patch(s.ctx, env.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(`{"status":{"namespace":"x"}}`))),
	} {
		assert.True(t, apierrors.IsForbidden(err), "%s: %v", what, err)
	}
	s.requireSteady()

	edit(s, space, func(n *corev1.Namespace) { n.Annotations[v1alpha1.AllowedNamespacesAnnotation] = shop + ", " + tenant })
	require.Eventually(t, func() bool { return reads(tenant) == nil }, patience, tick, "the operator allows it")
	edit(s, space, func(n *corev1.Namespace) { n.Annotations[v1alpha1.AllowedNamespacesAnnotation] = "" })
	require.Eventually(t, func() bool { return apierrors.IsForbidden(reads(tenant)) && apierrors.IsForbidden(reads(shop)) }, patience, tick)
}

func TestAnEnvironmentHasNothingBeforeItsNamespace(t *testing.T) {
	s := newStage(t, isolated)
	env := s.env("early")
	s.create(env, deployer("mock"))
	home := v1alpha1.EnvironmentNamespacePrefix + "early"
	until(s, env, func(e *v1alpha1.Environment) bool {
		return conditions.GetReason(e, meta.ReadyCondition) == "NamespaceMissing"
	})
	assert.Contains(t, conditions.GetMessage(env, meta.ReadyCondition), "apply flux/agent-access")
	installations := &v1alpha1.InstallationList{}
	require.NoError(t, s.client.List(s.ctx, installations, client.HasLabels{v1alpha1.DeployerRegistrationLabel}))
	assert.Empty(t, installations.Items)

	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: home}})
	until(s, env, func(e *v1alpha1.Environment) bool {
		return conditions.IsStalled(e) && conditions.GetReason(e, meta.ReadyCondition) == "NamespaceForeign"
	})
	s.requireSteady()
	s.admit("early", "*")
	at := s.at(home)
	at.triggered("mock-early")
	at.succeed("mock-early")
	at.beat("early", 45)
	at.beat("early", 45)
	until(s, env, func(e *v1alpha1.Environment) bool { return conditions.IsReady(e) && e.Status.Namespace == home })
	s.requireSteady()

	require.NoError(t, s.client.Delete(s.ctx, env))
	at.uninstall("mock-early")
	until(s, env, func(e *v1alpha1.Environment) bool { return len(e.Finalizers) == 1 })
	edit(s, env, func(e *v1alpha1.Environment) { e.Finalizers = nil })
	s.gone(env)
}

func TestAnEnvironmentStaysWhereItsDeployersAre(t *testing.T) {
	s := newStage(t)
	env := s.env("settled")
	s.create(env, deployer("mock"))
	s.triggered("mock-settled")
	until(s, env, func(e *v1alpha1.Environment) bool { return e.Status.Namespace == s.namespace })
	home := s.admit("settled", "")
	require.NoError(t, s.client.Status().Patch(s.ctx, env, client.RawPatch("application/merge-patch+json", []byte(`{"status":{"namespace":"elsewhere"}}`))))
	until(s, env, func(e *v1alpha1.Environment) bool { return e.Status.Namespace == s.namespace })
	s.requireSteady()
	installations := &v1alpha1.InstallationList{}
	require.NoError(t, s.client.List(s.ctx, installations, client.InNamespace(home)))
	assert.Empty(t, installations.Items)
	require.NoError(t, s.asDeployer("mock-settled").List(s.ctx, &v1alpha1.DeployItemList{}), "what it could do it can")
}
