// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// nudge queues one request when a controller starts, because nothing that exists may ask for it, and whenever it is asked to. The zero value is
// ready to use.
type nudge struct {
	mu      sync.Mutex
	queue   workqueue.TypedRateLimitingInterface[ctrl.Request]
	request ctrl.Request
}

// source is for the controller.
func (n *nudge) source(request ctrl.Request) source.Source {
	return source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		n.mu.Lock()
		n.queue, n.request = queue, request
		n.mu.Unlock()
		queue.Add(request)
		return nil
	})
}

// again queues the request, if the controller has started.
func (n *nudge) again() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.queue != nil {
		n.queue.Add(n.request)
	}
}
