// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// userOn returns who the API server takes requests for.
func userOn(t *testing.T, cluster *Cluster) string {
	t.Helper()
	review := &authenticationv1.SelfSubjectReview{}
	require.NoError(t, cluster.Client.Create(t.Context(), review))
	return review.Status.UserInfo.Username
}

// accountIn returns the user name of a ServiceAccount.
func accountIn(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

func TestActorGoesBeforeTargetAndTargetBeforeDefault(t *testing.T) {
	kubeconfig, self, named := &content{kubeconfig: []byte("k")}, &content{self: &selfConfig{}},
		&content{self: &selfConfig{ServiceAccount: serviceAccount{Name: "content"}}}
	defaults := Accounts{Kubeconfig: "remote", Self: "own"}
	tests := map[string]struct {
		accounts             Accounts
		content              *content
		target, actor, wants string
	}{
		"nobody":                             {content: kubeconfig},
		"default of kubeconfigs":             {accounts: defaults, content: kubeconfig, wants: "remote"},
		"default of oidcConfig":              {accounts: defaults, content: &content{oidc: &oidcConfig{}}, wants: "remote"},
		"default of selfConfig":              {accounts: defaults, content: self, wants: "own"},
		"no default where selfConfig says":   {accounts: defaults, content: named},
		"target":                             {accounts: defaults, content: kubeconfig, target: "t", wants: "t"},
		"actor":                              {accounts: defaults, content: kubeconfig, target: "t", actor: "a", wants: "a"},
		"actor where selfConfig says":        {accounts: defaults, content: named, actor: "a", wants: "a"},
		"actor of a target that says nobody": {content: self, actor: "a", wants: "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			target := &v1alpha1.Target{Spec: v1alpha1.TargetSpec{ServiceAccountName: test.target}}
			account, err := test.accounts.of(test.content, target, Actor{ServiceAccount: test.actor})
			require.NoError(t, err)
			assert.Equal(t, test.wants, account)
		})
	}
}

func TestAccountsOfOtherNamespacesAreRefused(t *testing.T) {
	p := platform.Shared(t)
	namespace, clients := p.Namespace(t), newClients(t, p, Options{})
	createTarget(t, p, namespace, "cluster", v1alpha1.TargetSpec{
		Configuration: config(t, map[string]any{"kubeconfig": string(p.Kubeconfig)}), ServiceAccountName: "kube-system:admin",
	})
	tests := map[string]struct{ actor, field string }{
		"target":                {"", "spec.serviceAccountName \"kube-system:admin\""},
		"item with a namespace": {"kube-system/admin", "spec.serviceAccountName of the DeployItem"},
		"item with a user":      {"system:serviceaccount:kube-system:admin", "spec.serviceAccountName of the DeployItem"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := clients.Open(t.Context(), p.Client(), p.Client(), namespace, "cluster", Actor{ServiceAccount: test.actor})
			var problem *Error
			require.ErrorAs(t, err, &problem)
			assert.Equal(t, ReasonInvalid, problem.Reason)
			assert.ErrorContains(t, err, test.field)
			assert.ErrorContains(t, err, "give the name alone")
		})
	}
}

func TestTargetsAreReachedAsTheAccount(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	newAccount(t, p, namespace)
	kubeconfig := map[string]any{"kubeconfig": string(p.Kubeconfig)}
	worker := map[string]any{"name": "worker"}
	oidc := map[string]any{"oidcConfig": map[string]any{"server": p.RestConfig.Host, "caData": p.RestConfig.CAData, "serviceAccount": worker}}
	named, open := map[string]any{"selfConfig": map[string]any{"serviceAccount": worker}}, map[string]any{"selfConfig": map[string]any{}}
	tests := map[string]struct {
		content       map[string]any
		target, actor string
		options       Options
		wants         string
	}{
		"kubeconfig, target":      {content: kubeconfig, target: "limited", wants: "limited"},
		"kubeconfig, item":        {content: kubeconfig, target: "limited", actor: "other", wants: "other"},
		"kubeconfig, default":     {content: kubeconfig, options: Options{Accounts: Accounts{Kubeconfig: "default"}}, wants: "default"},
		"oidcConfig, item":        {content: oidc, actor: "limited", options: Options{LegacyTokens: true}, wants: "limited"},
		"selfConfig impersonates": {content: named, actor: "limited", wants: "limited"},
		"selfConfig as itself":    {content: named, actor: "worker", options: Options{Accounts: Accounts{Self: "default"}}, wants: "worker"},
		"selfConfig, no name":     {content: named, options: Options{Accounts: Accounts{Self: "default"}}, wants: "worker"},
		"open selfConfig, item":   {content: open, actor: "worker", wants: "worker"},
		"open selfConfig, flag":   {content: open, options: Options{Accounts: Accounts{Self: "worker"}}, wants: "worker"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			target := &v1alpha1.Target{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "cluster-"},
				Spec: v1alpha1.TargetSpec{
					Type: v1alpha1.KubernetesClusterTargetType, Configuration: config(t, test.content), ServiceAccountName: test.target,
				},
			}
			require.NoError(t, p.Client().Create(t.Context(), target))
			cluster, err := newClients(t, p, test.options).Open(t.Context(), p.Client(), p.Client(), namespace, target.Name, Actor{ServiceAccount: test.actor})
			require.NoError(t, err)
			assert.Equal(t, accountIn(namespace, test.wants), userOn(t, cluster))
		})
	}
}

