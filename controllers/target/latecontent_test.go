// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// updates sends events of a Secret, and returns what they have queued.
func updates(t *testing.T, events handler.EventHandler, secret client.Object) (queued []ctrl.Request, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	t.Helper()
	queue = workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	t.Cleanup(queue.ShutDown)
	for range 40 {
		events.Update(t.Context(), event.UpdateEvent{ObjectOld: secret, ObjectNew: secret}, queue)
	}
	return drained(queue), queue
}

func drained(queue workqueue.TypedRateLimitingInterface[ctrl.Request]) (all []ctrl.Request) {
	for queue.Len() > 0 {
		request, _ := queue.Get()
		queue.Done(request)
		all = append(all, request)
	}
	return all
}

func TestWhoNamesContentIsLookedForByAWorkerOfItsNamespace(t *testing.T) {
	const holders = 8
	r, reads := asking(t)
	for i := range holders {
		named := target(fmt.Sprintf("t-%d", i), "s").(*v1alpha1.Target)
		named.Spec.HealthCheck = &v1alpha1.TargetHealthCheck{}
		require.NoError(t, r.Create(t.Context(), named))
	}
	protects, checks := &protector{Reconciler: r, kind: users[0]}, &HealthReconciler{Client: r}
	for name, tc := range map[string]struct {
		events handler.EventHandler
		keep   func(context.Context, workqueue.TypedRateLimitingInterface[ctrl.Request]) error
		worker reconcile.Reconciler
	}{
		"protection": {protects.eventsOf(contents[0]), protects.keepQueue, protects},
		"checks":     {checks.secretEvents(), checks.keepQueue, checks},
	} {
		t.Run(name, func(t *testing.T) {
			*reads = 0
			queued, queue := updates(t, tc.events, secret("s"))
			assert.Equal(t, []ctrl.Request{{NamespacedName: client.ObjectKey{Namespace: "n"}}}, queued)
			assert.Equal(t, 80, *reads, "each event asks of both versions whether anybody is concerned, and no more")
			*reads = 0
			require.NoError(t, tc.keep(t.Context(), queue))
			_, err := tc.worker.Reconcile(t.Context(), queued[0])
			require.NoError(t, err)
			assert.Equal(t, 1, *reads, "once for all events")
			assert.Len(t, drained(queue), holders)
			queued, _ = updates(t, tc.events, secret("unused"))
			assert.Empty(t, queued, "the namespace takes no worker from others")
		})
	}
}
