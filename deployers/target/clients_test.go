// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func newClients(t *testing.T, p *platform.Platform, options Options) *Clients {
	t.Helper()
	options.Landscaper = p.RestConfig
	clients, err := New(options)
	require.NoError(t, err)
	return clients
}

func createTarget(t *testing.T, p *platform.Platform, namespace, name string, spec v1alpha1.TargetSpec) {
	t.Helper()
	if spec.Type == "" {
		spec.Type = v1alpha1.KubernetesClusterTargetType
	}
	target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
	require.NoError(t, p.Client().Create(t.Context(), target))
}

func config(t *testing.T, value any) *v1alpha1.AnyJSON {
	t.Helper()
	raw, err := json.Marshal(value)
	require.NoError(t, err)
	return &v1alpha1.AnyJSON{RawMessage: raw}
}

func open(t *testing.T, p *platform.Platform, clients *Clients, namespace, name string) (*Cluster, error) {
	t.Helper()
	return clients.Open(t.Context(), p.Client(), p.Client(), namespace, name, Actor{})
}

func requireReaches(t *testing.T, cluster *Cluster, namespace string) {
	t.Helper()
	require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}))
}

func TestOpenReachesTheCluster(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cluster"}, Data: map[string][]byte{"kubeconfig": p.Kubeconfig},
	}
	require.NoError(t, p.Client().Create(t.Context(), secret))
	specs := map[string]v1alpha1.TargetSpec{
		"config":      {Configuration: config(t, map[string]any{"kubeconfig": string(p.Kubeconfig)})},
		"secret-key":  {SecretRef: &v1alpha1.LocalSecretReference{Name: "cluster", Key: "kubeconfig"}},
		"secret-full": {SecretRef: &v1alpha1.LocalSecretReference{Name: "cluster"}},
	}
	for name, spec := range specs {
		t.Run(name, func(t *testing.T) {
			createTarget(t, p, namespace, name, spec)
			cluster, err := open(t, p, newClients(t, p, Options{}), namespace, name)
			require.NoError(t, err)
			assert.Equal(t, name, cluster.Name)
			requireReaches(t, cluster, namespace)
		})
	}
}

func TestTargetsWithTheSameContentShareOneConnection(t *testing.T) {
	p := platform.Shared(t)
	namespace, clients := p.Namespace(t), newClients(t, p, Options{})
	content := v1alpha1.TargetSpec{Configuration: config(t, map[string]any{"kubeconfig": string(p.Kubeconfig)})}
	createTarget(t, p, namespace, "one", content)
	createTarget(t, p, namespace, "two", content)
	one, err := open(t, p, clients, namespace, "one")
	require.NoError(t, err)
	two, err := open(t, p, clients, namespace, "two")
	require.NoError(t, err)
	assert.Same(t, one.Config, two.Config)
	assert.Equal(t, "two", two.Name)
}

func TestOldConnectionsAreDropped(t *testing.T) {
	p := platform.Shared(t)
	namespace, clients := p.Namespace(t), newClients(t, p, Options{MaxClusters: 1})
	createTarget(t, p, namespace, "one", v1alpha1.TargetSpec{Configuration: config(t, map[string]any{"kubeconfig": string(p.Kubeconfig)})})
	createTarget(t, p, namespace, "two", v1alpha1.TargetSpec{Configuration: config(t, map[string]any{"kubeconfig": string(p.Kubeconfig) + "\n"})})
	first, err := open(t, p, clients, namespace, "one")
	require.NoError(t, err)
	_, err = open(t, p, clients, namespace, "two")
	require.NoError(t, err)
	again, err := open(t, p, clients, namespace, "one")
	require.NoError(t, err)
	assert.NotSame(t, first.Config, again.Config)
	assert.Equal(t, 1, clients.opened.Len())
	requireReaches(t, first, namespace)
}

func TestLargeContentsOpenFewClusters(t *testing.T) {
	p := platform.Shared(t)
	clients := newClients(t, p, Options{MaxClusters: 16})
	for i := range 16 {
		content := append(append([]byte{}, p.Kubeconfig...), strings.Repeat("\n", 60<<10+i)...)
		parsed, err := parseContent(content)
		require.NoError(t, err)
		_, err = clients.connection("n", "", parsed, content)
		require.NoError(t, err)
	}
	assert.LessOrEqual(t, clients.opened.Len(), 5)
	assert.NotZero(t, clients.opened.Len())
}

