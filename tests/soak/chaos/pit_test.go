// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

// pit lies between the controller and the API server. Once set, the controller dies right after its next write of one object, and stays
// dead until somebody starts it again.
type pit struct {
	kubeconfig []byte

	mu      sync.Mutex
	program *rig.Program
	path    string // end of the path of the write to die after; empty when not set
	sprung  chan struct{}
}

// dig makes a pit for a user with all rights.
func (s *stage) dig() *pit {
	s.t.Helper()
	config, err := s.NewUser(rig.Controller, rig.AllRights)
	require.NoError(s.t, err)
	p := &pit{}
	p.kubeconfig, err = platform.KubeconfigFor(s.through(config, p.handler))
	require.NoError(s.t, err)
	return p
}

// set lets a program die after its next write to a path with this end. The channel is closed when it is dead.
func (p *pit) set(program *rig.Program, path string) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.program, p.path, p.sprung = program, path, make(chan struct{})
	return p.sprung
}

// due reports whether a request is the write to die after.
func (p *pit) due(r *http.Request) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path == "" || r.Method == http.MethodGet || !strings.HasSuffix(r.URL.Path, p.path) {
		return false
	}
	p.path = ""
	return true
}

func (p *pit) handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.due(r) {
			next.ServeHTTP(w, r)
			return
		}
		// The write goes through even if the connection of the program breaks; its answer goes nowhere.
		next.ServeHTTP(httptest.NewRecorder(), r.WithContext(context.WithoutCancel(r.Context())))
		_ = p.program.Kill9() // a program that lives on does not reach what the test waits for
		close(p.sprung)
		panic(http.ErrAbortHandler)
	})
}

// metadata lists the objects of a kind in the namespace of the units.
func (s *stage) metadata(ctx context.Context, kind string) []metav1.PartialObjectMetadata {
	s.t.Helper()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
	require.NoError(s.t, s.harness.List(ctx, list, client.InNamespace(s.units.Namespace)))
	return list.Items
}
