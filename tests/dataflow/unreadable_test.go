// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestT03AnUnreadableObjectStopsNobody has durations that the schema lets through and Go does not.
func TestT03AnUnreadableObjectStopsNobody(t *testing.T) {
	s := newScene(t)
	const never = "9999999999999999h"
	s.install("bad", mocked("Succeeded", object{"succeededReconcile": object{"interval": never}}))
	s.Put("DeployItem", "bad", object{"spec": object{"type": "example.com/nobody", "config": object{}, "timeout": never}})
	s.Put("Execution", "stray", object{"spec": object{"deployItems": list{object{
		"name": "a", "type": "example.com/nobody", "config": object{}, "timeout": never,
	}}}})
	assert.Contains(t, s.failed("bad").Message, "spec.automaticReconcile.succeededReconcile.interval cannot be read")
	s.install("good", mocked("Succeeded", object{}))
	s.succeeded("good")
	s.install("bad", mocked("Succeeded", object{"succeededReconcile": object{"interval": "24h"}}))
	s.succeeded("bad")
}
