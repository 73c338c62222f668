// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

func oidcContent(t *testing.T, p *platform.Platform, audience []string, expiration int64) *v1alpha1.AnyJSON {
	t.Helper()
	return config(t, map[string]any{"oidcConfig": map[string]any{
		"server": p.RestConfig.Host, "caData": p.RestConfig.CAData, "serviceAccount": map[string]any{"name": "worker"},
		"audience": audience, "expirationSeconds": expiration,
	}})
}

// claims are those of the token in a kubeconfig.
func claims(t *testing.T, kubeconfig []byte) (audience []string, seconds int64) {
	t.Helper()
	var content struct {
		Users []struct {
			User struct {
				Token string `json:"token"`
			} `json:"user"`
		} `json:"users"`
	}
	require.NoError(t, yaml.Unmarshal(kubeconfig, &content))
	parts := strings.Split(content.Users[0].User.Token, ".")
	require.Len(t, parts, 3)
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	require.NoError(t, err)
	var token struct {
		Audience []string `json:"aud"`
		Expires  int64    `json:"exp"`
		Issued   int64    `json:"iat"`
	}
	require.NoError(t, json.Unmarshal(raw, &token))
	return token.Audience, token.Expires - token.Issued
}

func TestT06TokensForOthersAreShortAndForAnAudience(t *testing.T) {
	p := platform.Shared(t)
	namespace, clients := p.Namespace(t), newClients(t, p, Options{})
	newAccount(t, p, namespace)
	createTarget(t, p, namespace, "oidc", v1alpha1.TargetSpec{Configuration: oidcContent(t, p, []string{"https://other.example.com"}, 31536000)})
	cluster, err := open(t, p, clients, namespace, "oidc")
	require.NoError(t, err)
	audience, seconds := claims(t, cluster.Kubeconfig)
	assert.Equal(t, []string{"https://other.example.com"}, audience)
	assert.EqualValues(t, 3600, seconds)
}

func TestT06TokensOfTheLandscaperClusterStayThere(t *testing.T) {
	p := platform.Shared(t)
	namespace, clients := p.Namespace(t), newClients(t, p, Options{})
	newAccount(t, p, namespace)
	own := ownAudience(t, p, namespace)
	for name, audience := range map[string][]string{"own": {own}, "both": {"https://other.example.com", own}, "none": nil} {
		createTarget(t, p, namespace, name, v1alpha1.TargetSpec{Configuration: oidcContent(t, p, audience, 3600)})
		_, err := open(t, p, clients, namespace, name)
		require.ErrorContains(t, err, "an audience that only the server of the Target accepts", name)
	}
	createTarget(t, p, namespace, "legacy", v1alpha1.TargetSpec{Configuration: oidcContent(t, p, nil, 7200)})
	cluster, err := open(t, p, newClients(t, p, Options{LegacyTokens: true}), namespace, "legacy")
	require.NoError(t, err)
	audience, seconds := claims(t, cluster.Kubeconfig)
	assert.Equal(t, []string{own}, audience)
	assert.EqualValues(t, 7200, seconds)
}

// ownAudience is the audience of the API server.
func ownAudience(t *testing.T, p *platform.Platform, namespace string) string {
	t.Helper()
	createTarget(t, p, namespace, "self-audience", v1alpha1.TargetSpec{
		Configuration: config(t, map[string]any{"selfConfig": map[string]any{"serviceAccount": map[string]any{"name": "worker"}, "expirationSeconds": 86400}}),
	})
	cluster, err := open(t, p, newClients(t, p, Options{}), namespace, "self-audience")
	require.NoError(t, err)
	audience, seconds := claims(t, cluster.Kubeconfig)
	require.Len(t, audience, 1)
	assert.EqualValues(t, 3600, seconds, "tokens of selfConfig are short, too")
	return audience[0]
}

func TestT06ServiceAccountsAllowTheirUse(t *testing.T) {
	p := platform.Shared(t)
	namespace := p.Namespace(t)
	newAccount(t, p, namespace)
	account := &corev1.ServiceAccount{}
	require.NoError(t, p.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "worker"}, account))
	createTarget(t, p, namespace, "oidcconfig", v1alpha1.TargetSpec{Configuration: oidcContent(t, p, []string{"https://other.example.com"}, 3600)})
	createTarget(t, p, namespace, "selfconfig", v1alpha1.TargetSpec{
		Configuration: config(t, map[string]any{"selfConfig": map[string]any{"serviceAccount": map[string]any{"name": "worker"}}}),
	})
	for annotation, allowed := range map[string][]string{
		"": nil, "true": nil, "oidcConfig": {"oidcConfig"}, "selfConfig": {"selfConfig"}, "selfConfig,oidcConfig": {"oidcConfig", "selfConfig"},
	} {
		account.Annotations = map[string]string{v1alpha1.TargetTokensAnnotation: annotation}
		require.NoError(t, p.Client().Update(t.Context(), account))
		var opened []string
		for _, form := range []string{"oidcConfig", "selfConfig"} {
			_, err := open(t, p, newClients(t, p, Options{}), namespace, strings.ToLower(form))
			if err == nil {
				opened = append(opened, form)
				continue
			}
			require.ErrorContains(t, err, "annotate the ServiceAccount with "+v1alpha1.TargetTokensAnnotation+": "+form)
		}
		assert.Equal(t, allowed, opened, annotation)
	}
}
