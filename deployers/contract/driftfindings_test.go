// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

var (
	settings = managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "shop", Name: "settings"}
	drifted  = Drift{Resource: settings, Fields: []string{"/data/a"}}
	missing  = Drift{Resource: settings, Missing: true}
	fixed    = Drift{Resource: settings, Fields: []string{"/data/a"}, Manager: "kubectl", Corrected: true}
	asWanted = Drift{Resource: settings}
)

// found returns what is known after searches at a time.
func found(now time.Time, searches ...Drift) (known *driftFindings, told []string) {
	known = &driftFindings{corrections: map[managedresource.ResourceReference]correction{}}
	for _, one := range searches {
		known.add([]Drift{one}, now, func(note driftNote) { told = append(told, note.Reason) })
	}
	return known, told
}

func TestWhatIsShown(t *testing.T) {
	for name, tc := range map[string]struct {
		searches []Drift
		trouble  driftTrouble
		told     []string
		status   metav1.ConditionStatus
		reason   string
	}{
		"nothing":                    {},
		"all as deployed":            {searches: []Drift{asWanted}},
		"drift":                      {searches: []Drift{drifted}, told: []string{protocol.ReasonDrift}, status: metav1.ConditionTrue, reason: protocol.ReasonDrift},
		"the same drift":             {searches: []Drift{drifted, drifted}, told: []string{protocol.ReasonDrift}, status: metav1.ConditionTrue, reason: protocol.ReasonDrift},
		"another drift":              {searches: []Drift{drifted, missing}, told: []string{protocol.ReasonDrift, protocol.ReasonDrift}, status: metav1.ConditionTrue, reason: protocol.ReasonDrift},
		"drift that is over":         {searches: []Drift{drifted, asWanted}, told: []string{protocol.ReasonDrift}},
		"a correction":               {searches: []Drift{fixed}, told: []string{reasonCorrected}, status: metav1.ConditionFalse, reason: reasonCorrected},
		"a fight":                    {searches: []Drift{fixed, fixed}, told: []string{reasonCorrected, reasonCorrected}, status: metav1.ConditionTrue, reason: reasonFought},
		"a watch that breaks":        {trouble: "cannot be watched", status: metav1.ConditionUnknown, reason: reasonUnwatched},
		"drift counts above trouble": {searches: []Drift{drifted}, trouble: "cannot be watched", told: []string{protocol.ReasonDrift}, status: metav1.ConditionTrue, reason: protocol.ReasonDrift},
		"a correction that fails": {
			searches: []Drift{{Resource: settings, Missing: true, Err: errors.New("denied")}}, told: []string{protocol.ReasonDrift},
			status: metav1.ConditionTrue, reason: reasonCorrectionFailed,
		},
		"what could not be compared": {searches: []Drift{drifted, {Resource: settings, Err: errors.New("denied")}}, told: []string{protocol.ReasonDrift}, status: metav1.ConditionTrue, reason: protocol.ReasonDrift},
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
		known.add([]Drift{fixed}, now, func(driftNote) {})
	}
	assert.Equal(t, []time.Duration{
		0, 0, 15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute,
	}, pauses)
	assert.True(t, known.mayCorrect(settings, now.Add(time.Hour)))
	known.add([]Drift{fixed}, now.Add(time.Hour), func(driftNote) {})
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

func TestAFieldThatIsNotShownIsNewsToo(t *testing.T) {
	with := func(last string) Drift {
		one := Drift{Resource: settings}
		for field := range 2 * maxNamed {
			one.Fields = append(one.Fields, fmt.Sprintf("/data/%d", field))
		}
		one.Fields = append(one.Fields, last)
		return one
	}
	long := "/data/" + strings.Repeat("x", longestPointer)
	for name, tc := range map[string]struct {
		then Drift
		told int
	}{
		"the same":           {with(long + "a"), 1},
		"another, not shown": {with(long + "b"), 2},
		"less":               {Drift{Resource: settings, Fields: with("").Fields[:maxNamed]}, 2},
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
	one := Drift{Resource: settings}
	for range 100 {
		one.Fields = append(one.Fields, "/data/"+strings.Repeat("x", 10_000))
	}
	text := describe([]Drift{one})
	assert.Less(t, len(text), 2*maxNamed*longestPointer)
	assert.True(t, strings.HasSuffix(text, " and 90 more"), text)
}

func TestWhatIsSearchedAgain(t *testing.T) {
	objects := []managedresource.ResourceReference{settings}
	failed := []Drift{{Resource: settings, Err: errors.New("denied")}}
	assert.Equal(t, objects, failedObjects(objects, nil, errors.New("denied"), false), "nothing was compared")
	assert.Equal(t, objects, failedObjects(objects, failed, nil, false), "it could not be compared")
	assert.Equal(t, objects, failedObjects(objects, []Drift{drifted}, nil, true), "its correction is held back")
	assert.Empty(t, failedObjects(objects, []Drift{drifted}, nil, false))
	assert.Empty(t, failedObjects(objects, []Drift{fixed}, nil, true))
}
