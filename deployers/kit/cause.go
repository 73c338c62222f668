// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cause is why the work of a job is not done yet. The zero Cause is none.
type Cause struct {
	// Reason is that of the condition Reconciling: meta.ProgressingWithRetryReason, or what the job waits for.
	Reason string
	// Message says it in full, with the way to it.
	Message string
}

// CauseOf returns why the running job of an object, or work below it, waits or is tried again; none where it only says that it is at work.
func CauseOf(obj JobObject) Cause {
	shown := conditions.Get(obj, meta.ReconcilingCondition)
	if obj.Job().IsIdle() || shown == nil || shown.Status != metav1.ConditionTrue ||
		shown.Reason == meta.ProgressingReason || shown.Reason == ReasonDeleting {
		return Cause{}
	}
	return Cause{shown.Reason, shown.Message}
}

// IsStuck reports whether the cause is one that may stay until a person acts: work that is tried again, or that nobody begins.
func (c Cause) IsStuck() bool {
	return c.Reason == meta.ProgressingWithRetryReason || c.Reason == ReasonAgentUnreachable || c.Reason == ReasonDeployerBusy
}

// Below returns the cause as an object above shows it, with the way to it; none stays none.
func (c Cause) Below(way string) Cause {
	if c.Message != "" {
		c.Message = way + ": " + c.Message
	}
	return c
}

// ShowCause shows on an object at work why work below it is not done, or, when there is no cause, otherwise in place of a cause that is over. A
// cause that differs in numbers only, as counters and addresses do, is not shown anew.
func ShowCause(obj JobObject, cause Cause, otherwise string) {
	shown := CauseOf(obj)
	switch {
	case cause.Message == "" && shown.Message != "":
		Progress(obj, meta.ProgressingReason, otherwise)
	case cause.Message != "" && (shown.Reason != Reason(cause.Reason) || withoutNumbers(shown.Message) != withoutNumbers(Message(cause.Message))):
		Progress(obj, cause.Reason, cause.Message)
	}
}

// withoutNumbers replaces the words of a text that hold a digit.
func withoutNumbers(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if strings.ContainsAny(word, "0123456789") {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}
