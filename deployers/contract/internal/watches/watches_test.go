// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package watches

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// waiting waits without doing anything. Each has an identity, so it has a size.
type waiting struct{ _ byte }

func (*waiting) Wake(...Key) {}

func TestWatchesEndWithTheirWaiters(t *testing.T) {
	w := &Watches{done: true}
	cluster := &target.Cluster{Config: &rest.Config{}, Mapper: meta.NewDefaultRESTMapper(nil)}
	one, two := &waiting{}, &waiting{}
	watched := []Object{{Cluster: cluster, APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "a"}}
	w.Follow(one, watched, time.Now())
	w.Follow(two, watched, time.Now())
	require.Len(t, w.open, 1)
	var shared *sharedWatch
	for _, shared = range w.open {
	}
	w.Release(one)
	assert.True(t, shared.isUsed())
	w.Release(two)
	assert.False(t, shared.isUsed())
	w.closeUnused(shared)
	assert.Empty(t, w.open)
	assert.Empty(t, w.of)
}

func TestChangeBeforeTheSubscriptionIsNotMissed(t *testing.T) {
	shared := &sharedWatch{changed: map[string]time.Time{}, waiting: map[string]map[Waiter]struct{}{}, complete: time.Unix(10, 0)}
	shared.changed["a"] = time.Unix(30, 0)
	assert.True(t, shared.attach(&waiting{}, "a", time.Unix(20, 0)), "the object changed during the call")
	assert.False(t, shared.attach(&waiting{}, "b", time.Unix(20, 0)), "the watch was open all the time")
	assert.True(t, shared.attach(&waiting{}, "", time.Unix(20, 0)), "any object changed during the call")
	assert.True(t, shared.attach(&waiting{}, "b", time.Unix(5, 0)), "the watch was opened during the call")
}
