// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Error is a failed operation.
type Error struct {
	// Verb is the operation: install, upgrade, rollback, test, uninstall or render.
	Verb string
	// Release is namespace/name.
	Release string
	// Kind is ErrSchema or nil.
	Kind error
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

// Unwrap returns kind and cause.
func (e *Error) Unwrap() []error {
	if e.Kind == nil {
		return []error{e.Cause}
	}
	return []error{e.Kind, e.Cause}
}

// minimumSecret is the length from which a value under a sensitive key is withheld; shorter ones would blacken ordinary words.
const minimumSecret = 4

var sensitiveKey = regexp.MustCompile(`(?i)pass|secret|token|credential|private|apikey|accesskey|auth|cert|kubeconfig`)

// withheld is an error whose text does not show secrets.
type withheld struct {
	err     error
	secrets []string
}

// Error returns the text without the secrets and without objects that the API server quotes.
func (w withheld) Error() string { return withhold(target.ShownError(w.err), w.secrets) }

// Unwrap returns the original error for errors.As and errors.Is.
func (w withheld) Unwrap() error { return w.err }

// maxSecrets is how many secrets are looked for in a text.
const maxSecrets = 10_000

// secretsOf returns the texts that no error about a request may show, longer ones first: a secret may be part of another one.
func secretsOf(request Request) []string {
	secrets := append(sensitive(request.Values), request.Secrets...)
	slices.SortFunc(secrets, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	return slices.Compact(secrets)
}

func withhold(text string, secrets []string) string {
	if len(secrets) > maxSecrets {
		return "*** (the values hold too many secrets to look for them in the message)"
	}
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// sensitive returns the strings below keys that sound like secrets.
func sensitive(values map[string]any) []string {
	var found []string
	for key, value := range values {
		found = collect(found, value, sensitiveKey.MatchString(key))
	}
	return found
}

func collect(found []string, value any, isSecret bool) []string {
	switch typed := value.(type) {
	case map[string]any:
		for key, inner := range typed {
			found = collect(found, inner, isSecret || sensitiveKey.MatchString(key))
		}
	case []any:
		for _, inner := range typed {
			found = collect(found, inner, isSecret)
		}
	case string:
		if isSecret && len(typed) >= minimumSecret {
			found = append(found, typed)
		}
	}
	return found
}