func TestOpenErrors(t *testing.T) {
	p := platform.Shared(t)
	namespace, clients := p.Namespace(t), newClients(t, p, Options{})
	require.NoError(t, p.Client().Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "empty"}, StringData: map[string]string{"bad": "a: [top-secret-value"},
	}))
	tests := map[string]struct {
		spec   *v1alpha1.TargetSpec
		reason string
		says   []string
	}{
		"missing":        {nil, ReasonNotFound, []string{`Target "missing"`, "create it"}},
		"other-type":     {&v1alpha1.TargetSpec{Type: "example.com/account"}, ReasonInvalid, []string{"spec.type", v1alpha1.KubernetesClusterTargetType}},
		"no-content":     {&v1alpha1.TargetSpec{}, ReasonInvalid, []string{"spec.secretRef"}},
		"no-secret":      {&v1alpha1.TargetSpec{SecretRef: &v1alpha1.LocalSecretReference{Name: "absent"}}, ReasonContentMissing, []string{`Secret "absent"`}},
		"no-key":         {&v1alpha1.TargetSpec{SecretRef: &v1alpha1.LocalSecretReference{Name: "empty", Key: "k"}}, ReasonContentMissing, []string{`key "k"`}},
		"broken-secret":  {&v1alpha1.TargetSpec{SecretRef: &v1alpha1.LocalSecretReference{Name: "empty"}}, ReasonInvalid, []string{`key "bad"`}},
		"broken-content": {&v1alpha1.TargetSpec{Configuration: config(t, map[string]any{"kubeconfig": 7})}, ReasonInvalid, []string{`Target "broken-content"`, "kubeconfig"}},
		"no-account": {
			&v1alpha1.TargetSpec{Configuration: config(t, map[string]any{"selfConfig": map[string]any{"serviceAccount": map[string]any{"name": "absent"}}})},
			ReasonTokenRequest, []string{`ServiceAccount "absent"`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.spec != nil {
				createTarget(t, p, namespace, name, *test.spec)
			}
			_, err := open(t, p, clients, namespace, name)
			var problem *Error
			require.ErrorAs(t, err, &problem)
			assert.Equal(t, test.reason, problem.Reason)
			assert.Equal(t, test.reason == ReasonInvalid, len(problem.Codes) == 1, "only refusals carry ERR_CONFIGURATION_PROBLEM")
			for _, part := range test.says {
				assert.ErrorContains(t, err, part)
			}
			assert.NotContains(t, err.Error(), secretMarker)
		})
	}
}

// newAccount creates a ServiceAccount that may read namespaces.
func newAccount(t *testing.T, p *platform.Platform, namespace string) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "worker", Annotations: map[string]string{v1alpha1.TargetTokensAnnotation: "oidcConfig, selfConfig"},
	}}
	require.NoError(t, p.Client().Create(t.Context(), account))
	require.NoError(t, p.Client().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "worker"}},
	}))
}

func TestTokenTargetsActAsTheirServiceAccount(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	newAccount(t, p, namespace)
	account := map[string]any{"name": "worker"}
	forms := map[string]any{
		"self": map[string]any{"selfConfig": map[string]any{"serviceAccount": account}},
		"oidc": map[string]any{"oidcConfig": map[string]any{
			"server": p.RestConfig.Host, "caData": p.RestConfig.CAData, "serviceAccount": account, "expirationSeconds": 7200,
		}},
	}
	for name, content := range forms {
		t.Run(name, func(t *testing.T) {
			createTarget(t, p, namespace, name, v1alpha1.TargetSpec{Configuration: config(t, content)})
			cluster, err := open(t, p, newClients(t, p, Options{LegacyTokens: name == "oidc"}), namespace, name)
			require.NoError(t, err)
			since := time.Now()
			requireReaches(t, cluster, namespace)
			requests, err := p.Requests(t.Context(), since)
			require.NoError(t, err)
			var users []string
			for _, request := range requests {
				if request.Resource == "namespaces" && request.Name == namespace {
					users = append(users, request.User)
				}
			}
			assert.Equal(t, []string{"system:serviceaccount:" + namespace + ":worker"}, users)
			assert.Contains(t, string(cluster.Kubeconfig), "token:")
		})
	}
}

