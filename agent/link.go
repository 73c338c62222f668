// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/connrotation"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
)

// Times of connections to the landscaper cluster.
const (
	dialTimeout = 10 * time.Second
	idleTimeout = 90 * time.Second
	// A connection over which nothing came for quietTime is asked whether it still leads anywhere, and closed without an answer in echoTime: where
	// a way was interrupted nobody may have been told. Both together leave time to go on within ten seconds, and ways of two seconds in each
	// direction are no interruption.
	quietTime = 2500 * time.Millisecond
	echoTime  = 5500 * time.Millisecond
	// maxRepeats is how often a read is sent again that the connection broke.
	maxRepeats = 5
)

// Link is the way to the landscaper cluster that a kubeconfig file describes. The file, and those that it names, may change at any time. While the
// landscaper cluster is not reached requests wait, so that no client gives up or slows down: the first heartbeat that gets through lets them
// all go on. It is safe for concurrent use.
type Link struct {
	path string
	// credential is the token to use in place of those of the file; nil is none.
	credential *credential
	gate       gate
	// suspect gets a value when a request has failed on its way.
	suspect chan struct{}

	mu      sync.Mutex
	current *line
}

// line is the link as one state of the files describes it.
type line struct {
	digest [sha256.Size]byte
	server v1alpha1.ClusterRestConfig
	base   *url.URL
	send   http.RoundTripper
	opened *connrotation.ConnectionTracker
}

// OpenLink reads a kubeconfig file. Nothing is sent yet. The error names what is wrong with the file.
func OpenLink(path string) (*Link, error) {
	return openLink(path, nil)
}

func openLink(path string, credential *credential) (*Link, error) {
	l := &Link{path: path, credential: credential, suspect: make(chan struct{}, 1)}
	l.gate.shut()
	_, err := l.Reload()
	return l, err
}

// Reload reads the files again and reports whether they have changed. Connections of old credentials are closed then. With an error the link stays
// as it was.
func (l *Link) Reload() (bool, error) {
	next, err := readLine(l.path, l.credential)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	previous := l.current
	if previous != nil && previous.digest == next.digest {
		l.mu.Unlock()
		return false, nil
	}
	l.current = next
	l.mu.Unlock()
	if previous != nil {
		previous.opened.CloseAll()
	}
	return previous != nil, nil
}

func (l *Link) line() *line {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current
}

// Server says how the landscaper cluster is reached, without credentials.
func (l *Link) Server() v1alpha1.ClusterRestConfig { return l.line().server }

// renewal is how a person gets another credential for the link.
func (l *Link) renewal() string {
	if l.credential != nil {
		return "where it was revoked make a new bootstrap token by `flux landscaper agent bootstrap-token` and replace the Secret"
	}
	return "renew its kubeconfig"
}

// Config is the configuration of clients whose requests wait while the landscaper cluster is not reached.
func (l *Link) Config() *rest.Config { return l.config(gated{l}) }

// probeConfig is the configuration of clients whose requests do not wait.
func (l *Link) probeConfig() *rest.Config { return l.config(direct{l}) }

func (l *Link) config(transport http.RoundTripper) *rest.Config {
	return &rest.Config{Host: l.line().server.Host, Transport: transport, QPS: -1}
}

// up lets the requests go.
func (l *Link) up() { l.gate.lift() }

// down has requests wait, and ends those that are under way: their connections may never answer.
func (l *Link) down() {
	l.gate.shut()
	l.line().opened.CloseAll()
}

// retire has no request wait any more: the process ends, and a request that no context ends would keep it.
func (l *Link) retire() { l.gate.end() }

// direct sends at once.
type direct struct{ *Link }

// RoundTrip sends a request.
func (d direct) RoundTrip(request *http.Request) (*http.Response, error) {
	return d.line().roundTrip(request)
}

// gated waits until the landscaper cluster is reached.
type gated struct{ *Link }

