// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// hostSecret makes a Secret beside the deployers of an environment. Other data than a kubeconfig is under the key other.
func hostSecret(t *testing.T, p *platform.Platform, namespace, name, allowed string) {
	t.Helper()
	require.NoError(t, p.Client().Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Annotations: map[string]string{v1alpha1.TargetNamespacesAnnotation: allowed},
		},
		Data: map[string][]byte{"kubeconfig": p.Kubeconfig, "other": []byte(secretMarker)},
	}))
}

// hostTarget makes a Target that refers to a Secret of the host cluster.
func hostTarget(t *testing.T, p *platform.Platform, namespace, name, environment string, ref map[string]any) {
	t.Helper()
	target := &v1alpha1.Target{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{v1alpha1.EnvironmentAnnotation: environment}},
		Spec: v1alpha1.TargetSpec{
			Type: v1alpha1.KubernetesClusterTargetType, Configuration: config(t, map[string]any{"kubeconfig": map[string]any{"secretRef": ref}}),
		},
	}
	require.NoError(t, p.Client().Create(t.Context(), target))
}

func TestSecretsOfTheHostClusterAreForItsEnvironmentOnly(t *testing.T) {
	p := platform.Shared(t)
	tenant, host := p.Namespace(t), p.Namespace(t)
	options := Options{Host: &Host{Environment: "fence", Namespace: host, Secrets: p.Client()}}
	hostSecret(t, p, host, "mine", "other, "+tenant)
	hostSecret(t, p, host, "all", "*")
	hostSecret(t, p, host, "foreign", "other")
	hostSecret(t, p, tenant, "outside", "*")
	tests := map[string]struct {
		environment string
		ref         map[string]any
		options     Options
		reason      string
		says        []string
	}{
		"named":           {environment: "fence", ref: map[string]any{"name": "mine", "namespace": host, "key": "kubeconfig"}, options: options},
		"all-namespaces":  {environment: "fence", ref: map[string]any{"name": "all"}, options: options},
		"no-host":         {environment: "fence", ref: map[string]any{"name": "mine"}, reason: ReasonInvalid, says: []string{"no longer supported", "spec.secretRef"}},
		"not-environment": {environment: "other", ref: map[string]any{"name": "mine"}, options: options, reason: ReasonInvalid, says: []string{`environment "fence" only`}},
		"not-allowed": {
			environment: "fence", ref: map[string]any{"name": "foreign"}, options: options, reason: ReasonContentMissing,
			says: []string{v1alpha1.TargetNamespacesAnnotation, "no Secret " + host + "/foreign"},
		},
		"absent": {
			environment: "fence", ref: map[string]any{"name": "absent"}, options: options, reason: ReasonContentMissing,
			says: []string{v1alpha1.TargetNamespacesAnnotation, "no Secret " + host + "/absent"},
		},
		"other-namespace": {
			environment: "fence", ref: map[string]any{"name": "outside", "namespace": tenant}, options: options, reason: ReasonInvalid,
			says: []string{"secretRef.namespace", host},
		},
		"no-name":    {environment: "fence", ref: map[string]any{}, options: options, reason: ReasonInvalid, says: []string{"secretRef.name"}},
		"wrong-type": {environment: "fence", ref: map[string]any{"name": 7}, options: options, reason: ReasonInvalid, says: []string{"cannot be read"}},
		"no-key":     {environment: "fence", ref: map[string]any{"name": "mine", "key": "absent"}, options: options, reason: ReasonContentMissing, says: []string{`no key "absent"`}},
		"not-a-kubeconfig": {
			environment: "fence", ref: map[string]any{"name": "mine", "key": "other"}, options: options, reason: ReasonInvalid, says: []string{"the content"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			hostTarget(t, p, tenant, name, test.environment, test.ref)
			cluster, err := open(t, p, newClients(t, p, test.options), tenant, name)
			if test.reason == "" {
				require.NoError(t, err)
				requireReaches(t, cluster, tenant)
				return
			}
			var problem *Error
			require.ErrorAs(t, err, &problem)
			assert.Equal(t, test.reason, problem.Reason)
			for _, part := range test.says {
				assert.ErrorContains(t, err, part)
			}
			assert.NotContains(t, err.Error(), secretMarker)
		})
	}
}

func TestRotatedSecretOfTheHostClusterIsUsed(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	clients := newClients(t, p, Options{Host: &Host{Environment: "fence", Namespace: namespace, Secrets: p.Client()}})
	hostSecret(t, p, namespace, "access", "*")
	hostTarget(t, p, namespace, "cluster", "fence", map[string]any{"name": "access"})
	before, err := open(t, p, clients, namespace, "cluster")
	require.NoError(t, err)
	user, err := p.NewUser("next", "system:masters")
	require.NoError(t, err)
	next, err := platform.KubeconfigFor(user)
	require.NoError(t, err)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "access"}}
	require.NoError(t, p.Client().Get(t.Context(), client.ObjectKeyFromObject(secret), secret))
	secret.Data["kubeconfig"] = next
	require.NoError(t, p.Client().Update(t.Context(), secret))
	after, err := open(t, p, clients, namespace, "cluster")
	require.NoError(t, err)
	assert.NotSame(t, before.Config, after.Config)
	assert.Equal(t, "next", userOn(t, after))
}

func TestOtherContentsDoNotReachTheHostCluster(t *testing.T) {
	for name, raw := range map[string]string{
		"kubeconfig":            "apiVersion: v1\nclusters: []\n",
		"text":                  `{"kubeconfig": "a: b"}`,
		"object":                `{"kubeconfig": {"clusters": [], "secretRef": {"name": "a"}}}`,
		"selfConfig":            `{"selfConfig": {"serviceAccount": {"name": "a"}}}`,
		"no object":             `[]`,
		"nothing that is known": `top-secret-value`,
	} {
		t.Run(name, func(t *testing.T) {
			ref, err := referenceIn([]byte(raw))
			require.NoError(t, err)
			assert.Nil(t, ref)
		})
	}
}
