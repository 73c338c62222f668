// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"
)

// testRegistry is a real registry on loopback that counts requests and may ask for a login.
type testRegistry struct {
	*httptest.Server
	host string

	mu       sync.Mutex
	requests map[string]int
	// logins are user:password pairs by repository; a repository without any is public.
	logins map[string][]string
	// spoil may replace a response.
	spoil func(w http.ResponseWriter, r *http.Request) bool
}

func newRegistry(t testing.TB, tls bool) *testRegistry {
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	r := &testRegistry{requests: map[string]int{}, logins: map[string][]string{}}
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if r.admit(w, req) {
			inner.ServeHTTP(w, req)
		}
	})
	if tls {
		r.Server = httptest.NewTLSServer(handler)
	} else {
		r.Server = httptest.NewServer(handler)
	}
	_, r.host, _ = strings.Cut(r.URL, "://")
	t.Cleanup(r.Close)
	return r
}

// admit counts the request and reports whether the registry itself shall answer it.
func (r *testRegistry) admit(w http.ResponseWriter, req *http.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Method != http.MethodGet && req.Method != http.MethodHead {
		return true // pushes of the tests themselves
	}
	kind := "manifests"
	if strings.Contains(req.URL.Path, "/blobs/") {
		kind = "blobs"
	}
	r.requests[req.Method+" "+kind]++
	if r.spoil != nil && r.spoil(w, req) {
		return false
	}
	for repository, logins := range r.logins {
		if strings.HasPrefix(req.URL.Path, "/v2/"+repository+"/") && !loggedIn(req, logins) {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			w.WriteHeader(http.StatusUnauthorized)
			return false
		}
	}
	return true
}

func loggedIn(req *http.Request, logins []string) bool {
	user, password, _ := req.BasicAuth()
	for _, l := range logins {
		if l == user+":"+password {
			return true
		}
	}
	return false
}

func (r *testRegistry) count(what string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.requests[what]
}

// protect asks for one of the logins on the repository from now on.
func (r *testRegistry) protect(repository string, logins ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.logins[repository] = logins
}

func (r *testRegistry) put(t testing.TB, path, mediaType string, content []byte) {
	req, err := http.NewRequest(http.MethodPut, r.URL+path, bytes.NewReader(content))
	require.NoError(t, err)
	req.Header.Set("Content-Type", mediaType)
	resp, err := r.Client().Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusCreated, resp.StatusCode)
}

func (r *testRegistry) blob(t testing.TB, repository, mediaType string, content []byte) ocispec.Descriptor {
	d := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	resp, err := r.Client().Post(fmt.Sprintf("%s/v2/%s/blobs/uploads/?digest=%s", r.URL, repository, d.Digest), "", bytes.NewReader(content))
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	return d
}

// layer is one layer to push.
type layer struct{ mediaType, content string }

// push stores an artifact and returns its reference and manifest digest.
func (r *testRegistry) push(t testing.TB, repository, tag string, layers ...layer) (ref string, d digest.Digest) {
	m := ocispec.Manifest{Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: r.blob(t, repository, "application/vnd.cncf.helm.config.v1+json", []byte("{}"))}
	for _, l := range layers {
		m.Layers = append(m.Layers, r.blob(t, repository, l.mediaType, []byte(l.content)))
	}
	return r.pushManifest(t, repository, tag, ocispec.MediaTypeImageManifest, m)
}

func (r *testRegistry) pushManifest(t testing.TB, repository, tag, mediaType string, m any) (ref string, d digest.Digest) {
	raw, err := json.Marshal(m)
	require.NoError(t, err)
	r.put(t, "/v2/"+repository+"/manifests/"+tag, mediaType, raw)
	return fmt.Sprintf("%s/%s:%s", r.host, repository, tag), digest.FromBytes(raw)
}

func newClient(t testing.TB, change func(*Options)) *Client {
	var o Options
	if change != nil {
		change(&o)
	}
	c, err := New(o)
	require.NoError(t, err)
	return c
}

// dockerConfig is a configuration of host → user:password.
func dockerConfig(logins map[string]string) []byte {
	auths := map[string]any{}
	for host, l := range logins {
		auths[host] = map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte(l))}
	}
	raw, err := json.Marshal(map[string]any{"auths": auths})
	if err != nil {
		panic(err)
	}
	return raw
}

func credentials(t testing.TB, logins map[string]string) Credentials {
	c, err := ParseDockerConfig(dockerConfig(logins))
	require.NoError(t, err)
	return c
}
