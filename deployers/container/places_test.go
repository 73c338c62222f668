// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
)

func TestPlaces(t *testing.T) {
	for name, test := range map[string]struct {
		// steps are "take", "hold" or "leave" with an item.
		steps []string
		// has are the items with a place at the end, woken those that were woken.
		has, woken string
	}{
		"as many as there are":        {[]string{"take n/a", "take n/b"}, "n/a n/b", ""},
		"one too many":                {[]string{"take n/a", "take n/b", "take n/c"}, "n/a n/b", ""},
		"of another namespace":        {[]string{"take n/a", "take n/b", "take m/a"}, "m/a n/a n/b", ""},
		"again":                       {[]string{"take n/a", "take n/a", "take n/b"}, "n/a n/b", ""},
		"the next ones ask again":     {[]string{"take n/a", "take n/b", "take n/c", "take n/d", "take m/a", "leave n/a"}, "m/a n/b", "n/c n/d"},
		"one that asks again":         {[]string{"take n/a", "take n/b", "take n/c", "leave n/a", "take n/c", "leave n/b"}, "n/c", "n/c"},
		"who asks twice waits once":   {[]string{"take n/a", "take n/b", "take n/c", "take n/c", "leave n/a", "leave n/c"}, "n/b", "n/c"},
		"who has left is passed over": {[]string{"take n/a", "take n/b", "take n/c", "take n/d", "leave n/c", "leave n/a"}, "n/b", "n/d n/d"},
		"who is there is not refused": {[]string{"take n/a", "take n/b", "hold n/c"}, "n/a n/b n/c", ""},
		"who waited is there":         {[]string{"take n/a", "take n/b", "take n/c", "hold n/c", "leave n/a", "leave n/b"}, "n/c", ""},
		"who was never there":         {[]string{"leave n/a", "take n/b"}, "n/b", ""},
		"nobody is there":             {[]string{"take n/a", "leave n/a", "leave n/a"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlaces(2)
			var woken, has []string
			for _, step := range test.steps {
				action, item, _ := strings.Cut(step, " ")
				namespace, called, _ := strings.Cut(item, "/")
				key := types.NamespacedName{Namespace: namespace, Name: called}
				switch action {
				case "take":
					p.take(key, func() { woken = append(woken, item) })
				case "hold":
					p.hold(key)
				case "leave":
					p.leave(key)
				}
			}
			for item := range p.taken {
				has = append(has, item.String())
			}
			slices.Sort(has)
			slices.Sort(woken)
			assert.Equal(t, test.has, strings.Join(has, " "))
			assert.Equal(t, test.woken, strings.Join(woken, " "))
		})
	}
}

func TestAnItemOfANewerJobIsWokenForIt(t *testing.T) {
	p, woken := newPlaces(1), ""
	first, second := types.NamespacedName{Namespace: "n", Name: "a"}, types.NamespacedName{Namespace: "n", Name: "b"}
	p.take(first, nil)
	p.take(second, func() { woken += "old" })
	p.take(second, func() { woken += "new" })
	p.leave(first)
	assert.Equal(t, "new", woken)
	p.leave(second)
	assert.Empty(t, p.taken)
	assert.Empty(t, p.waiting, "nothing is kept of a namespace without Pods")
}

// fill makes items of a namespace that run until they are interrupted, and waits until as many as may run do.
func (s *served) fill(count int) (running, waiting []*v1alpha1.DeployItem) {
	s.t.Helper()
	items := make([]*v1alpha1.DeployItem, count)
	for i := range items {
		items[i] = s.add(s.item(fmt.Sprintf("greedy-%d", i), script("sleep 300")))
	}
	for _, item := range items {
		s.await(item, func() bool {
			message := conditions.GetMessage(item, "Ready")
			return strings.Contains(message, "is running") || strings.Contains(message, "--max-pods-per-namespace")
		})
		if strings.Contains(conditions.GetMessage(item, "Ready"), "is running") {
			running = append(running, item)
		} else {
			waiting = append(waiting, item)
		}
	}
	return running, waiting
}

func (s *served) podsOf(items ...*v1alpha1.DeployItem) (count int) {
	s.t.Helper()
	pods := s.left()["Pod"]
	for _, item := range items {
		if slices.Contains(pods, namesOf(keyOf(item), s.options.Identity).base) {
			count++
		}
	}
	return count
}

func TestPodsOfANamespaceAreLimited(t *testing.T) {
	s := prepare(t, func(o *Options) { o.MaxPods = 2 })
	s.others = []string{s.p.Namespace(t)}
	s.start()
	t.Cleanup(func() { s.stop() })
	running, waiting := s.fill(4)
	require.Len(t, running, 2)
	require.Len(t, waiting, 2)
	assert.Contains(t, conditions.GetMessage(waiting[0], "Ready"), s.namespace)
	neighbour := func(name string) {
		item := s.item(name, script("true"))
		item.Namespace = s.others[0]
		s.succeed(s.add(item))
	}
	neighbour("before")
	assert.Zero(t, s.podsOf(waiting...))

	s.stop()
	s.start()
	neighbour("after")
	s.configure(running[0], script("sleep 299")) // its Pod is another one, in the same place
	s.await(running[0], func() bool { return strings.Contains(conditions.GetMessage(running[0], "Ready"), "is running") })
	assert.Zero(t, s.podsOf(waiting...), "a restart makes no room")

	for _, item := range running {
		require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(item), item))
		s.interrupt(item)
	}
	for _, item := range waiting {
		s.awaitPod(item, corev1.PodRunning)
	}
	last := s.add(s.item("last", script("true")))
	require.NoError(t, s.p.Client().Get(t.Context(), client.ObjectKeyFromObject(waiting[0]), waiting[0]))
	base := waiting[0].DeepCopy()
	waiting[0].Annotations = map[string]string{sidecar.ForceCleanup: "true"}
	require.NoError(t, s.p.Client().Patch(t.Context(), waiting[0], client.MergeFrom(base)))
	s.remove(waiting[0])
	s.succeed(last)
}

func TestAnItemWithoutPodTakesNobodysPlace(t *testing.T) {
	s := serve(t, func(o *Options) { o.MaxPods = 1 })
	stuck := s.create(script("true") + "registryPullSecrets: [{name: missing}]\n")
	s.await(stuck, func() bool { return stuck.Status.LastError != nil })
	s.succeed(s.add(s.item("another", script("true"))))
	assert.Contains(t, stuck.Status.LastError.Message, "missing")
}
