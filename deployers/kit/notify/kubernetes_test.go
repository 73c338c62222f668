// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// written is a client for events that notes what is written, and answers with refusals while there are some.
type written struct {
	created, patched []*corev1.Event
	refusals         []error
}

func (w *written) answer(event *corev1.Event) (*corev1.Event, error) {
	if len(w.refusals) == 0 {
		return event, nil
	}
	err := w.refusals[0]
	w.refusals = w.refusals[1:]
	return nil, err
}

func (w *written) CreateWithEventNamespaceWithContext(_ context.Context, event *corev1.Event) (*corev1.Event, error) {
	w.created = append(w.created, event)
	return w.answer(event)
}

func (w *written) PatchWithEventNamespaceWithContext(_ context.Context, event *corev1.Event, _ []byte) (*corev1.Event, error) {
	w.patched = append(w.patched, event)
	return w.answer(event)
}

func kubernetesFor(w eventWriter) *kubernetes {
	k := newKubernetes(clientgoscheme.Scheme, w, logr.Discard(), "landscaper-test")
	k.pause = time.Millisecond
	return k
}

// writeAll writes what waits.
func writeAll(k *kubernetes) {
	for event, ok := k.waiting.take(); ok; event, ok = k.waiting.take() {
		k.write(context.Background(), event)
	}
}

func about(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestManyEventsInTheClusterAreBounded(t *testing.T) {
	w := &written{}
	k := kubernetesFor(w)
	for i := range maxQueuedEvents + 100 {
		k.Event(about("n", fmt.Sprint("x", i)), corev1.EventTypeNormal, "Well", "fine")
	}
	writeAll(k)
	require.Len(t, w.created, maxQueuedEvents)
	assert.Zero(t, k.waiting.bytes)
}

func TestAnEventInTheCluster(t *testing.T) {
	w := &written{}
	k := kubernetesFor(w)
	k.AnnotatedEventf(about("n", "x"), map[string]string{"a": "b"}, corev1.EventTypeWarning, "Broken", "it is %s", "broken")
	k.Event(&corev1.Node{}, corev1.EventTypeNormal, "Well", "fine")
	k.Event(about("n", "x"), "Trace", "Detail", "no type of Kubernetes")
	writeAll(k)
	require.Len(t, w.created, 2)
	event := w.created[0]
	assert.Equal(t, "n", event.Namespace)
	assert.Contains(t, event.Name, "x.")
	assert.Equal(t, corev1.ObjectReference{Kind: "ConfigMap", APIVersion: "v1", Namespace: "n", Name: "x"}, event.InvolvedObject)
	assert.Equal(t, []string{"Warning", "Broken", "it is broken", "landscaper-test", "landscaper-test"},
		[]string{event.Type, event.Reason, event.Message, event.Source.Component, event.ReportingController})
	assert.Equal(t, map[string]string{"a": "b"}, event.Annotations)
	assert.EqualValues(t, 1, event.Count)
	assert.False(t, event.FirstTimestamp.IsZero() || event.LastTimestamp.IsZero())
	assert.Equal(t, "default", w.created[1].Namespace, "of objects without a namespace")
}

func TestEventsInTheClusterThatSayTheSameAreOne(t *testing.T) {
	w := &written{}
	k := kubernetesFor(w)
	for range 3 {
		k.Event(about("n", "x"), corev1.EventTypeNormal, "Well", "fine")
	}
	writeAll(k)
	assert.Len(t, w.created, 1)
	assert.Len(t, w.patched, 2)
}

func TestTriesOfEventsInTheCluster(t *testing.T) {
	resource := schema.GroupResource{Resource: "events"}
	for name, c := range map[string]struct {
		refusal          error
		before           int
		created, patched int
	}{
		"unreachable":    {errors.New("no connection"), 0, 2, 0},
		"forbidden":      {apierrors.NewForbidden(resource, "x", nil), 0, 1, 0},
		"there already":  {apierrors.NewAlreadyExists(resource, "x"), 0, 1, 0},
		"gone meanwhile": {apierrors.NewNotFound(resource, "x"), 1, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := &written{}
			k := kubernetesFor(w)
			for range c.before {
				k.Event(about("n", "x"), corev1.EventTypeNormal, "Well", "fine")
			}
			writeAll(k)
			w.refusals = []error{c.refusal}
			k.Event(about("n", "x"), corev1.EventTypeNormal, "Well", "fine")
			writeAll(k)
			assert.Len(t, w.created, c.created)
			assert.Len(t, w.patched, c.patched)
		})
	}
}

func TestAnEventInTheClusterIsTriedSoManyTimes(t *testing.T) {
	w := &written{}
	for range 2 * writeTries {
		w.refusals = append(w.refusals, errors.New("no connection"))
	}
	k := kubernetesFor(w)
	k.Event(about("n", "x"), corev1.EventTypeNormal, "Well", "fine")
	writeAll(k)
	assert.Len(t, w.created, writeTries)
}

func TestTheLastEventsInTheClusterAreWritten(t *testing.T) {
	w := &written{}
	k := kubernetesFor(w)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	k.Event(about("n", "x"), corev1.EventTypeNormal, "Well", "fine")
	require.NoError(t, k.Start(ctx))
	assert.Len(t, w.created, 1)
}

// blocked is a client for events of which each write waits to be let through.
type blocked struct {
	written
	begun, through chan struct{}
}

func (b *blocked) CreateWithEventNamespaceWithContext(ctx context.Context, event *corev1.Event) (*corev1.Event, error) {
	b.begun <- struct{}{}
	select {
	case <-b.through:
		return b.written.CreateWithEventNamespaceWithContext(ctx, event)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func TestAnEventThatIsBeingWrittenAtTheEndIsWritten(t *testing.T) {
	b := &blocked{begun: make(chan struct{}), through: make(chan struct{})}
	k := kubernetesFor(b)
	ctx, end := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- k.Start(ctx) }()
	k.Event(about("n", "x"), corev1.EventTypeNormal, "Well", "fine")
	<-b.begun
	end()
	close(b.through)
	require.NoError(t, <-done)
	assert.Len(t, b.created, 1)
}

func TestEventsOfWorkersThatEndLaterAreWritten(t *testing.T) {
	w := &written{}
	k := kubernetesFor(w)
	ctx, end := context.WithCancel(t.Context())
	end()
	require.NoError(t, k.Start(ctx))
	k.Event(about("n", "x"), corev1.EventTypeNormal, "Well", "fine")
	assert.Len(t, w.created, 1)
}

func TestEventsAreGivenUpWhenTheLastCallIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &blocked{begun: make(chan struct{}, 10), through: make(chan struct{})}
		k := kubernetesFor(b)
		for _, name := range []string{"x", "y", "z"} {
			k.Event(about("n", name), corev1.EventTypeNormal, "Well", "fine")
		}
		ctx, end := context.WithCancel(t.Context())
		end()
		require.NoError(t, k.Start(ctx))
		assert.Len(t, b.begun, 1)
		assert.Empty(t, b.created)
	})
}
