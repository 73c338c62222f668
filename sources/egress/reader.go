// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bytes"
	"cmp"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

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
