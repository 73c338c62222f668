// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// gate is where events of a controller come in. It counts the TargetSyncs that are read.
type gate struct {
	*Reconciler
	read int
}

func newGate(t *testing.T, syncs ...string) *gate {
	t.Helper()
	g := &gate{}
	builder := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithIndex(&v1alpha1.TargetSync{}, sourceIndex, secretOf)
	for _, name := range syncs {
		builder = builder.WithObjects(&v1alpha1.TargetSync{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name},
			Spec:       v1alpha1.TargetSyncSpec{SecretRef: v1alpha1.LocalSecretReference{Name: "source"}},
		})
	}
	counting := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		err := c.List(ctx, list, options...)
		limit := (&client.ListOptions{}).ApplyOptions(options).Limit
		if found := list.(*v1alpha1.TargetSyncList); limit > 0 && len(found.Items) > int(limit) {
			found.Items = found.Items[:limit]
		}
		g.read += len(list.(*v1alpha1.TargetSyncList).Items)
		return err
	}}
	g.Reconciler = &Reconciler{
		Client: builder.WithInterceptorFuncs(counting).Build(),
		queue:  workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
	t.Cleanup(g.queue.ShutDown)
	return g
}

// changes lets an object change, and returns what is queued.
func (g *gate) changes(t *testing.T, requests handler.MapFunc, object client.Object) []reconcile.Request {
	t.Helper()
	after(0, requests).Update(t.Context(), event.UpdateEvent{ObjectOld: object, ObjectNew: object}, g.queue)
	return g.queued()
}

func (g *gate) queued() []reconcile.Request {
	var found []reconcile.Request
	for g.queue.Len() > 0 {
		request, _ := g.queue.Get()
		g.queue.Done(request)
		found = append(found, request)
	}
	return found
}

func secretNamed(namespace, name, label string) client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{v1alpha1.TargetSyncLabel: label}}}
}

func TestWhichSecretsWakeTargetSyncs(t *testing.T) {
	all := []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: "n"}}}
	for name, c := range map[string]struct {
		secret client.Object
		want   []reconcile.Request
	}{
		"the access to the source":      {secretNamed("n", "source", ""), all},
		"one that was made":             {secretNamed("n", "made", v1alpha1.TargetSyncOK), all},
		"another one":                   {secretNamed("n", "other", ""), nil},
		"the name in another namespace": {secretNamed("m", "source", ""), nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, "sync")
			assert.Equal(t, c.want, g.changes(t, g.of, c.secret))
		})
	}
}

func TestEventsForTargetSyncsAreLeftToAWorkerOfTheirNamespace(t *testing.T) {
	for name, c := range map[string]struct {
		object client.Object
		read   int
	}{
		"a Secret that was made":   {secretNamed("n", "made", v1alpha1.TargetSyncOK), 0},
		"the access to the source": {secretNamed("n", "source", ""), 2},
		"another Secret":           {secretNamed("n", "other", ""), 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate(t, "a", "b", "c", "d", "e")
			g.changes(t, g.of, c.object)
			assert.Equal(t, c.read, g.read, "events of all namespaces wait for each other")
		})
	}
}

func TestAWorkerWakesTheTargetSyncsOfItsNamespace(t *testing.T) {
	g := newGate(t, "a", "b")
	require.Len(t, g.changes(t, inNamespace, secretNamed("n", "made", "")), 1)
	_, err := g.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "n"}})
	require.NoError(t, err)
	var woken []string
	for _, request := range g.queued() {
		woken = append(woken, request.Name)
	}
	assert.ElementsMatch(t, []string{"a", "b"}, woken)
}
