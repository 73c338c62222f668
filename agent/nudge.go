// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// nudge queues one request when a controller starts, because nothing that exists may ask for it, and whenever it is asked to.
type nudge chan event.GenericEvent

func newNudge() nudge {
	n := make(nudge, 1)
	n.again()
	return n
}

// again queues the request, once the controller has started.
func (n nudge) again() {
	select {
	case n <- event.GenericEvent{Object: &corev1.Secret{}}: // the request is the same for each
	default:
	}
}

// source is for the controller.
func (n nudge) source(request ctrl.Request) source.Source {
	return source.Channel(n, handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []ctrl.Request { return []ctrl.Request{request} }))
}