func TestTokensAreRequestedOnce(t *testing.T) {
	p := platform.Shared(t)
	namespace, clients := p.Namespace(t), newClients(t, p, Options{})
	newAccount(t, p, namespace)
	createTarget(t, p, namespace, "self", v1alpha1.TargetSpec{
		Configuration: config(t, map[string]any{"selfConfig": map[string]any{"serviceAccount": map[string]any{"name": "worker"}}}),
	})
	since := time.Now()
	for range 3 {
		cluster, err := open(t, p, clients, namespace, "self")
		require.NoError(t, err)
		requireReaches(t, cluster, namespace)
	}
	assert.Equal(t, 1, tokenRequests(t, p, namespace, since))
}

func TestTokensAreRenewedBeforeTheyExpire(t *testing.T) {
	p := platform.Shared(t)
	namespace, clients := p.Namespace(t), newClients(t, p, Options{})
	newAccount(t, p, namespace)
	source := clients.tokens(namespace, serviceAccount{Name: "worker"}, nil, nil)
	first, err := source.get(t.Context())
	require.NoError(t, err)
	assert.WithinDuration(t, time.Now().Add(time.Hour*4/5), source.renewAt, time.Minute)
	source.renewAt = time.Now()
	since := time.Now()
	second, err := source.get(t.Context())
	require.NoError(t, err)
	assert.NotEmpty(t, first)
	assert.NotEmpty(t, second)
	assert.Equal(t, 1, tokenRequests(t, p, namespace, since))
}

func TestRejectedTokenIsReplaced(t *testing.T) {
	p := platform.Shared(t)
	namespace, clients := p.Namespace(t), newClients(t, p, Options{})
	newAccount(t, p, namespace)
	createTarget(t, p, namespace, "self", v1alpha1.TargetSpec{
		Configuration: config(t, map[string]any{"selfConfig": map[string]any{"serviceAccount": map[string]any{"name": "worker"}}}),
	})
	cluster, err := open(t, p, clients, namespace, "self")
	require.NoError(t, err)
	target := &v1alpha1.Target{}
	require.NoError(t, p.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "self"}, target))
	connection, err := clients.connectionOf(t.Context(), p.Client(), target, Actor{})
	require.NoError(t, err)
	connection.tokens.current = "expired"
	err = cluster.Client.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{})
	require.True(t, apierrors.IsUnauthorized(err), "%v", err)
	requireReaches(t, cluster, namespace)
}

func tokenRequests(t *testing.T, p *platform.Platform, namespace string, since time.Time) int {
	t.Helper()
	requests, err := p.Requests(t.Context(), since)
	require.NoError(t, err)
	count := 0
	for _, request := range requests {
		if request.Subresource == "token" && request.Namespace == namespace {
			count++
		}
	}
	return count
}

func TestMapperLearnsNewKinds(t *testing.T) {
	p := platform.Shared(t)
	namespace, clients := p.Namespace(t), newClients(t, p, Options{})
	createTarget(t, p, namespace, "cluster", v1alpha1.TargetSpec{Configuration: config(t, map[string]any{"kubeconfig": string(p.Kubeconfig)})})
	cluster, err := open(t, p, clients, namespace, "cluster")
	require.NoError(t, err)
	kind := schema.GroupVersionKind{Group: namespace + ".example.com", Version: "v1", Kind: "Lesson"}
	lesson := &unstructured.Unstructured{}
	lesson.SetGroupVersionKind(kind)
	lesson.SetName("first")
	lesson.SetNamespace(namespace)
	_, err = cluster.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
	require.Error(t, err)

	definition := lessonDefinition(kind)
	require.NoError(t, p.Client().Create(t.Context(), definition))
	require.NoError(t, p.Await(t.Context(), definition, func() bool {
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true
			}
		}
		return false
	}))
	require.Eventually(t, func() bool { return cluster.Client.Create(t.Context(), lesson.DeepCopy()) == nil }, pace.Within(10*time.Second), 50*time.Millisecond)
}

func lessonDefinition(kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "lessons." + kind.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "lessons", Singular: "lesson", Kind: kind.Kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}},
			}},
		},
	}
}
