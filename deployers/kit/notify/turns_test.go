// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func about(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestManyEventsOfANamespacePushOutNobodyElses(t *testing.T) {
	for name, c := range map[string]struct {
		message string
		count   int
	}{
		"many":  {"fine", maxQueuedEvents + 100},
		"large": {strings.Repeat("x", 1<<20), 20},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, accept)
			recorder, queue := recorderFor(t, r)
			for range c.count {
				recorder.Event(about("greedy", "x"), corev1.EventTypeNormal, "Well", c.message)
			}
			recorder.Event(about("modest", "y"), corev1.EventTypeNormal, "Well", "fine")
			serve(t, queue)()
			namespaces := []string{}
			for _, seen := range r.events()[:2] {
				namespaces = append(namespaces, seen.InvolvedObject.Namespace)
			}
			assert.Equal(t, []string{"greedy", "modest"}, namespaces, "each has its turn")
		})
	}
}

func TestWhoHasMostOfWhatIsShortLosesTheLast(t *testing.T) {
	type event struct {
		namespace, name string
		bytes           int
	}
	for name, c := range map[string]struct {
		events  []event
		dropped int
		left    []string
	}{
		"room for all":     {[]event{{"a", "a1", 1}, {"a", "a2", 1}, {"b", "b1", 1}}, 0, []string{"a1", "b1", "a2"}},
		"many":             {[]event{{"a", "a1", 1}, {"a", "a2", 1}, {"a", "a3", 1}, {"b", "b1", 1}}, 1, []string{"a1", "b1", "a2"}},
		"as many of each":  {[]event{{"a", "a1", 1}, {"b", "b1", 1}, {"c", "c1", 1}, {"d", "d1", 1}}, 1, []string{"a1", "b1", "c1"}},
		"large":            {[]event{{"a", "a1", 4}, {"a", "a2", 5}, {"b", "b1", 3}}, 1, []string{"a1", "b1"}},
		"larger than all":  {[]event{{"a", "a1", 4}, {"b", "b1", 11}}, 1, []string{"a1"}},
		"nothing else":     {[]event{{"a", "a1", 11}}, 1, []string{}},
		"several at once":  {[]event{{"a", "a1", 3}, {"a", "a2", 3}, {"a", "a3", 3}, {"b", "b1", 5}}, 2, []string{"a1", "b1"}},
		"one goes for all": {[]event{{"a", "a1", 2}, {"a", "a2", 2}, {"b", "b1", 20}}, 1, []string{"a1", "a2"}},
	} {
		t.Run(name, func(t *testing.T) {
			waiting := newTurns[string](3, 10)
			dropped := 0
			for _, e := range c.events {
				more, ok := waiting.put(e.namespace, e.name, e.bytes)
				require.True(t, ok)
				dropped += more
			}
			assert.Equal(t, c.dropped, dropped)
			left := []string{}
			for name, ok := waiting.take(); ok; name, ok = waiting.take() {
				left = append(left, name)
			}
			assert.Equal(t, c.left, left)
			assert.Zero(t, waiting.length()+waiting.size())
			assert.Empty(t, waiting.lines)
		})
	}
}
