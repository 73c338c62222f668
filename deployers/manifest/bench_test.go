// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"testing"
)

// BenchmarkEnsure measures jobs of one item with many objects. Each figure is for all objects of the item.
func BenchmarkEnsure(b *testing.B) {
	const objects = 200
	names := make([]string, objects)
	for i := range names {
		names[i] = fmt.Sprintf("o%d", i)
	}
	l := newLife(b)
	b.Run("create and delete", func(b *testing.B) {
		l.t = b
		for b.Loop() {
			l.configure(manifests("0", names...))
			l.succeed()
			l.configure(manifests("0"))
			l.succeed()
		}
	})
	l.t = b
	l.configure(manifests("0", names...))
	l.succeed()
	b.Run("unchanged", func(b *testing.B) {
		l.t = b
		for b.Loop() {
			l.configure(manifests("0", names...))
			l.succeed()
		}
	})
	b.Run("changed", func(b *testing.B) {
		l.t = b
		for i := 0; b.Loop(); i++ {
			l.configure(manifests(fmt.Sprint("changed", i), names...))
			l.succeed()
		}
	})
}
