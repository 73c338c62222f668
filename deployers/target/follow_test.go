// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/faults"
)

func TestFollowReturnsWhenTheServerIsGone(t *testing.T) {
	p := platform.Shared(t)
	door, err := faults.NewDoor(p.RestConfig)
	require.NoError(t, err)
	t.Cleanup(door.Close)
	kubeconfig, err := platform.KubeconfigFor(door.Through(p.RestConfig))
	require.NoError(t, err)
	clients, err := New(Options{})
	require.NoError(t, err)
	cluster, err := clients.OpenKubeconfig("n", kubeconfig)
	require.NoError(t, err)

	namespace := p.Namespace(t)
	opened, reported, ended := make(chan struct{}), make(chan string, 10), make(chan error, 1)
	go func() {
		ended <- cluster.Follow(t.Context(), Stream{Kind: corev1.SchemeGroupVersion.WithKind("ConfigMap"), Namespace: namespace},
			Handler{Opened: func() { close(opened) }, Changed: func(object *metav1.PartialObjectMetadata, _ bool) { reported <- object.Name }})
	}()
	<-opened
	require.NoError(t, p.Client().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "one"}}))
	assert.Equal(t, "one", <-reported)

	door.Close()
	select {
	case err := <-ended:
		assert.Error(t, err, "it says why the watch cannot be opened again")
	case <-time.After(time.Minute):
		t.Fatal("it goes on asking a server that is gone")
	}
}

// TestAWatchEndsThatTheServerHasWait has the server end a watch with the wish that it is opened again in a hundred years.
func TestAWatchEndsThatTheServerHasWait(t *testing.T) {
	opened := 0
	open := func(context.Context, metav1.ListOptions) (watch.Interface, error) {
		opened++
		events := watch.NewFakeWithOptions(watch.FakeOptions{ChannelSize: 1})
		events.Error(&metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: "later",
			Details: &metav1.StatusDetails{RetryAfterSeconds: math.MaxInt32},
		})
		return events, nil
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	err := watchFrom(ctx, "1", open, func() {}, func(watch.Event) {})

	require.NoError(t, ctx.Err(), "it waits as long as the server wants")
	require.ErrorIs(t, err, errPaused)
	assert.Equal(t, 1, opened)
}