// RoundTrip sends a request once the landscaper cluster is reached, and again where its connection breaks and it only reads.
func (g gated) RoundTrip(request *http.Request) (*http.Response, error) {
	for repeats := 0; ; repeats++ {
		if err := g.gate.wait(request.Context()); err != nil {
			return nil, err
		}
		response, err := g.line().roundTrip(request)
		if err == nil || request.Context().Err() != nil {
			return response, err
		}
		g.gate.shut()
		select {
		case g.suspect <- struct{}{}:
		default:
		}
		if request.Method != http.MethodGet || repeats == maxRepeats {
			return nil, err
		}
	}
}

// roundTrip sends a request to where the line leads now: clients are older than it.
func (l *line) roundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Host != l.base.Host || request.URL.Scheme != l.base.Scheme {
		request = request.Clone(request.Context())
		request.URL.Scheme, request.URL.Host, request.Host = l.base.Scheme, l.base.Host, ""
	}
	return l.send.RoundTrip(request)
}

// readLine reads the files of a kubeconfig.
func readLine(path string, credential *credential) (*line, error) {
	config, err := readConfig(path)
	if err != nil {
		return nil, err
	}
	if credential != nil {
		config = rest.AnonymousClientConfig(config)
		config.BearerToken = ptr.Deref(credential.token.Load(), "")
	}
	return lineOf(config)
}

// readConfig reads a kubeconfig with the files that it names.
func readConfig(path string) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig of the landscaper cluster cannot be read; mount or correct it: %w", err)
	}
	if config.ExecProvider != nil || config.AuthProvider != nil {
		return nil, errors.New("the kubeconfig of the landscaper cluster runs a command for its credentials; use a token, tokenFile or a client certificate")
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		return nil, fmt.Errorf("the kubeconfig of the landscaper cluster names a file that cannot be read: %w", err)
	}
	if config.BearerTokenFile != "" {
		token, err := os.ReadFile(config.BearerTokenFile)
		if err != nil {
			return nil, fmt.Errorf("the kubeconfig of the landscaper cluster names a token file that cannot be read: %w", err)
		}
		config.BearerToken, config.BearerTokenFile = string(bytes.TrimSpace(token)), ""
	}
	return config, nil
}

func lineOf(config *rest.Config) (*line, error) {
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig of the landscaper cluster has no usable server: %w", err)
	}
	trust, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig of the landscaper cluster has unusable certificates or keys: %w", err)
	}
	dialer := &net.Dialer{Timeout: dialTimeout, KeepAlive: 15 * time.Second}
	l := &line{digest: digestOf(config), base: base, server: serverOf(config, base), opened: connrotation.NewConnectionTracker()}
	pool := utilnet.SetTransportDefaults(&http.Transport{
		Proxy: config.Proxy, TLSClientConfig: trust, TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: idleTimeout,
		DialContext: connrotation.NewDialerWithTracker(dialer.DialContext, l.opened).DialContext,
		HTTP2:       &http.HTTP2Config{SendPingTimeout: quietTime, PingTimeout: echoTime},
	})
	bare := rest.CopyConfig(config)
	bare.Transport = pool
	l.send, err = rest.HTTPWrappersForConfig(bare, pool)
	return l, err
}

