// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

// foreignText is what a server says that no error may repeat.
const foreignText = "internal-document-9f3c"

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// shortHeader and shortBody are limits of tests that wait for their end. Whatever else is asked of a server has the time that a busy machine needs.
func shortHeader(l *egress.Policy) { l.Header = 2 * time.Second }
func shortBody(l *egress.Policy)   { l.Body = 2 * time.Second }

// hostile opens a target whose server is answer.
func hostile(t *testing.T, answer http.HandlerFunc, adjust ...func(*egress.Policy)) *Cluster {
	t.Helper()
	server := httptest.NewUnstartedServer(answer)
	server.EnableHTTP2 = true
	server.StartTLS()

	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return opened(t, server, Options{}, adjust...)
}

func opened(t *testing.T, server *httptest.Server, options Options, adjust ...func(*egress.Policy)) *Cluster {
	t.Helper()
	clients, err := New(options)
	require.NoError(t, err)
	for _, change := range adjust {
		change(&clients.policy)
	}
	cluster, err := clients.OpenKubeconfig("n", kubeconfigOf(server, server.URL, ""))
	require.NoError(t, err)
	return cluster
}

// openedAt opens a target with the certificate of a server at another address.
func openedAt(t *testing.T, server *httptest.Server, url, proxy string, options Options) *Cluster {
	t.Helper()
	clients, err := New(options)
	require.NoError(t, err)
	cluster, err := clients.OpenKubeconfig("n", kubeconfigOf(server, url, proxy))
	require.NoError(t, err)
	return cluster
}

func kubeconfigOf(server *httptest.Server, url, proxy string) []byte {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return fmt.Appendf(nil, `{"kind": "Config", "contexts": [{"name": "c", "context": {"cluster": "c"}}], "clusters": [{"name": "c", "cluster": {
		"server": %q, "proxy-url": %q, "certificate-authority-data": %q}}]}`, url, proxy, encoded(authority))
}

// silent waits until the client has given up.
func silent(_ http.ResponseWriter, request *http.Request) { <-request.Context().Done() }

func getConfigMap(ctx context.Context, cluster *Cluster) error {
	_, err := cluster.Dynamic.Resource(configMaps).Namespace("n").Get(ctx, "x", metav1.GetOptions{})
	return err
}

func askKind(ctx context.Context, cluster *Cluster) error {
	_, err := cluster.MapperFor(ctx).RESTMapping(schema.GroupKind{Kind: "ConfigMap"}, "v1")
	return err
}

func TestT04SilentServerEndsRequests(t *testing.T) {
	t.Parallel()
	cluster := hostile(t, silent, shortHeader)
	require.ErrorIs(t, getConfigMap(t.Context(), cluster), egress.ErrSilent)
	cluster = hostile(t, silent, shortHeader)
	require.ErrorIs(t, askKind(t.Context(), cluster), egress.ErrSilent)
}

func TestT04DiscoveryEndsWithTheContext(t *testing.T) {
	t.Parallel()
	begun := make(chan struct{}, 10)
	cluster := hostile(t, func(w http.ResponseWriter, r *http.Request) { begun <- struct{}{}; silent(w, r) },
		func(l *egress.Policy) { l.Header = time.Hour })
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	ended := make(chan error, 2)
	go func() { ended <- askKind(ctx, cluster) }()
	<-begun
	waiting, leave := context.WithCancelCause(t.Context())
	go func() { ended <- askKind(waiting, cluster) }()
	leave(interrupted)
	require.ErrorIs(t, <-ended, interrupted, "who waits for its turn leaves too")
	cancel(interrupted)
	require.Error(t, <-ended)
	go func() {
		ended <- cluster.Client.Get(ctx, client.ObjectKey{Namespace: "n", Name: "x"}, &corev1.ConfigMap{})
	}()
	require.ErrorIs(t, <-ended, interrupted)
}

func answerJSON(w http.ResponseWriter, content string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, content)
}

func TestT04HeaderThatDripsEndsRequests(t *testing.T) {
	t.Parallel()
	server := rawServer(t, func(connection net.Conn) {
		_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\n")
		drip(t.Context(), func() error {
			_, err := io.WriteString(connection, "X-Drip: drop\r\n")
			return err
		})
	})
	require.ErrorIs(t, getConfigMap(t.Context(), opened(t, server, Options{}, shortHeader)), egress.ErrSilent)
}

// drip writes one drop after the other, slowly, until the other side does not listen any more.
func drip(ctx context.Context, drop func() error) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for drop() == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// dripInto drips into an answer.
func dripInto(w http.ResponseWriter, r *http.Request, text string) {
	drip(r.Context(), func() error {
		_, err := io.WriteString(w, text)
		return errors.Join(err, http.NewResponseController(w).Flush())
	})
}

