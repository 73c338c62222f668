// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// rest is the least time between two versions, so that a landscape in which much happens keeps no processor busy.
const rest = 200 * time.Millisecond

// assets are what make generate builds of the folder web.
//
//go:embed assets
var assets embed.FS

// Server shows a landscape to the browsers of this machine.
type Server struct {
	// Cluster says where the landscape is, and Namespace is the one that is shown; empty for all.
	Cluster, Namespace string
	// Reader lists events, with the rights of whoever looks.
	Reader client.Reader

	viewers viewers
	events  events
}

// Serve answers requests to a listener, which has to be on loopback, until ctx ends. It shows the newest of the snapshots, as landscape.Watch
// sends them.
func (s *Server) Serve(ctx context.Context, listener net.Listener, snapshots <-chan *landscape.Snapshot) error {
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok || !address.IP.IsLoopback() {
		return fmt.Errorf("%s is no loopback address: everybody who reaches it would see what you may see", listener.Addr())
	}
	s.viewers.state, s.events.reader = &state{next: make(chan struct{})}, s.Reader
	server := &http.Server{
		Handler: guarded(s.routes(), address.Port), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	for {
		select {
		case snapshot, more := <-snapshots:
			if !more {
				snapshots = nil // ctx ends, too
				continue
			}
			if err := s.viewers.publish(snapshot, s.Cluster, s.Namespace, time.Now()); err != nil {
				return err
			}
			select {
			case <-ctx.Done():
			case <-time.After(rest):
			}
		case err := <-failed:
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
	}
}

func (s *Server) routes() http.Handler {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	mux.HandleFunc("GET /api/changes", s.viewers.stream)
	mux.HandleFunc("GET /api/object", s.withObject(func(_ context.Context, now *landscape.Snapshot, object client.Object) (any, error) {
		return detailOf(now, object, time.Now()), nil
	}))
	mux.HandleFunc("GET /api/events", s.withObject(func(ctx context.Context, now *landscape.Snapshot, object client.Object) (any, error) {
		return s.events.of(ctx, now.Below(object))
	}))
	return mux
}

// withObject answers for the object that the parameter key names.
func (s *Server) withObject(answer func(context.Context, *landscape.Snapshot, client.Object) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now := s.viewers.current()
		if now.snapshot == nil {
			http.Error(w, "the landscape is being read", http.StatusServiceUnavailable)
			return
		}
		id, ok := idOf(r.URL.Query().Get("key"))
		if !ok {
			http.Error(w, "key has to be KIND/NAMESPACE/NAME of a node of the landscape", http.StatusBadRequest)
			return
		}
		object := now.snapshot.Find(id.Kind, id.Namespace, id.Name)
		if object == nil || !slices.Contains(shown, id.Kind) {
			http.Error(w, "there is no "+id.String()+" in what is shown", http.StatusNotFound)
			return
		}
		result, err := answer(r.Context(), now.snapshot, object)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result) // whoever has gone needs no answer
	}
}

// headers are sent with every answer: nothing of others runs in the page, and the page runs in nothing of others.
var headers = map[string]string{
	"Content-Security-Policy": "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cache-Control":                "no-store",
}

// guarded lets only requests to read through, and only those that name this machine as host: a page of others whose name leads here sees nothing.
func guarded(next http.Handler, port int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		switch {
		case !isOurs(r.Host, port):
			http.Error(w, "the host of the request is not this machine; open the address that the command has printed", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet:
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "the page only reads", http.StatusMethodNotAllowed)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func isOurs(host string, port int) bool {
	name, number, err := net.SplitHostPort(host)
	if err != nil || number != fmt.Sprint(port) {
		return false
	}
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}
