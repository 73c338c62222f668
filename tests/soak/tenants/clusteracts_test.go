// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// treatment is what a server does with a request.
type treatment func(h *hostile, w http.ResponseWriter, r *http.Request)

// silent never answers.
func silent(h *hostile, _ http.ResponseWriter, r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-h.until.Done():
	}
}

// endless answers in JSON that does not end.
func endless(h *hostile, w http.ResponseWriter, _ *http.Request) {
	block := strings.Repeat("v", 1<<20)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"kind": "APIVersions", "versions": ["`) // who does not read on has gone
	for h.until.Err() == nil {
		if _, err := io.WriteString(w, block); err != nil {
			return
		}
	}
}

// drip answers so slowly that it takes days.
func drip(h *hostile, w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "1000000")
	pause := time.NewTicker(200 * time.Millisecond)
	defer pause.Stop()
	for {
		_, _ = io.WriteString(w, " ")
		w.(http.Flusher).Flush()
		select {
		case <-h.until.Done():
			return
		case <-r.Context().Done():
			return
		case <-pause.C:
		}
	}
}

// cluster runs a server that poses as one until the act ends, and returns how to reach it and how many requests it has had.
func (h *hostile) cluster(handler http.HandlerFunc) (*rest.Config, *atomic.Int64) {
	h.T.Helper()
	requests := &atomic.Int64{}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		handler(w, r)
	}))
	server.StartTLS()
	// Close waits for requests that the handler holds until the act ends.
	h.T.Cleanup(func() { h.stop(); server.CloseClientConnections(); server.Close() })
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &rest.Config{Host: server.URL, TLSClientConfig: rest.TLSClientConfig{CAData: authority}}, requests
}

// sync makes the TargetSync of the namespace, with a server as its source.
func (h *hostile) sync(config *rest.Config) {
	h.T.Helper()
	access, err := platform.KubeconfigFor(config)
	require.NoError(h.T, err)
	require.NoError(h.T, h.Client().Create(h.Ctx, &corev1.Secret{ObjectMeta: h.Named("source"), Data: map[string][]byte{"kubeconfig": access}}))
	h.Put("TargetSync", "sync", object{"spec": object{
		"secretRef": object{"name": "source", "key": "kubeconfig"}, "sourceNamespace": "source", "secretNameExpression": "*",
	}})
}

func syncs(answer treatment) func(h *hostile) {
	return func(h *hostile) {
		config, requests := h.cluster(func(w http.ResponseWriter, r *http.Request) { answer(h, w, r) })
		h.sync(config)
		h.bites(func() bool { return requests.Load() > 0 })
	}
}

// manyClusters is a source with thousands of Secrets, all of which are others whenever they are asked for, and of which it says that they change.
func manyClusters(h *hostile) {
	const page = 25
	count := 50 * h.many
	lists := &atomic.Int64{}
	answer := func(w http.ResponseWriter, content any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(content)
	}
	config, _ := h.cluster(func(w http.ResponseWriter, r *http.Request) {
		version := strconv.FormatInt(time.Now().UnixNano(), 10)
		switch {
		case r.URL.Path == "/api":
			answer(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		case r.URL.Path == "/apis":
			answer(w, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}})
		case r.URL.Path == "/api/v1":
			answer(w, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: []metav1.APIResource{
				{Name: "secrets", SingularName: "secret", Kind: "Secret", Namespaced: true, Verbs: []string{"get", "list", "watch"}},
			}})
		case r.URL.Path != "/api/v1/namespaces/source/secrets":
			http.NotFound(w, r)
		case r.URL.Query().Get("watch") != "":
			change := fmt.Sprintf(`{"type": "MODIFIED", "object": {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"namespace": "source",
				"name": "cluster-0", "resourceVersion": %q}}}`, version)
			w.Header().Set("Content-Type", "application/json")
			for h.until.Err() == nil && r.Context().Err() == nil {
				if _, err := io.WriteString(w, change); err != nil {
					return
				}
			}
		default:
			lists.Add(1)
			first, _ := strconv.Atoi(r.URL.Query().Get("continue"))
			list := corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"}, ListMeta: metav1.ListMeta{ResourceVersion: version}}
			for i := first; i < min(first+page, count); i++ {
				name := fmt.Sprint("cluster-", i)
				list.Items = append(list.Items, corev1.Secret{
					ObjectMeta: metav1.ObjectMeta{Namespace: "source", Name: name, UID: "a", ResourceVersion: version},
					Data:       map[string][]byte{"kubeconfig": []byte(version)},
				})
			}
			if first+page < count {
				list.Continue = strconv.Itoa(first + page)
			}
			answer(w, list)
		}
	})
	h.sync(config)
	h.bites(func() bool { return lists.Load() >= int64(count/page) })
}

// checkedTargets are Targets whose health is checked at servers that hold the requests.
func checkedTargets(answer treatment) func(h *hostile) {
	return func(h *hostile) {
		config, requests := h.cluster(func(w http.ResponseWriter, r *http.Request) { answer(h, w, r) })
		h.each(10*h.many, func(_ int, name string) error {
			own := rest.CopyConfig(config)
			own.BearerToken = name // a connection of its own
			access, err := platform.KubeconfigFor(own)
			if err != nil {
				return err
			}
			content, err := json.Marshal(object{"spec": object{
				"type": v1alpha1.KubernetesClusterTargetType, "config": object{"kubeconfig": string(access)}, "healthCheck": object{"interval": "1m"},
			}})
			if err != nil {
				return err
			}
			target := &v1alpha1.Target{ObjectMeta: h.Named(name)}
			return h.Client().Patch(h.Ctx, target, client.RawPatch("application/apply-patch+yaml", []byte(manifestOf("Target", name, string(content)))),
				client.FieldOwner("hostile"), client.ForceOwnership)
		})
		h.acts.Go(func() {
			<-h.until.Done()
			_ = h.Client().DeleteAllOf(context.WithoutCancel(h.until), &v1alpha1.Target{}, client.InNamespace(h.Namespace)) // else it shows by what is left
		})
		h.bites(func() bool { return requests.Load() > 0 })
	}
}

