// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// full is a quota of the host namespace that admits no Pod.
func (s *served) full() *corev1.ResourceQuota {
	s.t.Helper()
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.host, Name: "full"}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}
	require.NoError(s.t, s.p.Client().Create(s.t.Context(), quota))
	s.await(quota, func() bool { return len(quota.Status.Hard) > 0 })
	return quota
}

// creating lets create stand between the deployer and its host cluster.
func (s *served) creating(create func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error) {
	s.t.Helper()
	direct, err := client.NewWithWatch(s.sound.Config, client.Options{Scheme: newScheme(s.t)})
	require.NoError(s.t, err)
	host := *s.sound
	host.Client = interceptor.NewClient(direct, interceptor.Funcs{Create: create})
	s.options.Host = &host
}

// refused waits until an item says that its Pod is refused.
func (s *served) refused(item *v1alpha1.DeployItem) {
	s.t.Helper()
	s.await(item, func() bool { return item.Status.LastError != nil && item.Status.LastError.Reason == "PodForbidden" })
}

func isTried(opts []client.CreateOption) bool {
	options := &client.CreateOptions{}
	options.ApplyOptions(opts)
	return len(options.DryRun) > 0
}

func TestNothingIsStoredForAPodThatIsRefused(t *testing.T) {
	s := prepare(t, func(o *Options) { o.MaxPods = 1 })
	var stored atomic.Int32
	s.creating(func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if _, isSecret := o.(*corev1.Secret); isSecret {
			stored.Add(1)
		}
		return c.Create(ctx, o, opts...)
	})
	quota := s.full()
	s.start()
	t.Cleanup(func() { s.stop() })
	items := []*v1alpha1.DeployItem{s.add(s.item("one", script("true"))), s.add(s.item("two", script("true")))}
	for _, item := range items {
		s.refused(item)
	}
	assert.Zero(t, stored.Load(), "such items may be many")
	assert.Empty(t, s.left()["Secret"])

	require.NoError(t, s.p.Client().Delete(t.Context(), quota))
	for _, item := range items {
		s.succeed(item)
	}
}

func TestWhatWasStoredForARefusedPodGoes(t *testing.T) {
	s := prepare(t)
	s.creating(func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		if isTried(opts) {
			return apierrors.NewBadRequest(`admission webhook "images.example.com" does not support dry run`)
		}
		return c.Create(ctx, o, opts...)
	})
	s.full()
	s.start()
	t.Cleanup(func() { s.stop() })
	item := s.create(script("true"))
	s.refused(item)
	s.awaitLeft(func(left map[string][]string) bool { return len(left["Secret"]) == 0 })
}

func TestAPodWhoseAnswerIsLostHasWhatWasStoredForIt(t *testing.T) {
	s := prepare(t)
	var lost atomic.Bool
	s.creating(func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
		err := c.Create(ctx, o, opts...)
		if _, isPod := o.(*corev1.Pod); isPod && !isTried(opts) && err == nil && !lost.Swap(true) {
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

func TestWhatMayHaveWorkedInSpiteOfAnError(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for name, test := range map[string]struct {
		err error
		may bool
	}{
		"refused":             {apierrors.NewForbidden(pods, "x", errors.New("quota")), false},
		"refused and wrapped": {refusalOf(&corev1.Pod{}, apierrors.NewForbidden(pods, "x", errors.New("quota"))), false},
		"invalid":             {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "x", nil), false},
		"refused by webhook":  {apierrors.NewBadRequest("no"), false},
		"too many requests":   {apierrors.NewTooManyRequests("later", 1), false},
		"timeout":             {apierrors.NewTimeoutError("no answer", 0), true},
		"internal":            {apierrors.NewInternalError(errors.New("etcd")), true},
		"no answer":           {fmt.Errorf("post: %w", context.DeadlineExceeded), true},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, test.may, mayHaveWorked(test.err)) })
	}
}
