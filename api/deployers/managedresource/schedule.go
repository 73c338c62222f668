// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// maxLength is how many bytes an expression may have.
const maxLength = 256

// reference is where Parse looks for the first instant. Every day of the year, also the 29th of February, comes soon after it.
var reference = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// Schedule names instants.
type Schedule struct{ instants cron.Schedule }

// Parse reads a cron expression of five fields, or a descriptor such as @daily or "@every 1h", optionally after CRON_TZ=<zone> and a space.
// Without a zone it means UTC. An expression that names no instant, such as the 30th of February, is an error, and so is whatever else cannot
// be read.
func ParseSchedule(expression string) (*Schedule, error) {
	if len(expression) > maxLength {
		return nil, fmt.Errorf("has %d bytes, at most %d are possible", len(expression), maxLength)
	}
	// The library takes the text between = and the first space for the zone, and does not expect that there is none.
	if zone, rest, _ := strings.Cut(expression, " "); strings.Contains(zone, "TZ=") && strings.TrimSpace(rest) == "" {
		return nil, errors.New("has a time zone and no fields; write for example CRON_TZ=Europe/Berlin 0 3 * * *")
	}
	parsed, err := cron.ParseStandard(expression)
	if err != nil {
		return nil, fmt.Errorf("not a cron expression of five fields: %w", err)
	}
	if parsed.Next(reference).IsZero() {
		return nil, errors.New("names no instant; correct day and month")
	}
	return &Schedule{instants: parsed}, nil
}

// Next returns the first instant after a moment; false when there is none within the next years.
func (s *Schedule) Next(after time.Time) (time.Time, bool) {
	next := s.instants.Next(after.UTC())
	return next, !next.IsZero()
}
