// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"sync"

	"k8s.io/client-go/rest"
	clientmetrics "k8s.io/client-go/tools/metrics"
	_ "sigs.k8s.io/controller-runtime/pkg/metrics" // registers the metric that is replaced here
)

// otherHost is the label for all hosts that tenants may have chosen: Prometheus clients never forget a label, and panic at one that is not UTF-8.
const otherHost = "target"

// results counts requests of all Kubernetes clients of the process by code, method and host.
type results struct {
	next clientmetrics.ResultMetric
	// own has the hosts that have a label of their own.
	own sync.Map
}

var counted = &results{next: clientmetrics.RequestResult}

func init() { clientmetrics.RequestResult = counted }

// Increment counts a request.
func (r *results) Increment(ctx context.Context, code, method, host string) {
	if _, isOwn := r.own.Load(host); !isOwn {
		host = otherHost
	}
	r.next.Increment(ctx, code, method, host)
}

// CountByHost gives the server of a configuration, which the operator chose, a label of its own in the metric rest_client_requests_total. All others have the
// same, since tenants choose the hosts of Targets.
func CountByHost(config *rest.Config) {
	if base, _, err := rest.DefaultServerUrlFor(config); err == nil {
		counted.own.Store(base.Host, true)
	}
}
