// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNext(t *testing.T) {
	after := time.Date(2026, time.November, 22, 12, 30, 15, 0, time.FixedZone("elsewhere", 3600))
	for expression, want := range map[string]time.Time{
		"*/5 * * * *":                        time.Date(2026, time.November, 22, 11, 35, 0, 0, time.UTC),
		"0 3 * * *":                          time.Date(2026, time.November, 23, 3, 0, 0, 0, time.UTC),
		"@hourly":                            time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC),
		"@every 90s":                         time.Date(2026, time.November, 22, 11, 31, 45, 0, time.UTC),
		"CRON_TZ=Asia/Tokyo 0 21 * * *":      time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC),
		"TZ=UTC 0 0 29 2 *":                  time.Date(2028, time.February, 29, 0, 0, 0, 0, time.UTC),
		"CRON_TZ=UTC    30 11 22 11 *":       time.Date(2027, time.November, 22, 11, 30, 0, 0, time.UTC),
		"0 0 1 jan sun":                      time.Date(2027, time.January, 1, 0, 0, 0, 0, time.UTC),
		"CRON_TZ=America/New_York 0 7 * * *": time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC),
	} {
		t.Run(expression, func(t *testing.T) {
			parsed, err := ParseSchedule(expression)
			require.NoError(t, err)
			next, found := parsed.Next(after)
			assert.True(t, found)
			assert.True(t, want.Equal(next), "%s", next)
		})
	}
}

func TestBadExpressions(t *testing.T) {
	for expression, want := range map[string]string{
		"":                            "not a cron expression of five fields: empty spec string",
		"every day":                   "not a cron expression of five fields",
		"* * * * * *":                 "not a cron expression of five fields",
		"61 * * * *":                  "above maximum (59)",
		"0 0 30 2 *":                  "names no instant",
		"CRON_TZ=UTC":                 "has a time zone and no fields",
		"TZ=0":                        "has a time zone and no fields",
		"CRON_TZ= ":                   "has a time zone and no fields",
		"CRON_TZ=../passwd * * * * *": "bad location",
		strings.Repeat("*", 257):      "has 257 bytes",
	} {
		t.Run(expression, func(t *testing.T) {
			_, err := ParseSchedule(expression)
			assert.ErrorContains(t, err, want)
		})
	}
}

// FuzzParse feeds arbitrary expressions: each is refused, or names instants that lie ahead.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"*/5 * * * *", "0 0 30 2 *", "CRON_TZ=UTC", "TZ=0", "@every 1h", "@every -1h", "CRON_TZ=Asia/Tokyo 0 21 * * *", "0-59/0 * * * *"} {
		f.Add(seed, int64(1_800_000_000))
	}
	f.Fuzz(func(t *testing.T, expression string, after int64) {
		parsed, err := ParseSchedule(expression)
		if err != nil {
			return
		}
		moment := time.Unix(after%4_000_000_000, 0)
		if next, found := parsed.Next(moment); found {
			require.True(t, next.After(moment))
		}
	})
}
