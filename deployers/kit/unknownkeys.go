// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"github.com/fluxcd/pkg/runtime/conditions"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// UnknownKey is the reason of what is said about keys that nobody knows.
const UnknownKey = "UnknownKey"

// NoteUnknownKeys sets or removes the condition about keys without effect, and reports whether it names other keys than before. In names the document,
// and stands before the keys.
func NoteUnknownKeys(obj conditions.Setter, in string, keys []document.Key) bool {
	if len(keys) == 0 {
		conditions.Delete(obj, v1alpha1.UnknownKeysCondition)
		return false
	}
	before := conditions.GetMessage(obj, v1alpha1.UnknownKeysCondition)
	conditions.MarkTrue(obj, v1alpha1.UnknownKeysCondition, UnknownKey, "%s", Message(in+document.List(keys)))
	return conditions.GetMessage(obj, v1alpha1.UnknownKeysCondition) != before
}