// through returns a handler that hands requests on to the real cluster, with all rights.
func (h *hostile) through() *httputil.ReverseProxy {
	h.T.Helper()
	config, err := h.NewUser(h.Deployer(), landscape.AllRights...)
	require.NoError(h.T, err)
	cluster, err := url.Parse(config.Host)
	require.NoError(h.T, err)
	through := httputil.NewSingleHostReverseProxy(cluster)
	through.Transport, err = rest.TransportFor(config)
	require.NoError(h.T, err)
	return through
}

// crowdedKinds are Targets of the own cluster behind a server that says of each version of a group that it has thousands of kinds more, and of all of them ten
// thousands.
func crowdedKinds(h *hostile) {
	var listed, grouped strings.Builder
	grouped.WriteString(`,{"metadata":{"name":"more"},"versions":[{"version":"v1","resources":[{"resource":"r","responseKind":{"kind":"R"},"verbs":[]}`)
	for i := range 22_000 { // as many as a deployer reads: 1.9 MB
		if i < 6_000 { // 500 KB
			fmt.Fprintf(&listed, `,{"name":"r%d","singularName":"","namespaced":true,"kind":"R%d","verbs":["get"]}`, i, i)
		}
		fmt.Fprintf(&grouped, `,{"resource":"r%d","responseKind":{"kind":"R%d"},"scope":"Namespaced","verbs":[]}`, i, i)
	}
	grouped.WriteString("]}]}")
	through, documents := h.through(), &atomic.Int64{}
	through.ModifyResponse = func(response *http.Response) error {
		more, depth := "", strings.Count(response.Request.URL.Path, "/")
		switch {
		case h.until.Err() != nil || response.StatusCode != http.StatusOK:
		case strings.HasPrefix(response.Request.URL.Path, "/api/") && depth == 2, strings.HasPrefix(response.Request.URL.Path, "/apis/") && depth == 3:
			more = listed.String()
		case strings.Contains(response.Header.Get("Content-Type"), "APIGroupDiscoveryList"):
			more = grouped.String()
		}
		if more == "" {
			return nil
		}
		content, err := io.ReadAll(response.Body)
		if err != nil {
			return err
		}
		documents.Add(1)
		content = append(bytes.TrimSuffix(bytes.TrimSpace(content), []byte("]}")), more+"]}"...)
		response.Body = io.NopCloser(bytes.NewReader(content))
		response.ContentLength = int64(len(content))
		response.Header.Set("Content-Length", strconv.Itoa(len(content)))
		return nil
	}
	config, _ := h.cluster(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Authorization")
		r.Header.Set("Accept-Encoding", "identity")
		through.ServeHTTP(w, r)
	})
	template := strings.ReplaceAll(configTemplate, "of-chart", "{{ .Release.Name }}") + "# {{ .Capabilities.APIVersions.Has \"example.com/v1\" }}\n"
	h.each(h.many, func(_ int, name string) error {
		own := rest.CopyConfig(config)
		own.BearerToken = name // a connection of its own
		h.TargetOf("trap-"+name, own)
		items := landscape.ConfigItem("manifest", "{import: cluster}", h.Namespace, name, "value: x") +
			chartItem("chart", h.Namespace, map[string]string{"templates/config.yaml": template})
		return h.create(name, object{"deployExecutions": landscape.GoTemplate("deployItems:\n" + items)},
			object{"imports": object{"targets": []any{object{"name": "cluster", "target": "trap-" + name}}}})
	})
	h.bites(func() bool { return documents.Load() > 1 })
}

// endlessLists is the own cluster behind a server whose lists of Secrets and ConfigMaps have always one more page, of objects that seem to belong to whoever asks.
func endlessLists(h *hostile) {
	through, pages := h.through(), &atomic.Int64{}
	content := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("v", 10<<10)))
	h.serve(func(w http.ResponseWriter, r *http.Request) {
		collection := r.Method == http.MethodGet && (strings.HasSuffix(r.URL.Path, "/secrets") || strings.HasSuffix(r.URL.Path, "/configmaps"))
		if !collection || r.URL.Query().Get("watch") != "" || h.until.Err() != nil {
			through.ServeHTTP(w, r)
			return
		}
		number := pages.Add(1)
		labels := map[string]string{}
		for _, one := range strings.Split(r.URL.Query().Get("labelSelector"), ",") {
			if name, value, isEqual := strings.Cut(one, "="); isEqual {
				labels[name] = value
			}
		}
		marks, _ := json.Marshal(labels) // strings can be written
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind": "SecretList", "apiVersion": "v1", "metadata": {"continue": "%d"}, "items": [`, number) // who does not read on has gone
		for i := range 100 {
			separator := ","
			if i == 0 {
				separator = ""
			}
			_, _ = fmt.Fprintf(w, `%s{"metadata": {"namespace": %q, "name": "sh.helm.release.v1.a%d.v%d", "labels": %s}, "data": {"release": "%s"}}`,
				separator, h.Namespace, number, i, marks, content)
		}
		_, _ = io.WriteString(w, "]}")
	})
	h.trapped(func() bool { return pages.Load() > 1 })
}
