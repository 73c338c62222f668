// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package driftdesk

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/drift"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

var (
	settings = managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	drifted  = Found{Resource: settings, Fields: []string{"/data/a"}}
	missing  = Found{Resource: settings, Missing: true}
	fixed    = Found{Resource: settings, Fields: []string{"/data/a"}, Manager: "kubectl", Corrected: true}
	asWanted = Found{Resource: settings}
)

// found returns what is known after searches at a time.
func found(now time.Time, searches ...Found) (known *findings, told []string) {
	known = &findings{corrections: map[managedresource.ResourceReference]correction{}}
	for _, one := range searches {
		known.add([]Found{one}, now, func(note Note) { told = append(told, note.Reason) })
	}
	return known, told
}

func TestWhatIsShown(t *testing.T) {
	for name, tc := range map[string]struct {
		searches []Found
		trouble  drift.Trouble
		told     []string
		status   metav1.ConditionStatus
		reason   string
	}{
		"nothing":                    {},
		"all as deployed":            {searches: []Found{asWanted}},
		"drift":                      {searches: []Found{drifted}, told: []string{kit.ReasonDrift}, status: metav1.ConditionTrue, reason: kit.ReasonDrift},
		"the same drift":             {searches: []Found{drifted, drifted}, told: []string{kit.ReasonDrift}, status: metav1.ConditionTrue, reason: kit.ReasonDrift},
		"another drift":              {searches: []Found{drifted, missing}, told: []string{kit.ReasonDrift, kit.ReasonDrift}, status: metav1.ConditionTrue, reason: kit.ReasonDrift},
		"drift that is over":         {searches: []Found{drifted, asWanted}, told: []string{kit.ReasonDrift}},
		"a correction":               {searches: []Found{fixed}, told: []string{reasonCorrected}, status: metav1.ConditionFalse, reason: reasonCorrected},
		"a fight":                    {searches: []Found{fixed, fixed}, told: []string{reasonCorrected, reasonCorrected}, status: metav1.ConditionTrue, reason: reasonFought},
		"a watch that breaks":        {trouble: "cannot be watched", status: metav1.ConditionUnknown, reason: reasonUnwatched},
		"drift counts above trouble": {searches: []Found{drifted}, trouble: "cannot be watched", told: []string{kit.ReasonDrift}, status: metav1.ConditionTrue, reason: kit.ReasonDrift},
		"a correction that fails": {
			searches: []Found{{Resource: settings, Missing: true, Err: errors.New("denied")}}, told: []string{kit.ReasonDrift},
			status: metav1.ConditionTrue, reason: reasonCorrectionFailed,
		},
		"what could not be compared": {searches: []Found{drifted, {Resource: settings, Err: errors.New("denied")}}, told: []string{kit.ReasonDrift}, status: metav1.ConditionTrue, reason: kit.ReasonDrift},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			known, told := found(now, tc.searches...)
			known.trouble = tc.trouble
			assert.Equal(t, tc.told, told)
			shown := known.condition(1, now)
			if tc.status == "" {
				assert.Nil(t, shown)
				return
			}
			assert.Equal(t, tc.status, shown.Status)
			assert.Equal(t, tc.reason, shown.Reason)
		})
	}
}

func TestAFightGetsSlower(t *testing.T) {
	now := time.Unix(1000, 0)
	known, _ := found(now)
	var pauses []time.Duration
	for range 9 {
		begun := now
		for !known.mayCorrect(settings, now) {
			now = now.Add(time.Second)
		}
		pauses = append(pauses, now.Sub(begun))
		known.add([]Found{fixed}, now, func(Note) {})
	}
	assert.Equal(t, []time.Duration{
		0, 0, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute,
	}, pauses)
	assert.True(t, known.mayCorrect(settings, now.Add(time.Hour)))
	known.add([]Found{fixed}, now.Add(time.Hour), func(Note) {})
	assert.Empty(t, known.fought(now.Add(time.Hour)), "after peace it begins anew")
}

func TestWhenAnItemIsLookedAtAgain(t *testing.T) {
	now := time.Unix(1000, 0)
	atPeace, _ := found(now, fixed)
	assert.Zero(t, atPeace.next(now, true))
	fight, _ := found(now, fixed, fixed, drifted)
	assert.Empty(t, fight.due(now))
	assert.Equal(t, now.Add(15*time.Second), fight.next(now, true), "the next correction")
	assert.Equal(t, now.Add(time.Minute), fight.next(now, false), "the end of the fight")
	assert.Equal(t, []managedresource.ResourceReference{settings}, fight.due(now.Add(15*time.Second)))
}

