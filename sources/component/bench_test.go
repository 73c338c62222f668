// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// BenchmarkDecode reads one descriptor of usual size.
func BenchmarkDecode(b *testing.B) {
	text, err := sample(b, "v2.yaml").Encode(component.SchemaV2)
	require.NoError(b, err)
	for b.Loop() {
		_, err := component.Decode(text)
		require.NoError(b, err)
	}
}

// many returns a root with 299 components behind it, three references deep, each with the resources of the sample.
func many(b *testing.B) (*component.Descriptor, component.Resolver) {
	model := sample(b, "v2.yaml")
	known := map[component.Key]*component.Descriptor{}
	for i := range 300 {
		d := refersTo(fmt.Sprintf("c%d", i))
		d.Resources = model.Resources
		if i > 0 {
			parent := known[key(fmt.Sprintf("c%d", (i-1)/7))]
			parent.References = append(parent.References, refersTo("", d.Name[len("example.com/"):]).References...)
		}
		known[d.Key()] = d
	}
	return known[key("c0")], component.Resolver(func(_ context.Context, k component.Key, _ component.Hint) (*component.Descriptor, error) {
		return known[k], nil
	})
}

// BenchmarkClosure300 resolves 300 components that are in memory.
func BenchmarkClosure300(b *testing.B) {
	root, resolver := many(b)
	for b.Loop() {
		closed, err := component.Closure(b.Context(), root, resolver, component.Limits{})
		require.NoError(b, err)
		require.Len(b, closed.Descriptors, 300)
	}
}

// BenchmarkViewAll300 makes the binding components of 300 components.
func BenchmarkViewAll300(b *testing.B) {
	root, resolver := many(b)
	closed, err := component.Closure(b.Context(), root, resolver, component.Limits{})
	require.NoError(b, err)
	for b.Loop() {
		require.NotNil(b, closed.ViewAll(component.SchemaV2))
	}
}
