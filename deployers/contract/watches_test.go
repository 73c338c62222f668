// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// waiting waits without doing anything, in the namespace ns.
type waiting struct{ woken chan struct{} }

func (w *waiting) Wake(...watchKey) {
	select {
	case w.woken <- struct{}{}:
	default:
	}
}

func TestWatchesEndWithTheirWaiters(t *testing.T) {
	w := &watches{done: true}
	cluster := &target.Cluster{Config: &rest.Config{}, Mapper: meta.NewDefaultRESTMapper(nil)}
	one, two := &waiting{}, &waiting{}
	watched := []Watched{{Cluster: cluster, APIVersion: "v1", Kind: "ConfigMap", Namespace: "default", Name: "a"}}
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

// spread returns objects that need a watch each.
func spread(count int) []Watched {
	cluster := &target.Cluster{Config: &rest.Config{}, Mapper: meta.NewDefaultRESTMapper(nil)}
	objects := make([]Watched, count)
	for i := range objects {
		objects[i] = Watched{Cluster: cluster, APIVersion: "v1", Kind: "ConfigMap", Namespace: strconv.Itoa(i), Name: "a"}
	}
	return objects
}

func TestManyObjectsOfANamespaceAreWatchedTogether(t *testing.T) {
	w := &watches{done: true}
	by, objects := &waiting{}, spread(2*maxNarrow)
	for i := range objects {
		objects[i].Namespace, objects[i].Name = "default", strconv.Itoa(i)
	}
	w.Follow(by, objects, time.Now())
	assert.Len(t, w.open, maxNarrow+1)
	assert.Contains(t, w.open, objects[0].key().wide())
	w.Release(by)
	for _, shared := range w.open {
		w.closeUnused(shared)
	}
	assert.Empty(t, w.open)
}

func TestChangeBeforeTheSubscriptionIsNotMissed(t *testing.T) {
	shared := &sharedWatch{changed: map[string]time.Time{}, waiting: map[string]map[wakeable]struct{}{}, complete: time.Unix(10, 0)}
	shared.changed["a"] = time.Unix(30, 0)
	assert.True(t, shared.attach(&waiting{}, "a", time.Unix(20, 0)), "the object changed during the call")
	assert.False(t, shared.attach(&waiting{}, "b", time.Unix(20, 0)), "the watch was open all the time")
	assert.True(t, shared.attach(&waiting{}, "", time.Unix(20, 0)), "any object changed during the call")
	assert.True(t, shared.attach(&waiting{}, "b", time.Unix(5, 0)), "the watch was opened during the call")
}

// listening notes for what it is woken, in a namespace of its own.
type listening struct{ woken []watchKey }

func (l *listening) Wake(changed ...watchKey) { l.woken = append(l.woken, changed...) }

func TestWhoIsWokenByWhat(t *testing.T) {
	one, other, every := &listening{}, &listening{}, &listening{}
	key := watchKey{kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, namespace: "ns"}
	shared := &sharedWatch{key: key, changed: map[string]time.Time{}, waiting: map[string]map[wakeable]struct{}{}}
	for name, waiter := range map[string]wakeable{"one": one, "other": other, "": every} {
		shared.attach(waiter, name, time.Now())
	}
	shared.report("one")
	assert.Equal(t, []watchKey{key.of("one")}, one.woken)
	assert.Empty(t, other.woken)
	assert.Equal(t, []watchKey{key}, every.woken, "whoever waits for the kind is told of the kind")
	shared.opened()
	assert.Equal(t, []watchKey{key.of("other")}, other.woken, "before that anything may have happened")
}

func TestNewsTellWhatMayHaveChanged(t *testing.T) {
	a, b := watchKey{name: "a"}, watchKey{name: "b"}
	told := &news{}
	assert.False(t, told.Tells(a))
	told.Add([]watchKey{a})
	assert.True(t, told.Tells(a))
	assert.False(t, told.Tells(b))
	told.Add(nil)
	assert.True(t, told.Tells(b), "without keys that may be anything")
}

func TestAPanicOverWhatATargetSendsEndsTheWatchOfAJobAlone(t *testing.T) {
	shared := &sharedWatch{} // without a cluster, which panics
	assert.NotPanics(t, func() { shared.stream(t.Context()) })
}
