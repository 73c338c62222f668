// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

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
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
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

var deployed = managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "n", Name: "o"}

// watchedItem is an item with one object, and others, whose watches do not begin, and the stream of the one.
func watchedItem(others ...managedresource.ResourceReference) (*driftItem, *driftStream) {
	desk := deskOf(detector{}, nil, nil)
	desk.done = true
	known := &driftItem{key: types.NamespacedName{Namespace: "n", Name: "item"}, site: desk.siteOf(driftSiteKey{"n", "target", target.Actor{}})}
	desk.items[known.key] = known
	desk.attach(known, &target.Cluster{Config: &rest.Config{}}, Deployed{Managers: []string{us}, Objects: append(others, deployed)}, start.Add(30*time.Second), false)
	return known, known.objects[deployed].stream
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
			known, s := watchedItem()
			s.note(tc.first, false)
			if tc.second != nil {
				s.note(tc.second, false)
			}
			if tc.deleted {
				s.note(tc.first, true)
			}

			assert.Equal(t, tc.want, known.site.queue.Len() > 0)
			assert.Equal(t, tc.want, len(known.take()) > 0)
			assert.Empty(t, known.take(), "taken once")
		})
	}
}

func TestWhatWasSeenIsNoNews(t *testing.T) {
	known, s := watchedItem()
	s.note(object(entry(us, 10, "all", "")), false)

	changed := object(entry("x", 20, "f", ""))
	known.objects[deployed].see(Drift{Live: changed})
	s.note(changed, false)

	assert.Empty(t, known.take())
}

func TestPausesGrowAndEnd(t *testing.T) {
	last := time.Duration(0)
	for attempt := range 12 {
		pause := driftPause(attempt)
		assert.LessOrEqual(t, pause, maxDriftPause+maxDriftPause/5)
		assert.GreaterOrEqual(t, pause+pause/4, last)
		last = pause
	}
	assert.GreaterOrEqual(t, last, maxDriftPause)
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
			known, s := watchedItem()
			known.objects[deployed].see(Drift{Live: object(ours), Owned: tc.owned})

			s.note(tc.next, false)

			assert.Equal(t, tc.want, len(known.take()) > 0)
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
	_, s := watchedItem()
	s.cluster.Mapper = breaking{end: s.cancel}
	assert.NotPanics(t, s.run)
}

// TestAnItemIsToldThatAllIsWatched has an item one of whose kinds is watched and the other one not yet.
func TestAnItemIsToldThatAllIsWatched(t *testing.T) {
	other := managedresource.ResourceReference{APIVersion: "v1", Kind: "Other", Namespace: "n", Name: "o"}
	known, first := watchedItem(other)
	second := known.objects[other].stream
	for _, s := range []*driftStream{first, second} {
		s.begin()
		s.note(object(entry(us, 10, "all", "")), false)
	}
	known.doubtful = true

	first.opened()
	assert.Zero(t, known.site.queue.Len())

	second.opened()
	assert.Equal(t, 1, known.site.queue.Len())
}

// TestAKindThatMayNotBeListedEverywhereIsWatchedInItsNamespaces has objects in two namespaces.
func TestAKindThatMayNotBeListedEverywhereIsWatchedInItsNamespaces(t *testing.T) {
	other := deployed
	other.Namespace = "m"
	known, whole := watchedItem(other)
	desk := whole.desk
	require.True(t, whole.split(apierrors.NewForbidden(schema.GroupResource{}, "", nil)))
	assert.Len(t, desk.streams, 2)
	for _, stream := range desk.streams {
		assert.Equal(t, 1, stream.used)
		assert.Len(t, stream.objects, 1)
	}
	desk.detach(known, nil)
	assert.Empty(t, desk.streams)
	assert.Empty(t, desk.narrow)
}

// TestWhatIsKnownOfAnObjectStaysWithTheNextJob has an item get another job, which deploys one of two objects.
func TestWhatIsKnownOfAnObjectStaysWithTheNextJob(t *testing.T) {
	other := deployed
	other.Name = "other"
	known, s := watchedItem(other)
	s.note(object(entry(us, 10, "all", "")), false)
	seen := known.objects[deployed]

	s.desk.attach(known, s.cluster, Deployed{Managers: []string{us}, Objects: []managedresource.ResourceReference{deployed}}, start, false)

	assert.Same(t, seen, known.objects[deployed])
	assert.Equal(t, 1, s.used)
	assert.Len(t, s.objects, 1, "the other one is nobody's any more")
}