func TestWhoFightsIsNamed(t *testing.T) {
	now := time.Unix(1000, 0)
	known, _ := found(now, fixed, fixed)
	assert.Contains(t, known.fought(now), `(by "kubectl")`)
}

func TestLongNamesOfManagersAreNotKept(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	known, _ := found(time.Unix(1000, 0), Found{Resource: settings, Fields: []string{"/data/a"}, Manager: long, Corrected: true})
	assert.LessOrEqual(t, len(known.corrections[settings].manager), longestManager)
	known, _ = found(time.Unix(1000, 0), Found{Resource: settings, Fields: []string{"/data/a"}, Manager: long})
	assert.LessOrEqual(t, len(known.drifted[settings].Manager), longestManager)
}

// TestOfManyFieldsThatDifferFewAreKept measures the memory that is in use after a search, without what the search itself has answered.
func TestOfManyFieldsThatDifferFewAreKept(t *testing.T) {
	const objects, fields = 100, 1000
	many := func() (answer []Found) {
		for object := range objects {
			one := Found{Resource: managedresource.ResourceReference{Kind: "ConfigMap", Name: strconv.Itoa(object)}, Err: errors.New(strings.Repeat("e", 64<<10))}
			for field := range fields {
				one.Fields = append(one.Fields, fmt.Sprintf("/data/%d/%0100d", object, field))
			}
			answer = append(answer, one)
		}
		return answer
	}
	inUse := func() int64 {
		var memory runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&memory)
		return int64(memory.HeapAlloc) // #nosec G115 -- fits
	}
	known, _ := found(time.Unix(1000, 0))
	before := inUse()
	known.add(many(), time.Unix(1000, 0), func(Note) {})
	assert.Less(t, inUse()-before, int64(objects*(maxNamed*longestPointer+longestFailure)*2))
	require.Len(t, known.drifted, objects)
}

func TestAFieldThatIsNotShownIsNewsToo(t *testing.T) {
	with := func(last string) Found {
		one := Found{Resource: settings}
		for field := range 2 * maxNamed {
			one.Fields = append(one.Fields, fmt.Sprintf("/data/%d", field))
		}
		one.Fields = append(one.Fields, last)
		return one
	}
	long := "/data/" + strings.Repeat("x", longestPointer)
	for name, tc := range map[string]struct {
		then Found
		told int
	}{
		"the same":           {with(long + "a"), 1},
		"another, not shown": {with(long + "b"), 2},
		"less":               {Found{Resource: settings, Fields: with("").Fields[:maxNamed]}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			known, told := found(now, with(long+"a"), tc.then)
			assert.Len(t, told, tc.told)
			if name != "less" {
				assert.Contains(t, known.condition(1, now).Message, "/data/9 and 11 more")
			}
		})
	}
}

func TestDescriptionsAreBounded(t *testing.T) {
	one := Found{Resource: settings}
	for range 100 {
		one.Fields = append(one.Fields, "/data/"+strings.Repeat("x", 10_000))
	}
	text := describe([]Found{one})
	assert.Less(t, len(text), 2*maxNamed*longestPointer)
	assert.True(t, strings.HasSuffix(text, " and 90 more"), text)
}

func TestSearchesArePaced(t *testing.T) {
	item, now := &driftItem{}, time.Unix(1000, 0)
	for range freeSearches {
		assert.Zero(t, item.pace(now))
	}
	assert.Equal(t, minSearchPause, item.pace(now))
	for range 20 {
		now = now.Add(maxSearchPause)
		assert.Zero(t, item.pace(now))
	}
	assert.Equal(t, maxSearchPause, item.pace(now))
	assert.Zero(t, item.pace(now.Add(searchQuiet+time.Second)), "after peace it begins anew")
}

func TestWhatIsSearchedAgain(t *testing.T) {
	objects := []managedresource.ResourceReference{settings}
	failed := []Found{{Resource: settings, Err: errors.New("denied")}}
	assert.Equal(t, objects, failedObjects(objects, nil, errors.New("denied"), false), "nothing was compared")
	assert.Equal(t, objects, failedObjects(objects, failed, nil, false), "it could not be compared")
	assert.Equal(t, objects, failedObjects(objects, []Found{drifted}, nil, true), "its correction is held back")
	assert.Empty(t, failedObjects(objects, []Found{drifted}, nil, false))
	assert.Empty(t, failedObjects(objects, []Found{fixed}, nil, true))
}