// rawServer is a TLS server that lets answer write to connections after the first request line.
func rawServer(t *testing.T, answer func(net.Conn)) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer connection.Close()
		answer(connection)
	}))
	server.StartTLS()
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server
}

func TestT04BodyThatDripsEndsRequests(t *testing.T) {
	t.Parallel()
	cluster := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		answerJSON(w, `{"kind": "ConfigMap", "apiVersion": "v1", "data": {"x": "`)
		dripInto(w, r, "drop")
	}, shortBody)
	require.ErrorIs(t, getConfigMap(t.Context(), cluster), egress.ErrSlow)
}

func TestT04StatusThatDripsEndsRequests(t *testing.T) {
	t.Parallel()
	cluster := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
		dripInto(w, r, " ")
	}, shortBody)
	require.ErrorIs(t, getConfigMap(t.Context(), cluster), egress.ErrSlow)
}

func TestT04LargeAnswerTakesLittleMemory(t *testing.T) {
	cluster := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, `{"kind": "APIVersions", "apiVersion": "v1", "versions": ["`)
		block := strings.Repeat("v", 1<<20)
		for range 300 {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, `"]}`)
	})
	before := heap()
	require.ErrorIs(t, askKind(t.Context(), cluster), egress.ErrLarge)
	assert.Less(t, int64(heap()-before), int64(4*MaxAnswer))
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapSys
}

func TestT04LargeAnswersAndEventsAreRefused(t *testing.T) {
	t.Parallel()
	small := func(l *egress.Policy) { l.Most, l.Event = 2048, 2048 }
	require.ErrorIs(t, getConfigMap(t.Context(), hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, `{"kind": "ConfigMap", "apiVersion": "v1", "data": {"x": "`+strings.Repeat("x", 4096)+`"}}`)
	}, small)), egress.ErrLarge)
	cluster := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, strings.Repeat(`{"type": "ADDED", "object": {"kind": "ConfigMap", "apiVersion": "v1"}}`+"\n", 100))
		_, _ = io.WriteString(w, `{"type": "ADDED", "object": {"kind": "ConfigMap", "apiVersion": "v1", "x": "`+strings.Repeat("x", 4096))
	}, small)
	watcher, err := cluster.Dynamic.Resource(configMaps).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer watcher.Stop()
	events := 0
	for event := range watcher.ResultChan() {
		if event.Type == watch.Added {
			events++
		}
	}
	assert.Equal(t, 100, events, "small events together may be larger than one event may be")
}

func TestT04LargeHeadersAreRefused(t *testing.T) {
	t.Parallel()
	cluster := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		for i := range 64 {
			w.Header().Set("X-"+strconv.Itoa(i), strings.Repeat("x", 2*(256<<10)/64))
		}
		answerJSON(w, `{"kind": "ConfigMap", "apiVersion": "v1"}`)
	})
	require.Error(t, getConfigMap(t.Context(), cluster))
}

func TestT04WatchLivesLongerThanAnAnswer(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	cluster := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.(http.Flusher).Flush()
		<-next
		_, _ = io.WriteString(w, `{"type": "ADDED", "object": {"kind": "ConfigMap", "apiVersion": "v1"}}`+"\n")
	}, func(l *egress.Policy) { l.Body = time.Millisecond })
	watcher, err := cluster.Dynamic.Resource(configMaps).Watch(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	defer watcher.Stop()
	select {
	case event, open := <-watcher.ResultChan():
		t.Fatalf("the watch ended early: %v %v", event, open)
	case <-time.After(100 * time.Millisecond):
	}
	close(next)
	event := <-watcher.ResultChan()
	assert.Equal(t, watch.Added, event.Type)
}

func TestT04AnswersAreBoundInTheTimeThatTheyAskFor(t *testing.T) {
	t.Parallel()
	cluster := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "86400")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	})
	client, err := rest.HTTPClientFor(cluster.Config)
	require.NoError(t, err)
	response, err := client.Get(cluster.Config.Host + "/version")
	require.NoError(t, err)
	defer response.Body.Close()
	assert.Equal(t, "5", response.Header.Get("Retry-After"))
}

func TestT05RedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	inside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Store(true)
		answerJSON(w, `{"secret": "`+foreignText+`"}`)
	}))
	defer inside.Close()
	for _, code := range []int{300, 301, 302, 303, 307, 308} {
		cluster := hostile(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", inside.URL+"/"+foreignText)
			w.WriteHeader(code)
		})
		require.ErrorIs(t, getConfigMap(t.Context(), cluster), egress.ErrRedirect)
		err := askKind(t.Context(), cluster)
		require.ErrorIs(t, err, egress.ErrRedirect)
		assert.NotContains(t, err.Error(), foreignText)
		discovery, err := cluster.DiscoveryFor(t.Context())
		require.NoError(t, err)
		_, err = discovery.ServerVersion()
		require.ErrorIs(t, err, egress.ErrRedirect)
	}
	assert.False(t, reached.Load())
}

