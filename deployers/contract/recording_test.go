// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"net/http"
	"strings"
	"sync"
	"time"
)

// recording notes the requests of a client about single objects of one namespace, before they are sent, so that whoever sees the effect of
// a request also finds it here.
type recording struct {
	namespace string

	mu    sync.Mutex
	sent  []string
	times []time.Time
}

var verbs = map[string]string{
	http.MethodGet: "get", http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete",
}

func (r *recording) wrap(base http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		r.note(request)
		return base.RoundTrip(request)
	})
}

func (r *recording) note(request *http.Request) {
	_, rest, found := strings.Cut(request.URL.Path, "/namespaces/"+r.namespace+"/")
	parts := strings.Split(rest, "/")
	if !found || parts[0] == "events" || request.Method == http.MethodGet && len(parts) == 1 {
		return
	}
	what := verbs[request.Method] + " " + parts[0]
	if len(parts) == 3 {
		what += "/" + parts[2]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent, r.times = append(r.sent, what), append(r.times, time.Now())
}

func (r *recording) since(since time.Time) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, at := range r.times {
		if !at.Before(since) {
			return append([]string{}, r.sent[i:]...)
		}
	}
	return []string{}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls the function.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
