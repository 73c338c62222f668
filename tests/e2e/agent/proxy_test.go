// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
)

// outside is the landscaper cluster as the fenced network names it. Only the proxy knows where that is.
const outside = "landscaper.example.com:443"

// tunnel is a proxy that leads to one server.
type tunnel struct {
	*httptest.Server
	// to is where it leads.
	to string

	mu sync.Mutex
	// asked counts the connections by what clients wanted to reach.
	asked map[string]int
}

func newTunnel(t *testing.T, to string) *tunnel {
	t.Helper()
	p := &tunnel{to: to, asked: map[string]int{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

func (p *tunnel) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked[r.Host]++
	p.mu.Unlock()
	if r.Method != http.MethodConnect || r.Host != outside {
		http.Error(w, "this way leads to the landscaper cluster only", http.StatusForbidden)
		return
	}
	there, err := net.Dial("tcp", p.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		there.Close()
		return
	}
	_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
	go func() {
		defer here.Close()
		_, _ = io.Copy(here, there)
	}()
	defer there.Close()
	_, _ = io.Copy(there, buffered)
}

// reached returns how many connections the proxy was asked for.
func (p *tunnel) reached() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked[outside]
}

// A fence lets nothing out but through its proxy: so the agent gets to the landscaper cluster, and so do the deployers, whose kubeconfigs are made there.
func TestTheLandscaperClusterIsReachedThroughAProxy(t *testing.T) {
	s := newScene(t, "proxied")
	proxy := newTunnel(t, s.centre.Address)
	args := s.agentArgs()
	path := filepath.Join(s.dir, "landscaper.kubeconfig")
	config, err := clientcmd.LoadFromFile(path)
	require.NoError(t, err)
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.TLSServerName = "https://"+outside, "127.0.0.1"
	}
	require.NoError(t, clientcmd.WriteToFile(*config, path))
	s.environ = []string{"HTTPS_PROXY=" + proxy.URL, "NO_PROXY=127.0.0.1"}

	agent := s.start("proxied-agent", s.account, args...)

	agent.awaitReady()
	assert.Positive(t, proxy.reached())
	assert.Equal(t, proxy.URL, s.registered().Spec.LandscaperClusterRestConfig.ProxyURL)

	s.environ = nil
	path = filepath.Join(s.dir, "deployer.kubeconfig")
	require.NoError(t, os.WriteFile(path, s.admit("manifest-proxied"), 0o600))
	before := proxy.reached()
	s.start("manifest-proxied", "deployer-proxied", "deployer", "manifest", "--environment=proxied", "--landscaper-kubeconfig="+path).awaitReady()
	assert.Greater(t, proxy.reached(), before, "its kubeconfig names the proxy")
}
