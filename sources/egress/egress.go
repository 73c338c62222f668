// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package egress sends requests to servers that others name: Targets, registries, chart repositories, Git servers, issuers, the storage of artifacts and
// receivers of events. Each use has a Policy, which bounds the time and the size of answers, and says where redirects may lead. Where an operator wants
// that, connections lead to public addresses only.
package egress

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

const (
	// MostRedirects is how many redirects a registry, a repository or a storage of artifacts may need.
	MostRedirects = 5
	// dialTimeout is the time for a connection, and for its TLS handshake.
	dialTimeout = 10 * time.Second
	// headerTimeout is the time until the header of an answer where a policy names none.
	headerTimeout = 30 * time.Second
	// maxHeaderBytes bounds the header of an answer: real ones have a few kilobytes.
	maxHeaderBytes = 256 << 10
	idleTimeout    = 90 * time.Second
	// idlePerHost is how many connections to a server wait for the next request.
	idlePerHost = 25
	// unreadBytes is how much of an HTTP/2 answer a server may send before somebody reads it.
	unreadBytes = 256 << 10
)

// Policy says how requests are sent, and what an answer may be.
type Policy struct {
	// Dial opens connections; nil means Dialing, to public addresses alone where PublicOnly says so. Each connection is judged, those that redirects
	// lead to included.
	Dial       Dial
	PublicOnly bool
	// Proxy and TLS are those of the connections; nil means the proxy of the environment, and the authorities of the system.
	Proxy func(*http.Request) (*url.URL, error)
	TLS   *tls.Config
	// HTTP2 lets one connection carry many requests.
	HTTP2 bool
	// Plain asks for no compression: what a digest is about are the bytes on the wire.
	Plain bool

	// Header is the time from the begin of a request until the header of its answer; zero means 30 seconds. With Stores it holds for no PUT and PATCH: those
	// who store content do so before they answer.
	Header time.Duration
	Stores bool
	// Body is the time for the rest of an answer; zero leaves it to the context of the request. Most is how many bytes it may have; zero leaves that to who
	// reads it.
	Body time.Duration
	Most int64
	// Redirects is how many are followed. With none an answer that is a redirect is ErrRedirect.
	Redirects int
	// Stream tells the requests whose answers are read while they come. Nil means none. For such an answer Renewal stands in place of Body, after which it
	// ends, so that who reads it asks again, and Event in place of Most, for each of its lines.
	Stream  func(*http.Request) bool
	Renewal time.Duration
	Event   int64
}

// Transport sends requests within a policy. It is safe for concurrent use.
type Transport struct {
	policy Policy
	base   http.RoundTripper
}

// New returns a transport with connections of its own.
func New(p Policy) *Transport { return Over(connections(p), p) }

// Over returns a transport whose requests base sends. What a policy says of connections is left to that.
func Over(base http.RoundTripper, p Policy) *Transport {
	p.Header = cmp.Or(p.Header, headerTimeout)
	return &Transport{policy: p, base: base}
}

// Client returns a client of the transport.
func (t *Transport) Client() *http.Client { return &http.Client{Transport: t} }

// WrappedRoundTripper lets client-go find the connections.
func (t *Transport) WrappedRoundTripper() http.RoundTripper { return t.base }

// CloseIdleConnections closes what no request needs.
func (t *Transport) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(t.base) }

