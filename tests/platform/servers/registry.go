// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Registry is an OCI registry in this process: plain HTTP, in memory, without credentials.
type Registry struct {
	// Host is "127.0.0.1:port"; Flux sources and clients need insecure (plain HTTP) access.
	Host string

	server *server
	mu     sync.Mutex
	log    []RegistryRequest
}

// RegistryRequest is one request that the registry has answered.
type RegistryRequest struct {
	Time       time.Time
	Method     string // GET, HEAD, POST, PUT, PATCH, DELETE
	Repository string // e.g. "charts/web"
	Kind       string // "manifests", "blobs", "tags", "referrers" or "uploads"; empty for the API's root
	Reference  string // tag or digest
	Code       int    // HTTP status
}

// StartRegistry starts a registry that keeps its content in memory.
func StartRegistry() (*Registry, error) {
	r := &Registry{}
	backend := registry.New(registry.Logger(discardLog), registry.WithReferrersSupport(true))
	running, err := serveHTTP(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		recorder := &statusRecorder{ResponseWriter: w, code: http.StatusOK}
		started := time.Now()
		backend.ServeHTTP(recorder, request)
		r.record(started, request, recorder.code)
	}))
	if err != nil {
		return nil, err
	}
	r.server, r.Host = running, running.address
	return r, nil
}

// statusRecorder remembers the status that a handler answers with.
type statusRecorder struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (r *statusRecorder) WriteHeader(code int) {
	r.code = code
	r.ResponseWriter.WriteHeader(code)
}

func (r *Registry) record(started time.Time, request *http.Request, code int) {
	entry := parseRegistryPath(request.URL.Path)
	entry.Time, entry.Method, entry.Code = started, request.Method, code
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, entry)
}

// parseRegistryPath splits /v2/<repository>/<kind>/<reference> as the OCI distribution specification defines it.
func parseRegistryPath(path string) RegistryRequest {
	parts := strings.Split(strings.Trim(strings.TrimPrefix(path, "/v2"), "/"), "/")
	for i, part := range slices.Backward(parts) {
		switch part {
		case "manifests", "blobs", "tags", "referrers", "uploads":
			repository := strings.TrimSuffix(strings.Join(parts[:i], "/"), "/blobs")
			return RegistryRequest{Repository: repository, Kind: part, Reference: strings.Join(parts[i+1:], "/")}
		}
	}
	return RegistryRequest{}
}

// URL returns the repository as Flux names it: "oci://127.0.0.1:port/repository".
func (r *Registry) URL(repository string) string { return "oci://" + r.Host + "/" + repository }

// Unavailable makes the registry answer 503 to everything, or serve again.
func (r *Registry) Unavailable(down bool) { r.server.down.Store(down) }

// Requests returns what the registry has answered from since on, in the order of the answers.
func (r *Registry) Requests(since time.Time) []RegistryRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.log), func(request RegistryRequest) bool { return request.Time.Before(since) })
}

// Downloads counts per digest how often the blob was downloaded from since on.
func (r *Registry) Downloads(since time.Time) map[string]int {
	counts := map[string]int{}
	for _, request := range r.Requests(since) {
		if request.Method == http.MethodGet && request.Kind == "blobs" && request.Code/100 == 2 {
			counts[request.Reference]++
		}
	}
	return counts
}

// Stop ends the registry.
func (r *Registry) Stop() error { return r.server.stop() }