func TestT05ForeignAnswersAreNotShown(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		code          int
		kind, content string
	}{
		"object without kind": {200, "application/json", `{"secret": "` + foreignText + `"}`},
		"empty kind":          {200, "application/json", `{"kind": "", "secret": "` + foreignText + `"}`},
		"list":                {200, "application/json", `["` + foreignText + `"]`},
		"text":                {200, "text/plain", foreignText},
		"text as JSON":        {200, "application/json", foreignText},
		"no type":             {200, "", foreignText},
		"yaml":                {200, "application/yaml", "kind: " + foreignText},
		"strange type":        {200, foreignText + "/;;", "x"},
		"error page":          {500, "text/html", foreignText},
		"error text":          {404, "text/plain", foreignText},
		"error object":        {403, "application/json", `{"secret": "` + foreignText + `"}`},
		"error without type":  {502, "", foreignText},
		"unauthorized":        {401, "text/plain", foreignText},
		"too many":            {429, "text/plain", foreignText},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header()["Content-Type"] = nil
				if test.kind != "" {
					w.Header().Set("Content-Type", test.kind)
				}
				w.WriteHeader(test.code)
				_, _ = io.WriteString(w, test.content)
			})
			list := &corev1.ConfigMapList{}
			_, create := cluster.Dynamic.Resource(configMaps).List(t.Context(), metav1.ListOptions{})
			for i, err := range []error{getConfigMap(t.Context(), cluster), askKind(t.Context(), cluster), cluster.Client.List(t.Context(), list), create} {
				require.Error(t, err, i)
				assert.NotContains(t, err.Error(), foreignText, i)
				assert.Equal(t, test.code == http.StatusOK, errors.Is(err, errForeign), i)
			}
		})
	}
}

func TestT05WhatIsNotHTTPIsNotShown(t *testing.T) {
	t.Parallel()
	for name, said := range map[string]string{
		"banner": "SSH-2.0-" + foreignText + "\r\n",
		"code":   "HTTP/1.1 " + foreignText + "\r\n\r\n",
		"header": "HTTP/1.1 200 OK\r\n" + foreignText + "\r\n\r\n",
		"length": "HTTP/1.1 200 OK\r\nContent-Length: " + foreignText + "\r\n\r\n",
		"coding": "HTTP/1.1 200 OK\r\nTransfer-Encoding: " + foreignText + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := rawServer(t, func(connection net.Conn) { _, _ = io.WriteString(connection, said) })
			err := getConfigMap(t.Context(), opened(t, server, Options{}))
			require.Error(t, err)
			assert.NotContains(t, err.Error(), foreignText)
		})
	}
}

func TestL10ProxyIsNotShown(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = http.ReadRequest(bufio.NewReader(connection))
			_, _ = io.WriteString(connection, "HTTP/1.1 503 "+foreignText+"\r\n\r\n")
			_ = connection.Close()
		}
	}()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	err = getConfigMap(t.Context(), openedAt(t, server, server.URL, "http://"+listener.Addr().String(), Options{}))
	require.Error(t, err)
	assert.NotContains(t, err.Error(), foreignText)
}

func TestT05PrivateTargetsAreRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	err := getConfigMap(t.Context(), opened(t, server, Options{PublicOnly: true}))
	require.ErrorIs(t, err, egress.ErrPrivate)
	assert.ErrorContains(t, err, "the operator allows public ones only")

	err = getConfigMap(t.Context(), openedAt(t, server, "https://203.0.114.1", server.URL, Options{PublicOnly: true}))
	require.ErrorIs(t, err, egress.ErrPrivate, "a proxy leads nowhere else")
}

func TestT05NamesOfPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	at, err := url.Parse(server.URL)
	require.NoError(t, err)
	named := openedAt(t, server, "https://localhost:"+at.Port(), "", Options{PublicOnly: true})
	require.ErrorIs(t, getConfigMap(t.Context(), named), egress.ErrPrivate)
}

// TestNamesOfAPrivateNetworkAreNotToldApart asks servers and proxies that exist there, and those that do not.
func TestNamesOfAPrivateNetworkAreNotToldApart(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	told := func(host string) (texts []string) {
		for _, cluster := range []*Cluster{
			openedAt(t, server, "https://"+host+":8443", "", Options{PublicOnly: true}),
			openedAt(t, server, "https://203.0.114.1", "http://"+host+":8443", Options{PublicOnly: true}),
		} {
			err := getConfigMap(t.Context(), cluster)
			reason, cure := diagnosis(err)
			texts = append(texts, strings.ReplaceAll(strings.Join([]string{ShownError(err), reason, cure}, "; "), host, "<host>"))
			assert.False(t, IsHostGone(err))
		}
		return texts
	}
	assert.Equal(t, told("localhost"), told("nobody.invalid"))

	gone := openedAt(t, server, "https://nobody.invalid", "", Options{PublicOnly: true})
	assert.True(t, gone.HasNoHost(getConfigMap(t.Context(), gone)), "for what was deployed there")
}

