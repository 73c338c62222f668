// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// front is a server before an API server, with a certificate of its own. It passes requests on as they are.
type front struct {
	t      *testing.T
	server *httptest.Server
	// certificate is shown to new connections.
	certificate atomic.Pointer[tls.Certificate]
}

// newFront makes a front that hands each request to meet, with what passes it on.
func newFront(t *testing.T, cluster *platform.Cluster, meet func(http.ResponseWriter, *http.Request, http.HandlerFunc)) *front {
	t.Helper()
	backend, err := url.Parse(cluster.RestConfig.Host)
	require.NoError(t, err)
	transport, err := rest.TransportFor(rest.AnonymousClientConfig(cluster.RestConfig))
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(backend) }}
	f := &front{t: t}
	f.rotate()
	f.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { meet(w, r, proxy.ServeHTTP) }))
	f.server.EnableHTTP2, f.server.Config.ErrorLog = true, log.New(io.Discard, "", 0)
	f.server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*f.certificate.Load()}, NextProtos: []string{"h2"}}, nil
	}}
	f.server.StartTLS()
	t.Cleanup(func() {
		f.server.CloseClientConnections()
		f.server.Close()
	})
	return f
}

// asIs passes requests on.
func asIs(w http.ResponseWriter, r *http.Request, pass http.HandlerFunc) { pass(w, r) }

// rotate gives the front a certificate of a new authority, which is the certificate itself.
func (f *front) rotate() {
	f.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(f.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "front"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(f.t, err)
	f.certificate.Store(&tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key})
	if f.server != nil {
		f.server.CloseClientConnections()
	}
}

// authority signs the certificate of the front.
func (f *front) authority() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.certificate.Load().Certificate[0]})
}

// scythe kills a process at its writes, as these pass fronts: at each kind of write twice before it is carried out, and twice after.
type scythe struct {
	// counts tells the writes at which to kill.
	counts func(r *http.Request) bool

	mu sync.Mutex
	// kill ends the process; nil leaves it alone.
	kill func()
	// deaths are those that there were, and how often.
	deaths map[string]int
}

// arm lets a process die once.
func (s *scythe) arm(kill func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kill = kill
}

// meet is for fronts. The answer to the last write of a process reaches nobody.
func (s *scythe) meet(w http.ResponseWriter, r *http.Request, pass http.HandlerFunc) {
	s.mu.Lock()
	write := r.Method + " " + path.Base(r.URL.Path)
	before, after := "before "+write, "after "+write
	isLast := s.kill != nil && r.Method != http.MethodGet && s.counts(r) && s.deaths[after] < 2
	if !isLast {
		s.mu.Unlock()
		pass(w, r)
		return
	}
	defer s.mu.Unlock()
	death := before
	if s.deaths[before] > s.deaths[after] {
		death = after
		pass(httptest.NewRecorder(), r)
	}
	s.deaths[death]++
	s.kill()
	s.kill = nil
}
