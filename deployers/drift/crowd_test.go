// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"fmt"
	"testing"
	"unique"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// crowd is an owner of very many objects of two kinds.
func crowd(w *Watches, count int) *owner {
	o := &owner{key: types.NamespacedName{Namespace: "n", Name: "item"}}
	streams := []*stream{
		newStream(w, streamKey{kind: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}}, nil, []string{us}),
		newStream(w, streamKey{kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}, nil, []string{us}),
	}
	for i := range count {
		p := place{streams[i%2], objectKey{unique.Make(fmt.Sprintf("n%d", i%7)), fmt.Sprintf("o%d", count-i)}}
		p.stream.objects[p.key] = state{owner: o}
		o.objects = append(o.objects, p)
	}
	w.owners[o.key] = o
	return o
}

// TestManyObjectsAreFoundWithFewComparisons notes all objects of an owner, each with the lock that the owners of all namespaces share.
func TestManyObjectsAreFoundWithFewComparisons(t *testing.T) {
	const count = 4096
	for name, note := range map[string]func(w *Watches, o *owner){
		"one by one": func(w *Watches, o *owner) {
			for _, p := range o.objects {
				w.Seen(o.key, p.object(), nil, false)
			}
		},
		"together": func(w *Watches, o *owner) {
			var objects []Object
			for _, p := range o.objects {
				objects = append(objects, p.object())
			}
			w.Suspect(o.key, objects...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, comparisons := New(func(types.NamespacedName) {}, 0), 0
			w.compare = func(a, b Object) int {
				comparisons++
				return compareObjects(a, b)
			}
			o := crowd(w, count)

			note(w, o)

			assert.Positive(t, comparisons)
			assert.Less(t, comparisons, 40*count, "a few dozen for each")
			for _, p := range o.objects {
				st := p.stream.objects[p.key]
				require.True(t, st.gone || st.suspect, p.object())
			}
		})
	}
}

func TestOnlyObjectsOfTheOwnerAreFound(t *testing.T) {
	w := New(func(types.NamespacedName) {}, 0)
	o := crowd(w, 100)
	theirs := o.objects[7].object()
	for name, other := range map[string]Object{
		"another name":      {theirs.Kind, theirs.Namespace, theirs.Name + "x"},
		"another namespace": {theirs.Kind, theirs.Namespace + "x", theirs.Name},
		"another kind":      {schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, theirs.Namespace, theirs.Name},
		"another group":     {schema.GroupVersionKind{Group: "g", Version: "v1", Kind: theirs.Kind.Kind}, theirs.Namespace, theirs.Name},
		"another version":   {schema.GroupVersionKind{Version: "v2", Kind: theirs.Kind.Kind}, theirs.Namespace, theirs.Name},
	} {
		t.Run(name, func(t *testing.T) {
			w.Suspect(o.key, other)
			assert.Empty(t, w.Take(o.key))
		})
	}
	w.Suspect(o.key, theirs)
	assert.Equal(t, []Object{theirs}, w.Take(o.key))
}

// TestAnOwnerIsToldOnceThatAllIsWatched has an owner one of whose kinds is watched and the other one not yet.
func TestAnOwnerIsToldOnceThatAllIsWatched(t *testing.T) {
	var told []types.NamespacedName
	w := New(func(owner types.NamespacedName) { told = append(told, owner) }, 0)
	o := crowd(w, 100)
	o.tell = true

	o.objects[0].stream.opened()
	assert.Empty(t, told)

	o.objects[1].stream.opened()
	o.objects[1].stream.opened()
	assert.Equal(t, []types.NamespacedName{o.key}, told)
}

// slow is an object whose fields take long to be read.
type slow struct {
	metav1.ObjectMeta
	read func()
}

func (s *slow) GetManagedFields() []metav1.ManagedFieldsEntry {
	s.read()
	return s.ManagedFields
}

func TestNobodyWaitsWhileTheFieldsOfAnObjectAreRead(t *testing.T) {
	w := New(func(types.NamespacedName) {}, 0)
	o := crowd(w, 2)
	isRead, isFree := false, false
	live := &slow{read: func() {
		isRead = true
		if isFree = w.mu.TryLock(); isFree {
			w.mu.Unlock()
		}
	}}
	live.Generation = 7

	w.Seen(o.key, o.objects[1].object(), live, true)

	assert.True(t, isRead)
	assert.True(t, isFree)
	st := o.objects[1].stream.objects[o.objects[1].key]
	assert.Equal(t, uint64(7), st.mark.version)
	assert.True(t, st.owned)
}
