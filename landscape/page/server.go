// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"context"
	"embed"
	"encoding/json"
	"errors"
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

// Server shows a landscape to browsers.
type Server struct {
	// Cluster says where the landscape is, empty where that is no news, and Namespace is the one that is shown; empty for all.
	Cluster, Namespace string
	// Reader lists events, with the rights of the server.
	Reader client.Reader
	// Access lets others look than the user of this machine; nil where nobody else may.
	Access *Access

	viewers viewers
	events  events
}

// Serve answers requests to a listener until ctx ends. Without Access it has to be on loopback. It shows the newest of the snapshots, as
// landscape.Watch sends them.
func (s *Server) Serve(ctx context.Context, listener net.Listener, snapshots <-chan *landscape.Snapshot) error {
	address := listener.Addr()
	isOurs := func(host string) bool { return isThisMachine(host, address.(*net.TCPAddr).Port) }
	who := func(*http.Request) (*viewer, error) { return nil, nil }
	switch {
	case s.Access != nil:
		if err := errors.Join(s.Access.Check(address), s.Access.prepare()); err != nil {
			return err
		}
		listener, isOurs, who = s.Access.listener(listener), s.Access.allows, s.Access.viewer
	case !isLoopback(address):
		return fmt.Errorf("%s is no loopback address: everybody who reaches it would see what you may see", address)
	}
	s.viewers.access, s.viewers.cluster, s.viewers.namespace = s.Access, s.Cluster, s.Namespace
	s.viewers.newest, s.viewers.views = &edition{next: make(chan struct{})}, map[string]*view{}
	s.events.reader = s.Reader
	server := &http.Server{
		Handler: guarded(s.routes(), isOurs, who), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute,
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
			s.viewers.publish(snapshot)
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
	mux.HandleFunc("GET /api/object", s.withObject(func(r *http.Request, now *landscape.Snapshot, object client.Object) (any, error) {
		return detailOf(now, object, time.Now()), nil
	}))
	mux.HandleFunc("GET /api/events", s.withObject(func(r *http.Request, now *landscape.Snapshot, object client.Object) (any, error) {
		objects := now.Below(object)
		if err := s.mayListEvents(r, objects); err != nil {
			return nil, err
		}
		return s.events.of(r.Context(), objects)
	}))
	return mux
}

// mayListEvents refuses viewers who may not list the events of each namespace of some objects.
func (s *Server) mayListEvents(r *http.Request, objects []client.Object) error {
	if s.Access.showsAll() {
		return nil
	}
	for _, object := range objects {
		may, err := s.Access.may(r.Context(), viewerOf(r), scope{"Event", object.GetNamespace()})
		switch {
		case err != nil:
			return err
		case !may:
			return fmt.Errorf("you may not list the events of %s", cmp.Or(object.GetNamespace(), "all namespaces"))
		}
	}
	return nil
}

// withObject answers for the object that the parameter key names, from what the viewer may list.
func (s *Server) withObject(answer func(*http.Request, *landscape.Snapshot, client.Object) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		now, err := s.viewers.look(r.Context(), viewerOf(r), s.viewers.current())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		if now == nil {
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
		result, err := answer(r, now.snapshot, object)
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

// viewerKey is where the context of a request has who looks.
type viewerKey struct{}

// viewerOf returns who looks; nil where that makes no difference.
func viewerOf(r *http.Request) *viewer {
	who, _ := r.Context().Value(viewerKey{}).(*viewer)
	return who
}

// guarded lets only requests to read through, and only those that name a host of ours, so that a page of others whose name leads here sees nothing. Who
// says who looks, or refuses the request.
func guarded(next http.Handler, isOurs func(host string) bool, who func(*http.Request) (*viewer, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		viewer, err := who(r)
		switch {
		case !isOurs(r.Host):
			http.Error(w, "the page is not at the host of the request; open the address that it was started for", http.StatusMisdirectedRequest)
		case r.Method != http.MethodGet:
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, "the page only reads", http.StatusMethodNotAllowed)
		case err != nil:
			http.Error(w, err.Error(), http.StatusForbidden)
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), viewerKey{}, viewer)))
		}
	})
}

func isThisMachine(host string, port int) bool {
	name, number, err := net.SplitHostPort(host)
	if err != nil || number != fmt.Sprint(port) {
		return false
	}
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}
