// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"errors"
	"net/http"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// trouble is what keeps a part of the agent from its work. It is shown while the agent is not ready, and told by an event once for each reason. It is
// safe for concurrent use.
type trouble struct {
	say func(eventType, reason, message string)

	mu sync.Mutex
	// text is the problem; empty is none. told is the reason of the event about it.
	text, told string
}

// problem is what is wrong; empty is nothing.
func (t *trouble) problem() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text
}

// show notes a problem without an event: it may be over at the next try.
func (t *trouble) show(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = text
}

// tell says a problem.
func (t *trouble) tell(reason, text string) {
	t.mu.Lock()
	isNew := t.told != reason
	t.text, t.told = text, reason
	t.mu.Unlock()
	if isNew {
		t.say(corev1.EventTypeWarning, reason, text)
	}
}

// over ends the problem.
func (t *trouble) over() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text, t.told = "", ""
}

// met shows an error, and tells one that only a person can end. Where it is of rights or a quota, refused says by which reason, and what to do.
func (t *trouble) met(err error, refused refusedBy) {
	text := err.Error()
	if apierrors.IsForbidden(err) {
		text += "; " + refused.cure
	}
	if isRefused(err) {
		t.tell(refused.reason, text)
		return
	}
	t.show(text)
}

// refusedBy is what to say where one of the clusters refuses something to the agent.
type refusedBy struct{ reason, cure string }

// The two clusters.
var (
	byLandscaper = refusedBy{"AgentRefused", "apply flux/agent-access for this Environment on the landscaper cluster, which gives the agent its rights"}
	byHost       = refusedBy{"HostAccessRefused", "let the quota, policy or right that the message names allow it; the rights of the agent in its own cluster are in flux/agent"}
)

// ofHost is an error of the own cluster.
type ofHost struct{ error }

// Unwrap returns the error.
func (e *ofHost) Unwrap() error { return e.error }

// refuser returns whose error it is.
func refuser(err error) refusedBy {
	if _, is := errors.AsType[*ofHost](err); is {
		return byHost
	}
	return byLandscaper
}

// isRefused reports whether an API server refused a request and will refuse it again: not for what has changed or is gone, nor for what there is too much of.
func isRefused(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) {
		return false
	}
	code := answer.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusTooManyRequests
}