func digestOf(config *rest.Config) [sha256.Size]byte {
	hash := sha256.New()
	proxy := ""
	if config.Proxy != nil {
		if address, err := config.Proxy(nil); err == nil && address != nil {
			proxy = address.String()
		}
	}
	for _, part := range []string{
		config.Host, config.APIPath, config.ServerName, fmt.Sprint(config.Insecure), string(config.CAData), string(config.CertData), string(config.KeyData),
		config.BearerToken, config.Username, config.Password, config.Impersonate.UserName, proxy, strings.Join(config.NextProtos, ","),
	} {
		fmt.Fprintf(hash, "%q ", part)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

// serverOf is what an Environment says about the way to the landscaper cluster.
func serverOf(config *rest.Config, base *url.URL) v1alpha1.ClusterRestConfig {
	return v1alpha1.ClusterRestConfig{
		Host: config.Host, APIPath: config.APIPath, Insecure: config.Insecure, ServerName: config.ServerName, CAData: config.CAData, NextProtos: config.NextProtos,
		ProxyURL: proxyOf(config, base),
	}
}

// proxyOf returns the proxy of a connection, of the kubeconfig or of the environment variables, for others who take the same way. One that wants a login
// is left out: what the Environment says leaves the own network.
func proxyOf(config *rest.Config, base *url.URL) string {
	find := config.Proxy
	if find == nil {
		find = utilnet.NewProxierWithNoProxyCIDR(http.ProxyFromEnvironment)
	}
	proxy, err := find(&http.Request{URL: base})
	if err != nil || proxy == nil || proxy.User != nil {
		return ""
	}
	named := *proxy
	if named.Scheme == "socks5h" {
		named.Scheme = "socks5" // the same to Go; kubeconfigs know this name only
	}
	return named.String()
}

// gate holds requests back while it is shut. The zero value is open.
type gate struct {
	mu sync.Mutex
	// closed is closed when the gate opens; nil while it is open.
	closed chan struct{}
	// isOver says that nobody waits any more.
	isOver bool
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed == nil {
		g.closed = make(chan struct{})
	}
}

func (g *gate) lift() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed != nil {
		close(g.closed)
		g.closed = nil
	}
}

// end has nobody wait at the gate any more. What it holds back it refuses.
func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.isOver = true
	if g.closed != nil {
		close(g.closed)
		g.closed = make(chan struct{})
	}
}

func (g *gate) look() (closed chan struct{}, isOver bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed, g.isOver
}

// errOver is why a gate refuses a request.
var errOver = errors.New("the landscaper cluster is not reached, or another agent holds the Environment, and the process ends")

// wait returns when the gate is open, the error of ctx, or errOver.
func (g *gate) wait(ctx context.Context) error {
	for {
		closed, isOver := g.look()
		switch {
		case closed == nil:
			return nil
		case isOver:
			return errOver
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-closed:
		}
	}
}

// Keep lets the requests of a link go while the landscaper cluster answers, until ctx ends; from then on none waits. It is for processes without a
// heartbeat: they ask only when they start, when a request has failed on its way, and when the files have changed. The error says that the link cannot be
// used.
func (l *Link) Keep(ctx context.Context) error {
	defer l.retire()
	asker, err := rest.HTTPClientFor(l.probeConfig())
	if err != nil {
		return fmt.Errorf("connect to the landscaper cluster: %w", err)
	}
	for pace := (&tempo{}); ctx.Err() == nil; {
		began := time.Now()
		if pace.within(ctx, func(ctx context.Context) error { return l.ask(ctx, asker) }) != nil {
			l.down()
			queue.Sleep(ctx, probeInterval-time.Since(began))
			l.refresh()
			continue
		}
		l.up()
		l.untilDoubt(ctx)
		queue.Sleep(ctx, doubtInterval-time.Since(began))
	}
	return nil
}

// ask fails where the landscaper cluster does not answer. What it says does not matter.
func (l *Link) ask(ctx context.Context, asker *http.Client) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, l.line().base.JoinPath("version").String(), nil)
	if err != nil {
		return err
	}
	answer, err := asker.Do(request)
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// untilDoubt returns when a request has failed on its way, or the files have changed.
func (l *Link) untilDoubt(ctx context.Context) {
	ticks := time.NewTicker(beatInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.suspect:
			return
		case <-ticks.C:
			if l.refresh() {
				return
			}
		}
	}
}

// refresh reads the files again; what cannot be read leaves the link as it was.
func (l *Link) refresh() bool {
	changed, err := l.Reload()
	if err != nil {
		ctrl.Log.WithName("link").Info("the kubeconfig is unusable, the last one is used on", "reason", err.Error())
	}
	return changed
}
