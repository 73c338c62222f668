// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package clouds stands in for clouds in tests: servers with TLS under the real names of their services, reached through a proxy on
// loopback. A process that has the Environment of a World reaches these servers and nothing else outside of loopback.
package clouds

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
	"os"
	"path/filepath"
	"sync"
	"time"
)

// World is a set of servers by name.
type World struct {
	// CA is the certificate authority of all servers, PEM-encoded.
	CA []byte

	authority *x509.Certificate
	key       *ecdsa.PrivateKey
	servers   net.Listener
	proxy     net.Listener
	closers   []io.Closer
	file      string

	mu       sync.Mutex
	handlers map[string]http.Handler
}

// Start starts a world without servers. Its files lie in dir.
func Start(dir string) (*World, error) {
	w := &World{handlers: map[string]http.Handler{}, file: filepath.Join(dir, "authority.pem")}
	if err := w.certify(); err != nil {
		return nil, err
	}
	for _, listener := range []*net.Listener{&w.servers, &w.proxy} {
		opened, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		*listener = opened
	}
	secured := tls.NewListener(w.servers, &tls.Config{GetCertificate: w.certificate, MinVersion: tls.VersionTLS12})
	w.serve(secured, w.answer)
	w.serve(w.proxy, w.connect)
	return w, nil
}

func (w *World) serve(listener net.Listener, handler http.HandlerFunc) {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	w.closers = append(w.closers, server)
	go func() { _ = server.Serve(listener) }()
}

// Close ends all servers.
func (w *World) Close() {
	for _, closer := range w.closers {
		_ = closer.Close()
	}
}

// Serve sets what answers under a name; nil takes the server away.
func (w *World) Serve(host string, handler http.Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if handler == nil {
		delete(w.handlers, host)
		return
	}
	w.handlers[host] = handler
}

// Environment is what a process needs to live in the world, as KEY=value.
func (w *World) Environment() []string {
	return []string{"HTTPS_PROXY=http://" + w.proxy.Addr().String(), "SSL_CERT_FILE=" + w.file}
}

// certify makes the authority.
func (w *World) certify() (err error) {
	if w.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	own := template("clouds of tests")
	own.IsCA, own.BasicConstraintsValid, own.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, own, own, w.key.Public(), w.key)
	if err != nil {
		return err
	}
	if w.authority, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	w.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return os.WriteFile(w.file, w.CA, 0o600)
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

// certificate makes one for the name that is asked for.
func (w *World) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template(hello.ServerName), w.authority, w.key.Public(), w.key)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: w.key}, nil
}

func (w *World) handler(host string) http.Handler {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.handlers[host]
}

func (w *World) answer(out http.ResponseWriter, request *http.Request) {
	if handler := w.handler(request.Host); handler != nil {
		handler.ServeHTTP(out, request)
		return
	}
	out.WriteHeader(http.StatusNotFound)
}

// connect is the proxy: every name that has a server leads to it.
func (w *World) connect(out http.ResponseWriter, request *http.Request) {
	host, _, err := net.SplitHostPort(request.Host)
	if request.Method != http.MethodConnect || err != nil || w.handler(host) == nil {
		out.WriteHeader(http.StatusBadGateway)
		return
	}
	server, err := net.Dial("tcp", w.servers.Addr().String())
	if err != nil {
		out.WriteHeader(http.StatusBadGateway)
		return
	}
	defer server.Close()
	client, _, err := http.NewResponseController(out).Hijack()
	if err != nil {
		return
	}
	defer client.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n")
	go func() {
		_, _ = io.Copy(server, client)
		_ = server.Close()
	}()
	_, _ = io.Copy(client, server)
}
