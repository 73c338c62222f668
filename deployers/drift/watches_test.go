// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const us = "deployer"

var start = time.Unix(1_800_000_000, 0)

// entry is what a manager wrote how many seconds after the start.
func entry(manager string, after int, fields, subresource string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(start.Add(time.Duration(after) * time.Second))
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: "Update", Time: &at, Subresource: subresource, FieldsV1: metav1.NewFieldsV1(fields)}
}

func object(entries ...metav1.ManagedFieldsEntry) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "o", ManagedFields: entries}}
}

func versioned(object *metav1.PartialObjectMetadata, version string) *metav1.PartialObjectMetadata {
	object.ResourceVersion = version
	return object
}

var item, deployed = types.NamespacedName{Namespace: "n", Name: "item"}, Object{Namespace: "n", Name: "o"}

// followed is an owner of one object whose watch does not begin, and the stream of that.
func followed(w *Watches, objects ...Object) *stream {
	w.done = true
	w.Follow(item, Deployed{Cluster: &target.Cluster{}, Managers: []string{us}, Objects: append(objects, deployed), Since: start.Add(30 * time.Second)})
	return w.owners[item].objects[deployed].stream
}

func TestWhatIsSuspicious(t *testing.T) {
	ours := entry(us, 10, "all", "")
	for name, tc := range map[string]struct {
		first, second *metav1.PartialObjectMetadata
		deleted       bool
		want          bool
	}{
		"nothing happens":                     {first: object(ours)},
		"the same again":                      {first: object(ours), second: object(ours)},
		"status":                              {first: object(ours), second: object(ours, entry("controller", 20, "s", "status"))},
		"own write":                           {first: object(ours), second: object(entry(us, 20, "all", ""))},
		"own write over a field of somebody":  {first: object(ours, entry("x", 5, "f", "")), second: object(entry(us, 20, "all", ""))},
		"changed by somebody":                 {first: object(ours), second: object(entry(us, 10, "less", ""), entry("x", 20, "f", "")), want: true},
		"removed by somebody":                 {first: object(ours), second: object(entry(us, 10, "less", "")), want: true},
		"twice in a second":                   {first: object(ours), second: versioned(object(ours), "2"), want: true},
		"status of a kind without generation": {first: object(ours), second: versioned(object(ours, entry("controller", 20, "s", "status")), "2")},
		"scaled by somebody":                  {first: object(ours), second: object(ours, entry("x", 20, "r", "scale")), want: true},
		"deleted":                             {first: object(ours), deleted: true, want: true},
		"changed before it was watched":       {first: object(ours, entry("x", 11, "f", "")), want: true},
		"changed before it was deployed":      {first: object(entry("x", 1, "f", ""), ours)},
		"never written, changed later":        {first: object(entry("x", 40, "f", "")), want: true},
		"never written, changed earlier":      {first: object(entry("x", 20, "f", ""))},
	} {
		t.Run(name, func(t *testing.T) {
			var told []types.NamespacedName
			w := New(func(key types.NamespacedName) { told = append(told, key) })
			s := followed(w)

			s.note(tc.first, false)
			if tc.second != nil {
				s.note(tc.second, false)
			}
			if tc.deleted {
				s.note(tc.first, true)
			}

			assert.Equal(t, tc.want, len(told) > 0)
			assert.Equal(t, tc.want, len(w.Take(item)) > 0)
			assert.Empty(t, w.Take(item), "taken once")
		})
	}
}

func TestWhatWasSeenIsNoNews(t *testing.T) {
	w := New(func(types.NamespacedName) {})
	s := followed(w)
	s.note(object(entry(us, 10, "all", "")), false)

	changed := object(entry("x", 20, "f", ""))
	w.Seen(item, deployed, changed, false)
	s.note(changed, false)

	assert.Empty(t, w.Take(item))
}

func TestPausesGrowAndEnd(t *testing.T) {
	last := time.Duration(0)
	for attempt := range 12 {
		pause := Pause(attempt)
		assert.LessOrEqual(t, pause, maxPause+maxPause/5)
		assert.GreaterOrEqual(t, pause+pause/4, last)
		last = pause
	}
	assert.GreaterOrEqual(t, last, maxPause)
}

func TestOthersFieldsAreNoNewsWhereAllWantedOnesAreOurs(t *testing.T) {
	ours := entry(us, 10, "all", "")
	for name, tc := range map[string]struct {
		owned bool
		next  *metav1.PartialObjectMetadata
		want  bool
	}{
		"other field":                    {true, object(ours, entry("x", 20, "f", "")), false},
		"other field, not all are ours":  {false, object(ours, entry("x", 20, "f", "")), true},
		"field of ours":                  {true, object(entry(us, 10, "less", ""), entry("x", 20, "f", "")), true},
		"field of ours, removed":         {true, object(entry(us, 10, "less", "")), true},
		"fields of the deployer, anew":   {true, object(entry(us, 20, "more", "")), false},
		"managedFields are gone":         {true, object(), true},
		"managedFields of somebody else": {true, object(entry("x", 20, "all", "")), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(func(types.NamespacedName) {})
			s := followed(w)
			w.Seen(item, deployed, object(ours), tc.owned)

			s.note(tc.next, false)

			assert.Equal(t, tc.want, len(w.Take(item)) > 0)
		})
	}
}

// breaking panics when it is asked for a kind, and ends what asks.
type breaking struct {
	meta.RESTMapper
	end context.CancelFunc
}

func (b breaking) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	b.end()
	panic("broken")
}

func TestAPanicOverWhatATargetSendsEndsTheWatchAlone(t *testing.T) {
	s := followed(New(func(types.NamespacedName) {}))
	s.deployed.Cluster.Mapper = breaking{end: s.cancel}
	assert.NotPanics(t, s.run)
}

// TestAnOwnerIsToldOnceThatAllIsWatched has an owner one of whose kinds is watched and the other one not yet.
func TestAnOwnerIsToldOnceThatAllIsWatched(t *testing.T) {
	var told []types.NamespacedName
	w := New(func(owner types.NamespacedName) { told = append(told, owner) })
	other := Object{Kind: schema.GroupVersionKind{Kind: "Other"}, Namespace: "n", Name: "o"}
	first := followed(w, other)
	second := w.owners[item].objects[other].stream
	for _, s := range []*stream{first, second} {
		s.begin()
		s.note(object(entry(us, 10, "all", "")), false)
	}
	w.owners[item].tell = true

	first.opened()
	assert.Empty(t, told)

	second.opened()
	second.begin()
	second.note(object(entry(us, 10, "all", "")), false)
	second.opened()
	assert.Equal(t, []types.NamespacedName{item}, told)
}

// TestAKindThatMayNotBeListedEverywhereIsWatchedInItsNamespaces has objects in two namespaces.
func TestAKindThatMayNotBeListedEverywhereIsWatchedInItsNamespaces(t *testing.T) {
	w := New(func(types.NamespacedName) {})
	whole := followed(w, Object{Namespace: "m", Name: "o"})
	require.True(t, whole.split(apierrors.NewForbidden(schema.GroupResource{}, "", nil)))
	watches, objects := w.Count()
	assert.Equal(t, []int{2, 2}, []int{watches, objects})
	w.Leave(item)
	watches, objects = w.Count()
	assert.Equal(t, []int{0, 0}, []int{watches, objects})
	assert.Empty(t, w.narrow)
}
