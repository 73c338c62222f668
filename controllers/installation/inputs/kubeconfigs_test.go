// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientcmdv1 "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// gardenAnswer is what a garden cluster answers.
const gardenAnswer = `{"kind": "AdminKubeconfigRequest", "status": {"kubeconfig": "YXBpVmVyc2lvbjogdjE=", "expirationTimestamp": "2030-01-02T03:04:05Z"}}`

// garden serves one answer over TLS and notes the last request.
func garden(t *testing.T, code int, answer string, seen *http.Request, body *string) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		*seen, *body = *r, string(content)
		if code == http.StatusTemporaryRedirect {
			w.Header().Set("Location", "https://127.0.0.1:1/")
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server
}

// gardenTarget is the Target of a server as templates see it.
func gardenTarget(server *httptest.Server) map[string]any {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	kubeconfig, err := json.Marshal(clientcmdv1.Config{
		CurrentContext: "c", Contexts: []clientcmdv1.NamedContext{{Name: "c", Context: clientcmdv1.Context{Cluster: "c", AuthInfo: "u"}}},
		Clusters:  []clientcmdv1.NamedCluster{{Name: "c", Cluster: clientcmdv1.Cluster{Server: server.URL, CertificateAuthorityData: authority}}},
		AuthInfos: []clientcmdv1.NamedAuthInfo{{Name: "u", AuthInfo: clientcmdv1.AuthInfo{Token: "of-the-target"}}},
	})
	if err != nil {
		panic(err)
	}
	return targetWith(map[string]any{"kubeconfig": string(kubeconfig)})
}

func targetWith(config map[string]any) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"name": "garden", "namespace": "elsewhere"},
		"spec":     map[string]any{"type": v1alpha1.KubernetesClusterTargetType, "config": config},
	}
}

func newIssuer(t *testing.T) *Issuer {
	t.Helper()
	return issuerWith(t, target.Options{})
}

func issuerWith(t *testing.T, options target.Options) *Issuer {
	t.Helper()
	clusters, err := target.New(options)
	require.NoError(t, err)
	inst := &v1alpha1.Installation{}
	inst.Name, inst.Namespace, inst.UID = "inst", "ns", "uid"
	return &Issuer{inst: inst, clusters: clusters, issued: &issuedCache{}}
}

func TestShootAdminKubeconfigAsksTheGarden(t *testing.T) {
	var seen http.Request
	var body string
	server := garden(t, http.StatusCreated, gardenAnswer, &seen, &body)
	issued, err := newIssuer(t).shootAdminKubeconfig(t.Context(), "shoot", "project", 600, gardenTarget(server))
	require.NoError(t, err)
	assert.Equal(t, "apiVersion: v1", string(issued.Content))
	assert.Equal(t, "2030-01-02T03:04:05Z", issued.Expiration.UTC().Format("2006-01-02T15:04:05Z07:00"))
	assert.Equal(t, http.MethodPost, seen.Method)
	assert.Equal(t, "/apis/core.gardener.cloud/v1beta1/namespaces/project/shoots/shoot/adminkubeconfig", seen.URL.Path)
	assert.Equal(t, "Bearer of-the-target", seen.Header.Get("Authorization"), "with the credentials of the Target")
	assert.JSONEq(t, `{"apiVersion":"authentication.gardener.cloud/v1alpha1","kind":"AdminKubeconfigRequest","spec":{"expirationSeconds":600}}`, body)
}

func TestOneJobGetsTheSameKubeconfigAgain(t *testing.T) {
	var seen http.Request
	var body string
	server := garden(t, http.StatusCreated, gardenAnswer, &seen, &body)
	i := newIssuer(t)
	for _, job := range []string{"one", "one", "two"} {
		i.inst.Status.JobID = job
		seen.Method = ""
		_, err := i.shootAdminKubeconfig(t.Context(), "shoot", "project", 600, gardenTarget(server))
		require.NoError(t, err)
		if job == "one" && i.issued.entries().Len() == 1 {
			continue
		}
		assert.Equal(t, http.MethodPost, seen.Method, "another job asks again")
	}
	assert.Equal(t, 2, i.issued.entries().Len())
}

