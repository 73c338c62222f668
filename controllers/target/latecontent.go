// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// eventsOf returns the handler of the events of Secrets or ConfigMaps that wakes the objects which name one.
func (p *protector) eventsOf(content contentKind) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(p.holders(content))
}

func (p *protector) holders(content contentKind) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		found, err := naming(ctx, p, p.kind, content, object)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot find who names an object", "object", client.ObjectKeyFromObject(object))
		}
		var names []string
		for _, holder := range found {
			names = append(names, holder.GetName())
		}
		return requests(object.GetNamespace(), names)
	}
}
