// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// stranger is an object of nobody.
func stranger(namespace, name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// TestObjectsOfNobodyFillNoMemory has a server that shows objects of nobody with names that no API server accepts, and many of them in many watches.
func TestObjectsOfNobodyFillNoMemory(t *testing.T) {
	w, before := New(func(types.NamespacedName) {}, 0), heap()
	opened := func(at int) *stream {
		key := streamKey{namespace: fmt.Sprint(at)}
		w.streams[key] = newStream(w, key, nil, []string{us})
		return w.streams[key]
	}
	long, first := strings.Repeat("x", 1<<20), opened(0)
	for i := range 100 {
		first.note(stranger("n", fmt.Sprint(i, long)), false)
		first.note(stranger(fmt.Sprint(i, long), "o"), false)
	}
	assert.Less(t, heap()-before, int64(16<<20), "long names")
	for at := range 40 {
		next := opened(at + 1)
		for i := range maxStrangers {
			next.note(stranger("n", fmt.Sprint(i)), false)
		}
	}
	assert.Less(t, heap()-before, int64(32<<20), "many watches")

	closed := w.streams[streamKey{namespace: "1"}]
	w.closeUnused()
	closed.note(stranger("n", "late"), false)
	closed.note(stranger("n", "1"), true)
	assert.Zero(t, w.strangers)
	last := opened(0)
	last.note(stranger("n", "o"), false)
	assert.Equal(t, 1, w.strangers)
	last.note(stranger("n", "o"), true)
	assert.Zero(t, w.strangers)
}

func TestAWatchRemembersSoManyObjectsOfNobody(t *testing.T) {
	w := New(func(types.NamespacedName) {}, 0)
	s := newStream(w, streamKey{}, nil, []string{us})
	for i := range maxStrangers + 10 {
		s.note(stranger("n", fmt.Sprint(i)), false)
	}
	assert.Len(t, s.objects, maxStrangers)
}
