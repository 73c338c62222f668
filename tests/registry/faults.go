// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

// Fault may answer a request in place of the registry; it reports whether it did.
type Fault func(r *Registry, w http.ResponseWriter, request *http.Request) bool

// Status answers with a status, and Retry-After in seconds if that is positive.
func Status(code, retryAfter int) Fault {
	return func(_ *Registry, w http.ResponseWriter, _ *http.Request) bool {
		if retryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		}
		w.WriteHeader(code)
		return true
	}
}

// Reset breaks the connection in place of an answer.
func Reset() Fault {
	return func(_ *Registry, w http.ResponseWriter, _ *http.Request) bool {
		reset(w)
		return true
	}
}

func reset(w http.ResponseWriter) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	if plain, ok := connection.(*net.TCPConn); ok {
		_ = plain.SetLinger(0)
	}
	_ = connection.Close()
}

// Hang does not answer until the client has left.
func Hang() Fault {
	return func(r *Registry, _ http.ResponseWriter, request *http.Request) bool {
		select {
		case <-request.Context().Done():
		case <-r.stopped:
		}
		return true
	}
}

// Body answers with bytes of the given type in place of the content.
func Body(mediaType string, content []byte) Fault {
	return func(_ *Registry, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", mediaType)
		_, _ = w.Write(content)
		return true
	}
}

// Zeros answers with so many zero bytes, announcing the length declared; negative announces none.
func Zeros(declared, sent int64) Fault {
	return func(_ *Registry, w http.ResponseWriter, request *http.Request) bool {
		w.Header().Set("Content-Type", "application/octet-stream")
		if declared >= 0 {
			w.Header().Set("Content-Length", strconv.FormatInt(declared, 10))
		}
		if request.Method != http.MethodHead {
			_, _ = io.CopyN(w, zeros{}, sent)
		}
		return true
	}
}

type zeros struct{}

// Read implements io.Reader.
func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// Cut lets the registry answer but breaks the connection after so many bytes of the content.
func Cut(after int) Fault {
	return func(r *Registry, w http.ResponseWriter, request *http.Request) bool {
		r.backend.ServeHTTP(&cutWriter{w, after}, request)
		return true
	}
}

type cutWriter struct {
	http.ResponseWriter
	left int
}

// Write implements io.Writer.
func (c *cutWriter) Write(p []byte) (int, error) {
	if len(p) <= c.left {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	_, _ = c.ResponseWriter.Write(p[:c.left])
	_ = http.NewResponseController(c.ResponseWriter).Flush()
	panic(http.ErrAbortHandler)
}

// On limits a fault to a method and a kind of Request; an empty one stands for any.
func On(method, kind string, fault Fault) Fault {
	return func(r *Registry, w http.ResponseWriter, request *http.Request) bool {
		what := parse(request)
		fits := (method == "" || method == what.Method) && (kind == "" || kind == what.Kind)
		return fits && fault(r, w, request)
	}
}

// In limits a fault to a repository.
func In(repository string, fault Fault) Fault {
	return func(r *Registry, w http.ResponseWriter, request *http.Request) bool {
		return parse(request).Repository == repository && fault(r, w, request)
	}
}

// Reads limits a fault to requests that read.
func Reads(fault Fault) Fault {
	return func(r *Registry, w http.ResponseWriter, request *http.Request) bool {
		return strings.Contains("GET HEAD", request.Method) && fault(r, w, request)
	}
}

// Times limits a fault to the first n requests that it would answer.
func Times(n int32, fault Fault) Fault {
	var done atomic.Int32
	return func(r *Registry, w http.ResponseWriter, request *http.Request) bool {
		return done.Add(1) <= n && fault(r, w, request)
	}
}

// EverySecond limits a fault to the first, third, fifth... request.
func EverySecond(fault Fault) Fault {
	var seen atomic.Int32
	return func(r *Registry, w http.ResponseWriter, request *http.Request) bool {
		return seen.Add(1)%2 == 1 && fault(r, w, request)
	}
}
