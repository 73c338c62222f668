// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// creating lets create stand between the deployer and its host cluster.
func (s *served) creating(create func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error) {
	s.t.Helper()
	direct, err := client.NewWithWatch(s.sound.Config, client.Options{Scheme: newScheme(s.t)})
	require.NoError(s.t, err)
	host := *s.sound
	host.Client = interceptor.NewClient(direct, interceptor.Funcs{Create: create})
	s.options.Host = &host
}

func TestAPodWhoseAnswerIsLostHasWhatWasStoredForIt(t *testing.T) {
	s := prepare(t)
	var lost atomic.Bool
	s.creating(func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		err := c.Create(ctx, o, opts...)
		if _, isPod := o.(*corev1.Pod); isPod && err == nil && !lost.Swap(true) {
			return apierrors.NewTimeoutError("no answer", 0)
		}
		return err
	})
	s.start()
	t.Cleanup(func() { s.stop() })
	item := s.create(script(`cp "$IMPORTS_PATH" "$EXPORTS_PATH"`) + "importValues: {greeting: hello}\n")
	s.succeed(item)
	assert.JSONEq(t, `{"greeting": "hello"}`, s.exports(item))
	assert.True(t, lost.Load())
}
