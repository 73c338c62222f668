// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/secrecy"
)

// Error is a failed operation.
type Error struct {
	// Verb is the operation: install, upgrade, rollback, test, uninstall or render.
	Verb string
	// Release is namespace/name.
	Release string
	// Cause is Helm's error.
	Cause error
	// Log holds the last lines that Helm logged.
	Log string
	// Pods is what the Pods of a hook that failed wrote last, by the name of the hook.
	Pods map[string]string
}

// Error names the release, the cause, what the Pods of a hook wrote and what Helm logged last. The Pods of a test are left out: see Pods.
func (e *Error) Error() string {
	text := fmt.Sprintf("helm %s of release %s failed: %s", e.Verb, e.Release, e.Cause)
	if e.Verb != verbTest {
		for _, hook := range slices.Sorted(maps.Keys(e.Pods)) {
			text += " (last log lines of hook " + hook + ": " + e.Pods[hook] + ")"
		}
	}
	if e.Log != "" {
		text += " (last log lines of helm: " + e.Log + ")"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// secretsOf returns the texts that no error about a request may show.
func secretsOf(request Request) []string {
	return append(secrecy.Sensitive(request.Values), request.Secrets...)
}