func TestT05MetadataServicesAreNoTargets(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	for _, host := range []string{"169.254.169.254", "168.63.129.16", "[fd00:ec2::254]", "[::ffff:169.254.169.254]"} {
		require.ErrorIs(t, getConfigMap(t.Context(), openedAt(t, server, "https://"+host, "", Options{})), egress.ErrPrivate, host)
	}
}

func TestStatusOfTheTargetIsShown(t *testing.T) {
	t.Parallel()
	cluster := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "quota is used up"}`)
	})
	err := getConfigMap(t.Context(), cluster)
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.ErrorContains(t, err, "quota is used up")
}

func encoded(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

func TestT04RetryAfterIsShort(t *testing.T) {
	for given, want := range map[string]string{"86400": "5", "3": "3", "-1": "", "soon": "", "": ""} {
		header := http.Header{}
		header.Set("Retry-After", given)
		limitRetryAfter(header)
		assert.Equal(t, want, header.Get("Retry-After"), given)
	}
}

// protobufOf returns an object in protobuf, as API servers send it.
func protobufOf(t *testing.T, kind string, object interface{ Marshal() ([]byte, error) }) []byte {
	t.Helper()
	raw, err := object.Marshal()
	require.NoError(t, err)
	envelope := k8sruntime.Unknown{TypeMeta: k8sruntime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	message, err := envelope.Marshal()
	require.NoError(t, err)
	return append([]byte("k8s\x00"), message...)
}

// TestOfErrorsOnlyAStatusIsLeft has errors in each form in which clients decode them.
func TestOfErrorsOnlyAStatusIsLeft(t *testing.T) {
	refused := &metav1.Status{Status: "Failure", Code: 403, Reason: metav1.StatusReasonForbidden, Message: "no"}
	for name, content := range map[string][]byte{
		"protobuf": protobufOf(t, "Status", refused),
		"JSON":     []byte(`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no", "spec": {"overhead": {"cpu": "1e9"}}}`),
	} {
		assert.JSONEq(t, `{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 403, "reason": "Forbidden", "message": "no"}`,
			string(statusOf(content)), name)
	}
	for name, content := range map[string][]byte{
		"a Pod in protobuf": protobufOf(t, "Pod", &corev1.Pod{}),
		"a Pod":             []byte(`{"kind": "Pod", "apiVersion": "v1"}`),
		"two kinds":         []byte(`{"kind": "Status", "Kind": "Pod", "apiVersion": "v1"}`),
		"no protobuf":       append([]byte("k8s\x00"), "none"...),
	} {
		assert.Empty(t, statusOf(content), name)
	}
}

func TestLongStatusIsCut(t *testing.T) {
	long := statusOf([]byte(`{"kind": "Status", "code": 422, "reason": "Invalid", "message": "` + strings.Repeat("ä", 100_000) + `"}`))
	assert.Less(t, len(long), 2*maxMessage)
	assert.Contains(t, string(long), `"code":422`)
}

func TestWhatAnswersHaveToBe(t *testing.T) {
	const object, text = true, false
	for _, server := range []string{"https://x", "https://x/", "https://x/b", "https://x/b/", "https://x/a/../b", "https://x//b", "https://x/a/%2e%2e/b", "https://x/./b"} {
		s, err := newSender(&rest.Config{Host: server}, policyOfTargets)
		require.NoError(t, err)
		host, err := url.Parse(server)
		require.NoError(t, err)
		client, err := rest.NewRESTClient(host, "", rest.ClientContentConfig{}, nil, nil)
		require.NoError(t, err)
		for path, want := range map[string]bool{
			"/api": object, "/apis": object, "/apis/apps/v1": object, "/version": text, "/openapi/v3": text, "/api/v1/namespaces/n/pods/p/log": text,
			"/api/v1/namespaces/n/services/s/proxy/x": text, "/api/v1/namespaces/log": object, "/api/v1/namespaces/n/configmaps/x": object,
			"/apis/apps/v1/x/status": object, "/api/v1/namespaces/n/pods/log": object, "/apis/apps/v1/namespaces/n/deployments/log": object,
			"/api/v1/nodes/n/proxy/x": text, "/api/v1/namespaces/n/serviceaccounts/proxy/token": object, "/api/v1/namespaces/pods/configmaps/log": object,
		} {
			isObject, _ := s.wants(httptest.NewRequest(http.MethodGet, client.Get().AbsPath(path).URL().String(), nil))
			assert.Equal(t, want, isObject, "%s %s", server, path)
		}
	}
}