// Watches and discovery make requests of their own.
func TestEveryRequestIsImpersonated(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	newAccount(t, p, namespace)
	createTarget(t, p, namespace, "cluster", v1alpha1.TargetSpec{Configuration: config(t, map[string]any{
		"selfConfig": map[string]any{"serviceAccount": map[string]any{"name": "worker"}},
	}), ServiceAccountName: "limited"})
	cluster, err := open(t, p, newClients(t, p, Options{}), namespace, "cluster")
	require.NoError(t, err)
	since := time.Now()
	err = cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "unknown"}, &corev1.ConfigMap{})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	err = cluster.Follow(t.Context(), Stream{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespace: namespace},
		Handler{Opened: func() {}, Changed: func(*metav1.PartialObjectMetadata, bool) {}})
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	asks, err := cluster.DiscoveryFor(t.Context())
	require.NoError(t, err)
	_, err = asks.ServerVersion()
	require.NoError(t, err)
	requests, err := p.Requests(t.Context(), since)
	require.NoError(t, err)
	for _, request := range requests {
		if request.User == accountIn(namespace, "worker") {
			assert.Equal(t, accountIn(namespace, "limited"), request.Impersonated, "%+v", request)
		}
	}
}

func TestAccountThatMayNotBeImpersonatedIsNamed(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	require.NoError(t, p.Client().Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "weak", Annotations: map[string]string{v1alpha1.TargetTokensAnnotation: "selfConfig"},
	}}))
	createTarget(t, p, namespace, "cluster", v1alpha1.TargetSpec{Configuration: config(t, map[string]any{
		"selfConfig": map[string]any{"serviceAccount": map[string]any{"name": "weak"}},
	}), ServiceAccountName: "strong"})
	cluster, err := open(t, p, newClients(t, p, Options{}), namespace, "cluster")
	require.NoError(t, err)
	key := client.ObjectKey{Namespace: namespace, Name: "any"}
	asking := rest.CopyConfig(cluster.Config)
	asking.ContentType, asking.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf
	direct, err := client.New(asking, client.Options{Mapper: p.Client().RESTMapper()}) // has asked for nothing before
	require.NoError(t, err)
	for name, read := range map[string]func() error{
		"discovery": func() error { return cluster.Client.Get(t.Context(), key, &corev1.ConfigMap{}) },
		"protobuf":  func() error { return direct.Get(t.Context(), key, &corev1.ConfigMap{}) },
		"json":      func() error { return getConfigMap(t.Context(), cluster) },
	} {
		t.Run(name, func(t *testing.T) {
			err := read()
			require.True(t, apierrors.IsForbidden(err), "%v", err)
			assert.ErrorContains(t, err, "may not act as "+accountIn(namespace, "strong"))
			assert.ErrorContains(t, err, accountIn(namespace, "weak"))
		})
	}
}

func TestNobodyGetsTheConnectionOfAnotherAccount(t *testing.T) {
	p := platform.Shared(t)
	one, two, clients := p.Namespace(t), p.Namespace(t), newClients(t, p, Options{})
	spec := v1alpha1.TargetSpec{Configuration: config(t, map[string]any{"kubeconfig": string(p.Kubeconfig)})}
	limited := spec
	limited.ServiceAccountName = "limited"
	for _, namespace := range []string{one, two} {
		createTarget(t, p, namespace, "plain", spec)
		createTarget(t, p, namespace, "limited", limited)
	}
	opened := map[any]string{}
	for _, asked := range []struct{ namespace, target, actor string }{
		{one, "plain", ""}, {one, "limited", ""}, {two, "limited", ""}, {one, "limited", "other"}, {two, "plain", "other"},
	} {
		cluster, err := clients.Open(t.Context(), p.Client(), p.Client(), asked.namespace, asked.target, Actor{ServiceAccount: asked.actor})
		require.NoError(t, err)
		assert.Empty(t, opened[cluster.Config], "%v", asked)
		opened[cluster.Config] = asked.target
	}
	same, err := clients.Open(t.Context(), p.Client(), p.Client(), one, "plain", Actor{ServiceAccount: "limited"})
	require.NoError(t, err)
	assert.NotEmpty(t, opened[same.Config], "who acts as the same shares")
}

func TestSelfConfigNeedsAnAccount(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	createTarget(t, p, namespace, "cluster", v1alpha1.TargetSpec{Configuration: config(t, map[string]any{"selfConfig": map[string]any{}})})
	_, err := open(t, p, newClients(t, p, Options{}), namespace, "cluster")
	assert.ErrorContains(t, err, "selfConfig.serviceAccount.name is missing")
}
