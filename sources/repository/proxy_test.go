// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// Web, Helm and Git servers are reached by the proxy of the process, as registries are.
func TestTheProxyOfTheEnvironmentIsTaken(t *testing.T) {
	const child = "TEST_BEHIND_A_PROXY"
	if os.Getenv(child) != "" {
		s := arrange(t, registry.Start(t, registry.Options{}), line("web", "x", "{type: wget, url: 'http://web.example.test/file'}", "")+
			line("helm", "helmChart", "{type: helm, helmRepository: 'http://helm.example.test', helmChart: a, version: 1.0.0}", "")+
			line("git", "x", "{type: git, repository: 'http://git.example.test/a', ref: main}", ""),
			func(o *Options) { o.AllowHTTP = true })
		for _, name := range []string{"web", "helm", "git"} {
			_, err := s.content(t, name)
			assert.Error(t, err, "the proxy has none")
		}
		return
	}
	var mu sync.Mutex
	asked := map[string]bool{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.Host] = true // a proxy is asked for whole URLs
		w.WriteHeader(http.StatusNotFound)
	}))
	defer proxy.Close()
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$") // a process reads the variable once
	again.Env = append(os.Environ(), child+"=1", "HTTP_PROXY="+proxy.URL, "NO_PROXY=")

	said, err := again.CombinedOutput()

	require.NoError(t, err, "%s", said)
	assert.Equal(t, map[string]bool{"web.example.test": true, "helm.example.test": true, "git.example.test": true}, asked)
}
