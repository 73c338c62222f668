// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// short is long enough for a busy machine, and for nobody who waits for its end.
const short = 2 * time.Second

func serving(t *testing.T, answer http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server
}

// read asks with a login, and returns what comes.
func read(t *testing.T, sender *Transport, url string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Basic c2VjcmV0")
	request.Header.Set("Private-Token", "secret")
	request.Header.Set("Accept", "text/plain")
	answer, err := sender.Client().Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	return string(content), err
}

// drip writes slowly, until nobody listens.
func drip(ctx context.Context, drop func() error) {
	for drop() == nil {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return
		}
	}
}

// seen says which of a login a server got.
func seen(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprint(w, r.Header.Get("Authorization"), "|", r.Header.Get("Private-Token"), "|", r.Header.Get("Accept"), "|", r.Header.Get("Referer"))
}

func TestCredentialsStayWithTheirServer(t *testing.T) {
	t.Parallel()
	other := serving(t, seen)
	mux := http.NewServeMux()
	server := serving(t, mux.ServeHTTP)
	back := serving(t, http.RedirectHandler(server.URL+"/here", http.StatusFound).ServeHTTP)
	mux.HandleFunc("/here", seen)
	mux.Handle("/moved", http.RedirectHandler("/here", http.StatusMovedPermanently))
	mux.Handle("/away", http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	mux.Handle("/back", http.RedirectHandler(back.URL, http.StatusFound))
	sender := New(Policy{Redirects: MostRedirects})
	for path, want := range map[string]string{
		"/here": "Basic c2VjcmV0|secret|text/plain|", "/moved": "Basic c2VjcmV0|secret|text/plain|" + server.URL + "/moved",
		"/away": "||text/plain|", "/back": "||text/plain|",
	} {
		got, err := read(t, sender, server.URL+path)
		require.NoError(t, err, path)
		assert.Equal(t, want, got, path)
	}
}

// A client that knows a login sends it to who is named there.
func TestAnotherServerAsksForNoLogin(t *testing.T) {
	t.Parallel()
	other := serving(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Bearer realm="https://thief.example"`)
		w.WriteHeader(http.StatusUnauthorized)
	})
	for url, challenged := range map[string]bool{other.URL: true, serving(t, http.RedirectHandler(other.URL, http.StatusFound).ServeHTTP).URL: false} {
		answer, err := New(Policy{Redirects: 1}).Client().Get(url)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
		assert.Equal(t, challenged, answer.Header.Get("WWW-Authenticate") != "")
	}
}

func TestRedirectsEnd(t *testing.T) {
	t.Parallel()
	server := serving(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			return
		}
		http.Redirect(w, r, strings.TrimSuffix(r.URL.Path, "x"), http.StatusFound)
	})
	for hops, want := range map[int]error{0: nil, MostRedirects: nil, MostRedirects + 1: ErrRedirects} {
		_, err := read(t, New(Policy{Redirects: MostRedirects}), server.URL+"/"+strings.Repeat("x", hops))
		require.ErrorIs(t, err, want, hops)
	}
	_, err := read(t, New(Policy{}), server.URL+"/x")
	require.ErrorIs(t, err, ErrRedirect)
}

func TestTLSIsNotGivenUp(t *testing.T) {
	t.Parallel()
	plain := serving(t, seen)
	server := httptest.NewTLSServer(http.RedirectHandler(plain.URL, http.StatusFound))
	t.Cleanup(server.Close)
	trust := server.Client().Transport.(*http.Transport).TLSClientConfig
	_, err := read(t, New(Policy{TLS: trust, Redirects: 5}), server.URL)
	require.ErrorIs(t, err, ErrDowngrade)
}

func TestAnswersEnd(t *testing.T) {
	t.Parallel()
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	header := func(w http.ResponseWriter, r *http.Request) {
		connection, _, err := w.(http.Hijacker).Hijack()
		if !assert.NoError(t, err) {
			return
		}
		defer connection.Close()
		_, _ = io.WriteString(connection, "HTTP/1.1 200 OK\r\n")
		drip(t.Context(), func() error { _, err := io.WriteString(connection, "X-Drip: drop\r\n"); return err })
	}
	body := func(w http.ResponseWriter, r *http.Request) {
		drip(r.Context(), func() error { _, _ = io.WriteString(w, "drop"); return http.NewResponseController(w).Flush() })
	}
	endless := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<16))
		}
	}
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		want   error
	}{
		"a silent server": {silent, ErrSilent}, "a header that drips": {header, ErrSilent}, "a body that drips": {body, ErrSlow}, "an endless body": {endless, ErrLarge},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serving(t, tc.answer)
			_, err := read(t, New(Policy{Header: short, Body: short, Most: 1 << 20}), server.URL)
			require.ErrorIs(t, err, tc.want)
			var late net.Error
			assert.Equal(t, tc.want != ErrLarge, errors.As(err, &late) && late.Timeout())
		})
	}
}

func TestWhoStoresMayTakeItsTime(t *testing.T) {
	t.Parallel()
	server := serving(t, func(http.ResponseWriter, *http.Request) { time.Sleep(200 * time.Millisecond) })
	for stores, want := range map[bool]error{true: nil, false: ErrSilent} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, server.URL, strings.NewReader("content"))
		require.NoError(t, err)
		answer, err := New(Policy{Header: 50 * time.Millisecond, Stores: stores}).Client().Do(request)
		require.ErrorIs(t, err, want)
		if err == nil {
			require.NoError(t, answer.Body.Close())
		}
	}
}

func watches(r *http.Request) bool { return r.URL.Query().Has("watch") }

func TestAStreamLivesLongerThanAnAnswer(t *testing.T) {
	t.Parallel()
	server := serving(t, func(w http.ResponseWriter, r *http.Request) {
		for range 5 {
			_, _ = io.WriteString(w, "event\n")
			_ = http.NewResponseController(w).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	})
	sender := New(Policy{Body: 100 * time.Millisecond, Most: 10, Stream: watches, Event: 10, Renewal: time.Minute})
	got, err := read(t, sender, server.URL+"?watch")
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("event\n", 5), got, "all events together may be larger than one")
	_, err = read(t, sender, server.URL)
	require.Error(t, err)
}

func TestStreamsAreRenewed(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	server := serving(t, func(w http.ResponseWriter, r *http.Request) {
		drip(r.Context(), func() error {
			sent.Add(1)
			_, _ = io.WriteString(w, "event\n")
			return http.NewResponseController(w).Flush()
		})
	})
	got, err := read(t, New(Policy{Stream: watches, Event: 1 << 20, Renewal: 300 * time.Millisecond}), server.URL+"?watch")
	require.NoError(t, err, "it ends as any other stream does")
	assert.NotEmpty(t, got)

	got, err = read(t, New(Policy{Stream: watches, Event: 10, Renewal: time.Minute}), server.URL+"?watch")
	require.NoError(t, err)
	assert.GreaterOrEqual(t, len(got), 10*eventsOfStream)
	assert.True(t, strings.HasSuffix(got, "event\n"), "no event is torn: %q", got)
}

func TestALargeEventEndsItsStream(t *testing.T) {
	t.Parallel()
	server := serving(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "event\n")
		for r.Context().Err() == nil {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<16))
		}
	})
	_, err := read(t, New(Policy{Stream: watches, Event: 1 << 20, Renewal: time.Minute}), server.URL+"?watch")
	require.ErrorIs(t, err, ErrLarge)
}

func TestLargeHeadersAreRefused(t *testing.T) {
	t.Parallel()
	for length, ok := range map[int]bool{maxHeaderBytes / 2: true, 2 * maxHeaderBytes: false} {
		server := serving(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("ETag", strings.Repeat("x", length)) })
		_, err := read(t, New(Policy{}), server.URL)
		assert.Equal(t, ok, err == nil, "%v", err)
	}
}

func TestOnlyWhoAsksForHTTP2GetsIt(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	trust := &tls.Config{RootCAs: server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs, MinVersion: tls.VersionTLS12}
	for wanted, want := range map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"} {
		got, err := read(t, New(Policy{TLS: trust, HTTP2: wanted}), server.URL)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestWhatIsNotHTTPIsNotShown(t *testing.T) {
	t.Parallel()
	const said = "internal-document-9f3c"
	for name, text := range map[string]string{
		"banner": "SSH-2.0-" + said + "\r\n", "code": "HTTP/1.1 " + said + "\r\n\r\n", "header": "HTTP/1.1 200 OK\r\n" + said + "\r\n\r\n",
		"length": "HTTP/1.1 200 OK\r\nContent-Length: " + said + "\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			server := serving(t, func(w http.ResponseWriter, _ *http.Request) {
				connection, _, err := w.(http.Hijacker).Hijack()
				if assert.NoError(t, err) {
					_, _ = io.WriteString(connection, text)
					_ = connection.Close()
				}
			})
			_, err := read(t, New(Policy{}), server.URL)
			require.Error(t, err)
			assert.NotContains(t, err.Error(), said)
		})
	}
}
