// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
)

var helmInEast = pair.Key{Registration: "helm", Environment: "east"}

func TestAbsencesGrow(t *testing.T) {
	for name, test := range map[string]struct {
		// after are how long after the end of the absence before each loss comes.
		after []time.Duration
		times int
		lasts time.Duration
	}{
		"the first":                {[]time.Duration{0}, 1, time.Minute},
		"the second":               {[]time.Duration{0, 0}, 2, 2 * time.Minute},
		"the sixth":                {make([]time.Duration, 6), 6, 32 * time.Minute},
		"no longer than that":      {make([]time.Duration, 20), 20, time.Hour},
		"after some time in peace": {[]time.Duration{0, 0, 2 * time.Hour}, 3, 4 * time.Minute},
		"after a long time":        {[]time.Duration{0, 0, 2*time.Hour + 1}, 1, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var a absences
			lost := now
			for _, after := range test.after {
				if last := a.of[loss{helmInEast, "shop"}]; last.times > 0 {
					lost = last.until.Add(after)
				}
				a.begin(helmInEast, "shop", lost)
			}
			known, isAbsent := a.now(helmInEast, "shop", lost)
			assert.True(t, isAbsent)
			assert.Equal(t, absence{test.times, lost.Add(test.lasts)}, known)
			_, isAbsent = a.now(helmInEast, "shop", known.until)
			assert.False(t, isAbsent, "it is over")
		})
	}
}

func TestAbsencesAreForgotten(t *testing.T) {
	var a absences
	inWest := pair.Key{Registration: "helm", Environment: "west"}
	a.begin(helmInEast, "shop", now)
	a.begin(helmInEast, "gone", now)
	a.begin(inWest, "shop", now)
	a.keep(helmInEast, []string{"shop", "toys"})
	assert.Contains(t, a.of, loss{helmInEast, "shop"})
	assert.NotContains(t, a.of, loss{helmInEast, "gone"}, "with their namespace")
	a.forget("east")
	assert.NotContains(t, a.of, loss{helmInEast, "shop"}, "with their Environment")
	assert.Contains(t, a.of, loss{inWest, "shop"})
}
