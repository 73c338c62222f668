// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/target/internal/guard"
)

// servedTypes are the kinds of a server.
const servedTypes = `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": [
	{"name": "secrets", "kind": "Secret", "namespaced": true, "verbs": ["get", "list"]},
	{"name": "namespaces", "kind": "Namespace", "verbs": ["create"]},
	{"name": "serviceaccounts", "kind": "ServiceAccount", "namespaced": true, "verbs": ["get"]}]}`

// endlessPod is a Pod with a quantity that takes hours to decode.
const endlessPod = `{"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "a"}, "spec": {"overhead": {"cpu": "1e1000000000"}}}`

// podFor answers with a Pod, but on the path of the kinds where those are asked for.
func podFor(contentType string) http.HandlerFunc { return always(contentType, endlessPod) }

// always answers the same, but on the path of the kinds.
func always(contentType, answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, servedTypes)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, answer)
	}
}

// TestAnswersOfAnotherKindBecomeNoGoType has a server answer with a Pod whatever it is asked for.
func TestAnswersOfAnotherKindBecomeNoGoType(t *testing.T) {
	t.Parallel()
	named := client.ObjectKey{Namespace: "n", Name: "a"}
	for name, ask := range map[string]func(t *testing.T, cluster *Cluster) error{
		"get":  func(t *testing.T, c *Cluster) error { return c.Client.Get(t.Context(), named, &corev1.Secret{}) },
		"list": func(t *testing.T, c *Cluster) error { return c.Client.List(t.Context(), &corev1.SecretList{}) },
		"create": func(t *testing.T, c *Cluster) error {
			namespace := &corev1.Namespace{}
			namespace.Name = "n"
			return c.Client.Create(t.Context(), namespace)
		},
		"update": func(t *testing.T, c *Cluster) error {
			secret := &corev1.Secret{}
			secret.Namespace, secret.Name = "n", "a"
			return c.Client.Update(t.Context(), secret)
		},
		"subresource": func(t *testing.T, c *Cluster) error {
			account := &corev1.ServiceAccount{}
			account.Namespace, account.Name = "n", "a"
			return c.Client.SubResource("token").Create(t.Context(), account, &authenticationv1.TokenRequest{})
		},
		"kinds of a version": func(t *testing.T, c *Cluster) error {
			_, err := c.MapperFor(t.Context()).RESTMapping(thing("example.com"), "v1")
			return err
		},
		"groups": func(t *testing.T, c *Cluster) error {
			client, err := c.DiscoveryFor(t.Context())
			require.NoError(t, err)
			_, err = client.ServerGroups()
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.ErrorIs(t, ask(t, hostile(t, podFor("application/json"))), guard.ErrForeign)
			require.ErrorIs(t, ask(t, hostile(t, podFor("application/vnd.kubernetes.protobuf"))), guard.ErrForeign)
		})
	}
}

// Objects that become no Go type may be of any kind.
func TestWhatBecomesNoGoTypeIsOfAnyKind(t *testing.T) {
	t.Parallel()
	cluster := hostile(t, podFor("application/json"))
	secret := &unstructured.Unstructured{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	require.NoError(t, cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: "n", Name: "a"}, secret))
	cpu, _, err := unstructured.NestedString(secret.Object, "spec", "overhead", "cpu")
	require.NoError(t, err)
	assert.Equal(t, "1e1000000000", cpu)
}

func TestASuccessIsNoObject(t *testing.T) {
	t.Parallel()
	cluster := hostile(t, always("application/json", `{"kind": "Status", "apiVersion": "v1", "status": "Success"}`))
	secret := &corev1.Secret{}
	secret.Namespace, secret.Name = "n", "a"
	require.ErrorIs(t, cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(secret), secret), guard.ErrForeign)
	require.NoError(t, cluster.Client.Delete(t.Context(), secret))
}

// TestAnswersWithCodesOfNoAPIServerAreRefused has codes for which clients decode what comes, or keep the connection.
func TestAnswersWithCodesOfNoAPIServerAreRefused(t *testing.T) {
	t.Parallel()
	for _, code := range []int{http.StatusMultiStatus, 299} {
		cluster := hostile(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/v1" {
				always("application/json", endlessPod)(w, r)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, endlessPod)
		})
		secret := &corev1.Secret{}
		secret.Namespace, secret.Name = "n", "a"
		require.ErrorIs(t, cluster.Client.Delete(t.Context(), secret), guard.ErrForeign, code)
		require.ErrorIs(t, getConfigMap(t.Context(), cluster), guard.ErrForeign, code)
	}
}

// TestNoConnectionIsSwitched has a server take the connection of a request over.
func TestNoConnectionIsSwitched(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\nContent-Type: application/json\r\n\r\n"+endlessPod)
		_ = conn.Close() // which ends the answer
	}))
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	require.ErrorIs(t, getConfigMap(t.Context(), opened(t, server, Options{})), guard.ErrForeign)
}
