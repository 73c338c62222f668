// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"slices"
	"testing"
)

// BenchmarkTenants reports for each act how many times as long the neighbours take as they take alone in the same run.
func BenchmarkTenants(b *testing.B) {
	newNeighbours(b).live(b) // what is opened for the first time takes longer
	for _, a := range slices.Concat(acts, slowActs) {
		b.Run(a.name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(timesAlone(b, a), "times-alone")
			}
		})
	}
}
