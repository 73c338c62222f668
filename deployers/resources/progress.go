// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
)

const (
	// namedInWaiting bounds how many reasons Progress.Waiting spells out.
	namedInWaiting = 3
	// MaxReason is the length of a reason in bytes: it is kept as long as a job waits, and may hold what an object of the target says.
	MaxReason = 1024
)

// Progress says what a piece of work waits for. The zero value is complete.
type Progress struct {
	// Reasons say what is missing, one sentence for each object.
	Reasons []string
	// Watch lists the objects whose next change may bring the work on.
	Watch []contract.Watched
}

// Done reports whether nothing is missing.
func (p Progress) Done() bool { return len(p.Reasons) == 0 }

// Waiting returns the reasons as one sentence for contract.Outcome.Waiting.
func (p Progress) Waiting() string {
	if len(p.Reasons) <= namedInWaiting {
		return strings.Join(p.Reasons, "; ")
	}
	return strings.Join(p.Reasons[:namedInWaiting], "; ") + "; and more"
}

// Outcome returns an unfinished outcome that waits for what is missing.
func (p Progress) Outcome() contract.Outcome {
	return contract.Outcome{Waiting: p.Waiting(), Watch: p.Watch}
}

// Wait adds a reason to wait, with the objects to watch for its end.
func (p *Progress) Wait(reason string, watch ...contract.Watched) {
	p.Reasons = append(p.Reasons, foreign.Beginning(reason, MaxReason))
	p.Watch = append(p.Watch, watch...)
}

// Add makes what other waits for part of what p waits for.
func (p *Progress) Add(other Progress) {
	p.Reasons = append(p.Reasons, other.Reasons...)
	p.Watch = append(p.Watch, other.Watch...)
}
