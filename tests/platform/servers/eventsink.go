// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package servers

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// eventSink takes the events of all processes of a test binary.
var eventSink = sync.OnceValue(func() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusAccepted)
	}))
})

// EventFlags returns the flags with which a sub-command of landscaper posts events, as flux/install ships it, to a receiver that takes all of
// them. Sub-commands that record no events get none.
func EventFlags(command string) []string {
	if command != "controller" && !strings.HasPrefix(command, "controller ") && !strings.HasPrefix(command, "deployer ") {
		return nil
	}
	return []string{EventFlag()}
}

// EventFlag returns the flag with which every program made for Flux, ours or not, posts events to that receiver.
func EventFlag() string { return "--events-addr=" + eventSink().URL }