// connections returns the connections of a policy. The proxy of the environment is not asked for a server that is named by an address which the process
// does not reach for tenants: that connection is tried directly, and refused. What names lead to behind a proxy is for the proxy to decide.
func connections(p Policy) *http.Transport {
	pool := &http.Transport{
		DialContext: p.Dial, Proxy: p.Proxy, TLSClientConfig: p.TLS.Clone(), DisableCompression: p.Plain, MaxResponseHeaderBytes: maxHeaderBytes,
		TLSHandshakeTimeout: dialTimeout, IdleConnTimeout: idleTimeout, MaxIdleConnsPerHost: idlePerHost, ExpectContinueTimeout: time.Second,
	}
	if p.Dial == nil {
		pool.DialContext = Dialing(p.PublicOnly, dialTimeout)
	}
	if p.Proxy == nil {
		pool.Proxy = Proxy(p.PublicOnly, http.ProxyFromEnvironment)
	}
	if p.HTTP2 {
		pool.HTTP2 = &http.HTTP2Config{MaxReceiveBufferPerStream: unreadBytes}
		return utilnet.SetTransportDefaults(pool)
	}
	if p.TLS == nil {
		pool.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	pool.Protocols = new(http.Protocols)
	pool.Protocols.SetHTTP1(true)
	pool.TLSClientConfig.NextProtos = []string{"http/1.1"} // the default one offers HTTP/2
	return pool
}

// RoundTrip sends a request. Its errors quote nothing that the server said.
func (t *Transport) RoundTrip(request *http.Request) (*http.Response, error) {
	sent, isForeign, err := t.policy.follow(request)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(request.Context())
	if !t.policy.Stores || request.Method != http.MethodPut && request.Method != http.MethodPatch {
		defer time.AfterFunc(t.policy.Header, func() { cancel(ErrSilent) }).Stop()
	}
	response, err := t.base.RoundTrip(sent.WithContext(ctx))
	if err != nil {
		defer cancel(nil)
		return nil, speakable(ctx, err)
	}
	response.Request = request
	if code := response.StatusCode; t.policy.Redirects == 0 && code >= 300 && code < 400 && code != http.StatusNotModified {
		_ = response.Body.Close() // nobody reads it
		cancel(nil)
		return nil, ErrRedirect
	}
	if isForeign {
		response.Header.Del("Www-Authenticate") // the login is for another server
	}
	response.Body = t.policy.bounded(ctx, cancel, request, response.Body)
	return response, nil
}

// bounded returns a body within the policy. A connection that has switched its protocol is left alone.
func (p *Policy) bounded(ctx context.Context, cancel context.CancelCauseFunc, request *http.Request, from io.ReadCloser) io.ReadCloser {
	if _, isSwitched := from.(io.Writer); isSwitched {
		return from
	}
	b := &body{Reader: from, from: from, ctx: ctx, cancel: cancel}
	after, cause := p.Body, ErrSlow
	switch isStream := p.Stream != nil && p.Stream(request); {
	case isStream:
		after, cause = p.Renewal, errRenewed
		if p.Event > 0 {
			b.Reader = &lines{from: from, most: p.Event, left: p.Event, untilRenewal: eventsOfStream * p.Event}
		}
	case p.Most > 0:
		b.Reader = Reader(from, p.Most, ErrLarge)
	}
	if after > 0 {
		b.late = time.AfterFunc(after, func() { cancel(cause) })
	}
	return b
}

// body is an answer within a policy.
type body struct {
	io.Reader
	from   io.Closer
	ctx    context.Context
	cancel context.CancelCauseFunc
	late   *time.Timer
}

// Read reads from the answer.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && err != io.EOF && err != ErrLarge {
		err = speakable(b.ctx, err)
	}
	return n, err
}

// Close ends the answer.
func (b *body) Close() error {
	if b.late != nil {
		b.late.Stop()
	}
	err := b.from.Close()
	b.cancel(nil)
	return err
}

var (
	// ErrSilent says that no answer began in time.
	ErrSilent error = lateError("the server did not answer in time; check its address and the server behind it")
	// ErrSlow says that an answer did not end in time.
	ErrSlow error = lateError("the server did not send the whole answer in time; check its address and the server behind it")
	// ErrLarge says that an answer is larger than one may be.
	ErrLarge = errors.New("the answer of the server is too large; check its address and the server behind it")
	// ErrRedirect says that the server answers with a redirect where none is followed.
	ErrRedirect = errors.New("the server redirects, which is not followed; name the address that it leads to")
	// ErrRedirects says that there are too many of them.
	ErrRedirects = errors.New("too many redirects; name the address that they lead to")
	// ErrDowngrade says that a redirect gives TLS up.
	ErrDowngrade = errors.New("a redirect leads from https to something else; name an https address")

	errRenewed = errors.New("the stream has to be asked for again")
)

// lateError is about a server that took too long, as network errors are: another try may help.
type lateError string

// Error returns the text.
func (e lateError) Error() string { return string(e) }

// Timeout makes it a net.Error that tells of a time.
func (e lateError) Timeout() bool { return true }

// Temporary is part of net.Error.
func (e lateError) Temporary() bool { return true }

// concealed is an error whose text may quote what a server sent; only its kind is shown.
type concealed struct{ cause error }