func TestIssuerFailures(t *testing.T) {
	for name, c := range map[string]struct {
		code       int
		answer     string
		unanswered bool
		message    string
	}{
		"forbidden":     {http.StatusForbidden, `{"kind":"Status","message":"user may not"}`, false, "403 user may not"},
		"unavailable":   {http.StatusServiceUnavailable, "", true, "503"},
		"redirect":      {http.StatusTemporaryRedirect, "", false, "redirects"},
		"foreign error": {http.StatusForbidden, `{"message":"secret"}`, false, "403 Forbidden"},
		"no JSON":       {http.StatusOK, "<html>", false, "not the Kubernetes object that it was asked for"},
		"endless words": {http.StatusOK, strings.Repeat(" ", 2<<20) + "{}", false, "not the Kubernetes object"},
	} {
		t.Run(name, func(t *testing.T) {
			var seen http.Request
			var body string
			i := newIssuer(t)
			_, err := i.shootAdminKubeconfig(t.Context(), "shoot", "project", 600, gardenTarget(garden(t, c.code, c.answer, &seen, &body)))
			require.ErrorContains(t, err, c.message)
			assert.Equal(t, c.unanswered, i.Unanswered != nil)
		})
	}
}

func TestIssuerRefusesTargets(t *testing.T) {
	for name, c := range map[string]struct {
		given   any
		message string
	}{
		"no target":        {map[string]any{"a": 1}, "not a Target"},
		"a text":           {"kubeconfig", "not a Target"},
		"own identity":     {targetWith(map[string]any{"selfConfig": map[string]any{"serviceAccount": map[string]any{"name": "x"}}}), "not supported"},
		"exec plugin":      {targetWith(map[string]any{"kubeconfig": execConfig}), "exec"},
		"files of the pod": {targetWith(map[string]any{"kubeconfig": fileConfig}), "tokenFile"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := newIssuer(t).serviceAccountKubeconfig(t.Context(), "sa", "ns", 600, c.given)
			assert.ErrorContains(t, err, c.message)
		})
	}
}

const (
	execConfig = `{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"clusters":[{"name":"c","cluster":{"server":"https://x"}}],"users":[{"name":"u","user":{"exec":{"command":"sh","apiVersion":"client.authentication.k8s.io/v1"}}}]}`
	fileConfig = `{"current-context":"c","contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"clusters":[{"name":"c","cluster":{"server":"https://x"}}],"users":[{"name":"u","user":{"tokenFile":"/var/run/secrets/token"}}]}`
)

func TestNamesCannotLeadElsewhere(t *testing.T) {
	var seen http.Request
	var body string
	server := garden(t, http.StatusOK, gardenAnswer, &seen, &body)
	for _, name := range []string{"", "..", "../../x", "a/b", "%2e%2e"} {
		_, err := newIssuer(t).shootAdminKubeconfig(t.Context(), name, "project", 600, gardenTarget(server))
		assert.ErrorContains(t, err, "is not a valid name of an object")
	}
	assert.Empty(t, seen.Method, "nothing was sent")
}

func TestPrivateAddressesAreRefusedWhereTheOperatorSaysSo(t *testing.T) {
	var seen http.Request
	var body string
	i := issuerWith(t, target.Options{PublicOnly: true})
	_, err := i.shootAdminKubeconfig(t.Context(), "shoot", "project", 600, gardenTarget(garden(t, http.StatusOK, gardenAnswer, &seen, &body)))
	require.ErrorContains(t, err, "not public")
	assert.Nil(t, i.Unanswered, "it will not help to try again")
}

func TestOIDCKubeconfigHasTheClusterOfTheTarget(t *testing.T) {
	var seen http.Request
	var body string
	server := garden(t, http.StatusOK, "", &seen, &body)
	issued, err := newIssuer(t).oidcKubeconfig(t.Context(), "https://issuer.example.com", "client", gardenTarget(server))
	require.NoError(t, err)
	var config clientcmdv1.Config
	require.NoError(t, yaml.Unmarshal(issued.Content, &config))
	assert.Equal(t, server.URL, config.Clusters[0].Cluster.Server)
	require.NotNil(t, config.AuthInfos[0].AuthInfo.Exec)
	assert.Contains(t, config.AuthInfos[0].AuthInfo.Exec.Args, "--oidc-issuer-url=https://issuer.example.com")
	assert.Empty(t, config.AuthInfos[0].AuthInfo.Token, "the credentials of the Target stay here")
	assert.True(t, issued.Expiration.IsZero())
	assert.Empty(t, seen.Method, "nothing was sent")
}
