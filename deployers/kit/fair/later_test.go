// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

func requestOf(namespace, name string) ctrl.Request {
	return ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// desk has events of Secrets. The one with the name "unused" concerns nobody.
type desk struct {
	later  Later
	events handler.MapFunc
	// looked are the objects for which somebody was looked for, woken who was found.
	looked []string
	woken  []ctrl.Request
}

func newDesk() *desk {
	d := &desk{}
	anybody := func(_ context.Context, object client.Object) bool { return object.GetName() != "unused" }
	d.events = d.later.Noted("Secret", anybody, func(_ context.Context, object client.Object) []ctrl.Request {
		d.looked = append(d.looked, object.GetName())
		return []ctrl.Request{requestOf("other", "user-of-"+object.GetName())}
	})
	return d
}

func (d *desk) happens(t *testing.T, namespace, name string) []ctrl.Request {
	t.Helper()
	return d.events(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
}

func (d *desk) look(t *testing.T, namespace, name string) bool {
	t.Helper()
	return d.later.Look(t.Context(), requestOf(namespace, name), func(request ctrl.Request) { d.woken = append(d.woken, request) })
}

func TestWhomEventsConcernIsLeftToAWorkerOfTheirNamespace(t *testing.T) {
	d := newDesk()
	for range 40 {
		assert.Equal(t, []ctrl.Request{requestOf("n", "")}, d.happens(t, "n", "s"))
	}
	assert.Empty(t, d.looked)
	assert.True(t, d.look(t, "m", ""))
	assert.Empty(t, d.looked, "a worker of another namespace")
	assert.True(t, d.look(t, "n", ""))
	assert.True(t, d.look(t, "n", ""))
	assert.Equal(t, []string{"s"}, d.looked, "once for all events")
	assert.Equal(t, []ctrl.Request{requestOf("other", "user-of-s")}, d.woken)
}

func TestWhatConcernsNobodyIsLeftToNobody(t *testing.T) {
	d := newDesk()
	assert.Empty(t, d.happens(t, "n", "unused"))
	assert.True(t, d.look(t, "n", ""))
	assert.Empty(t, d.looked)
}

func TestRequestsForObjectsAreNotForNamespaces(t *testing.T) {
	d := newDesk()
	d.happens(t, "n", "s")
	assert.False(t, d.look(t, "n", "s"))
	assert.Empty(t, d.looked)
}
