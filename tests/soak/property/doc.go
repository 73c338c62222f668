// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package property lets random landscapes live on the real platform and checks that the engine does what a plain model predicts.
//
// From a seed it grows Installations of up to four levels, with data that flows from parents and among siblings, whose leaves are mock
// DeployItems or ConfigMaps in a target. Then it changes them at random: values, structure, data flow, items and templates that fail and are
// repaired, interrupts, deletions, many changes at once, and all of that while a quota, a policy, a dead webhook, a closed target or missing
// rights are in the way. After each step, in whatever state it leaves the landscape, resource versions have to stand still. What each root
// exports is a digest over everything that it is made of, so that a single value that did not flow, or flowed too early, shows. Every state of
// every object is recorded, and rules hold for the whole record: order, one job for one change, failures that name a cause, nothing left
// behind.
//
//	go test ./tests/soak/property -timeout 3h -args -seeds 20 -size 200 -steps 40 -kills 8
//
// A failure prints the command that repeats it. Timing is not part of the seed: a rare race may need a few attempts.
package property