// Error returns what may be shown.
func (c *concealed) Error() string { return "the server does not speak HTTP as it has to" }

// Unwrap returns the cause.
func (c *concealed) Unwrap() error { return c.cause }

// speakable returns the error to report for a request that failed. Errors of the network, of TLS and of the context are as they are; the text of others may
// quote the server and is not shown.
func speakable(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errRenewed):
		return io.EOF
	case errors.Is(cause, ErrSilent), errors.Is(cause, ErrSlow):
		return cause
	case err.Error() == "net/http: TLS handshake timeout": // its type is not exported
		return ErrSilent
	case quotesNothing(err):
		return err
	}
	return &concealed{cause: err}
}

func quotesNothing(err error) bool {
	for _, own := range []error{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, ErrPrivate, net.ErrClosed} {
		if errors.Is(err, own) {
			return true
		}
	}
	var network net.Error
	var record tls.RecordHeaderError
	var alert tls.AlertError
	var verification *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	if errors.As(err, &network) || errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &verification) || errors.As(err, &authority) {
		return true
	}
	text := err.Error()
	return strings.HasPrefix(text, "tls: ") || strings.HasPrefix(text, "http: server ") || strings.HasPrefix(text, "http2: ") && !strings.Contains(text, "GOAWAY") ||
		strings.HasPrefix(text, "unsupported protocol scheme")
}

// Reader returns a reader of at most so many bytes. Where more come it fails with exceeded, and where there are none it ends as the other reader does.
func Reader(from io.Reader, most int64, exceeded error) io.Reader {
	return &limited{from: from, left: most, exceeded: exceeded}
}

type limited struct {
	from     io.Reader
	left     int64
	exceeded error
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, l.exceeded
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.from.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, l.exceeded
	}
	return n, err
}

// eventsOfStream is how many events of the largest size a stream may bring before it has to be asked for again: what a decoder has kept is forgotten then.
const eventsOfStream = 8

// lines is a stream of lines of at most so many bytes, which ends after one of them.
type lines struct {
	from io.Reader
	// left are the bytes that the line may still have, untilRenewal those until the stream ends after a line.
	most, left, untilRenewal int64
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	switch {
	case l.untilRenewal <= 0:
		return 0, io.EOF
	case int64(len(p)) > l.left+1:
		p = p[:l.left+1]
	}
	n, err := l.from.Read(p)
	end := bytes.LastIndexByte(p[:n], '\n') + 1
	switch {
	case end > 0:
		l.left = l.most - int64(n-end)
	default:
		l.left -= int64(n)
	}
	if l.left < 0 {
		return 0, ErrLarge
	}
	if l.untilRenewal -= int64(n); l.untilRenewal <= 0 && end > 0 {
		return end, err
	}
	l.untilRenewal = max(l.untilRenewal, 1)
	return n, err
}

// withoutLogin are the headers of a request that may go along to another server. All others may be, or tell of, credentials.
var withoutLogin = []string{"Accept", "Accept-Encoding", "Content-Length", "Content-Type", "If-Modified-Since", "If-None-Match", "Range", "User-Agent"}

// follow judges a request that a redirect led to, and returns what to send, without credentials where it goes to another server than the first one.
func (p *Policy) follow(request *http.Request) (sent *http.Request, isForeign bool, err error) {
	isSecure, hops := request.URL.Scheme == "https", 0
	for at := request; at.Response != nil && at.Response.Request != nil; at = at.Response.Request {
		from := at.Response.Request.URL
		isForeign = isForeign || Server(from) != Server(at.URL)
		if hops++; hops > p.Redirects {
			return nil, false, ErrRedirects
		}
		if from.Scheme == "https" && !isSecure {
			return nil, false, ErrDowngrade
		}
	}
	if !isForeign {
		return request, false, nil
	}
	sent = request.Clone(request.Context())
	for name := range sent.Header {
		if !slices.Contains(withoutLogin, name) {
			sent.Header.Del(name)
		}
	}
	return sent, true, nil
}

var ports = map[string]string{"http": "80", "https": "443"}

// Server returns host and port of a URL in one form.
func Server(u *url.URL) string {
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	return net.JoinHostPort(host, cmp.Or(u.Port(), ports[u.Scheme]))
}
