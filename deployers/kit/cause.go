// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RetryCause returns why an object says that its work, or work below it, is tried again; "" when it does not say so.
func RetryCause(obj conditions.Getter) string {
	shown := conditions.Get(obj, meta.ReconcilingCondition)
	if shown == nil || shown.Status != metav1.ConditionTrue || shown.Reason != meta.ProgressingWithRetryReason {
		return ""
	}
	return shown.Message
}

// ShowCause shows on an object at work why work below it is tried again, or, when the cause is "", otherwise in place of a cause that is over. A
// cause that says the same as the shown one but for words with digits, as counters and times are, changes nothing.
func ShowCause(obj JobObject, cause, otherwise string) {
	shown := RetryCause(obj)
	switch {
	case cause == "" && shown != "":
		Progress(obj, meta.ProgressingReason, otherwise)
	case cause != "" && withoutNumbers(shown) != withoutNumbers(Message(cause)):
		Progress(obj, meta.ProgressingWithRetryReason, cause)
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
