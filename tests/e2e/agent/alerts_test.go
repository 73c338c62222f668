// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

// receiver takes events as notification-controller does.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []eventv1.Event
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		event := eventv1.Event{}
		if json.NewDecoder(request.Body).Decode(&event) == nil {
			r.mu.Lock()
			r.got = append(r.got, event)
			r.mu.Unlock()
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(r.Close)
	return r
}

// has reports whether an event about an object came.
func (r *receiver) has(kind, name, reason string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, event := range r.got {
		if event.InvolvedObject.Kind == kind && event.InvolvedObject.Name == name && event.Reason == reason {
			return true
		}
	}
	return false
}

// The Flux of the fenced cluster hears of partitions, whatever becomes of the landscaper cluster.
func TestTheFluxOfTheFenceHearsOfPartitions(t *testing.T) {
	s := newScene(t, "heard")
	events := newReceiver(t)
	agent := s.start("heard-agent", s.account, s.agentArgs("--events-addr="+events.URL)...)
	agent.awaitReady()
	hears := func(reason string) {
		require.Eventually(t, func() bool { return events.has("Pod", "heard-agent", reason) }, patience, 50*time.Millisecond, reason)
	}
	hears("AgentConnected")
	hears("EnvironmentRegistered")

	s.centre.Become(faults.Reset)

	hears("AgentDisconnected")
}
