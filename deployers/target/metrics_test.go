// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	clientmetrics "k8s.io/client-go/tools/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// hostsCounted returns the hosts by which requests were counted.
func hostsCounted(t *testing.T) (hosts []string) {
	t.Helper()
	families, err := metrics.Registry.Gather()
	require.NoError(t, err)
	for _, family := range families {
		if family.GetName() != "rest_client_requests_total" {
			continue
		}
		for _, series := range family.GetMetric() {
			for _, label := range series.GetLabel() {
				if label.GetName() == "host" {
					hosts = append(hosts, label.GetValue())
				}
			}
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts) // other tests ask for other codes
}

func TestHostsThatTenantsChooseAreNoLabels(t *testing.T) {
	CountByHost(&rest.Config{Host: "https://landscaper.example.com:6443"})
	for _, host := range []string{"landscaper.example.com:6443", "a.example.com", "b.example.com", "\xff"} {
		clientmetrics.RequestResult.Increment(t.Context(), "200", "GET", host)
	}
	assert.ElementsMatch(t, []string{"landscaper.example.com:6443", otherHost}, hostsCounted(t))
}
