// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// relay exports what it imports with a letter more.
func relay(from, to string) object {
	return object{
		"blueprint": inline(object{
			"imports": dataImports("in"), "exports": dataExports("out"),
			"exportExecutions": goTemplate("exports: {out: '{{ .imports.in }}x'}"),
		}),
		"imports": object{"data": list{object{"name": "in", "dataRef": from}}},
		"exports": object{"data": list{object{"name": "out", "dataRef": to}}},
	}
}

// TestAChainOfRoots lets one change go from the first to the last, with one job for each. tests/soak/bench measures how long it takes.
func TestAChainOfRoots(t *testing.T) {
	const length = 12
	s := newScene(t)
	s.install("i-00", producer("v-00", "a", ""))
	for i := 1; i < length; i++ {
		s.install(fmt.Sprintf("i-%02d", i), relay(fmt.Sprintf("v-%02d", i-1), fmt.Sprintf("v-%02d", i)))
	}
	last := fmt.Sprintf("i-%02d", length-1)
	s.succeeded(last)
	s.install("i-00", producer("v-00", "b", ""))
	s.AwaitState(last, func(inst *v1alpha1.Installation) bool {
		return inst.Status.IsIdle() && strings.HasPrefix(s.value(fmt.Sprintf("v-%02d", length-1)), `"bx`)
	})
	assert.Equal(t, fmt.Sprintf("%q", "b"+strings.Repeat("x", length-1)), s.value(fmt.Sprintf("v-%02d", length-1)))
	for i := range length {
		s.RequireJobs(2, fmt.Sprintf("i-%02d", i))
	}
}

// TestAFanOfConsumers lets one change reach all of them, with one job for each. tests/soak/bench measures how long it takes.
func TestAFanOfConsumers(t *testing.T) {
	const consumers = 24
	s := newScene(t)
	s.install("source", producer("source", "a", ""))
	s.succeeded("source")
	for i := range consumers {
		s.install(fmt.Sprintf("c-%03d", i), relay("source", fmt.Sprintf("o-%03d", i)))
	}
	for i := range consumers {
		s.succeeded(fmt.Sprintf("c-%03d", i))
	}
	s.install("source", producer("source", "b", ""))
	for i := range consumers {
		name := fmt.Sprintf("c-%03d", i)
		require.Eventually(t, func() bool { return len(s.Witness.Jobs(s.Namespace, name)) == 2 }, landscapePatience, tick)
		s.succeeded(name)
	}
	for i := range consumers {
		name := fmt.Sprintf("c-%03d", i)
		s.RequireJobs(2, name)
		assert.Equal(t, `"bx"`, s.value(fmt.Sprintf("o-%03d", i)))
	}
}
