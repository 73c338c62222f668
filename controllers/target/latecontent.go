// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// eventsOf returns the handler of the events of Secrets or ConfigMaps that wakes the objects which name one. Thousands may name one that changes without end,
// so that a worker of its namespace looks for them.
func (p *protector) eventsOf(content contentKind) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(p.later.Noted(content.name, isNamed(p, p.kind, content), p.holders(content)))
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

// keepQueue keeps the queue that a worker adds those to. It is called before any worker begins.
func (p *protector) keepQueue(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	p.queue = queue
	return nil
}

// isNamed returns the function that reports whether somebody names a Secret or ConfigMap, also where that cannot be found out.
func isNamed(c client.Reader, kind userKind, content contentKind) func(context.Context, client.Object) bool {
	return func(ctx context.Context, object client.Object) bool {
		found, err := naming(ctx, c, kind, content, object, client.Limit(1))
		return err != nil || len(found) > 0
	}
}
