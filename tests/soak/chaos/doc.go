// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package chaos kills our programs in the middle of their work, as processes on a real API server, and checks that nobody can tell
// afterwards: everything ends well, everything was created once, every Installation had exactly the jobs it was to have, nothing is written
// any more, and nothing is left behind. Random choices come from a seed that every test prints and -chaos-seed repeats:
//
//	go test ./tests/soak/chaos -run KillNine -args -chaos-seed 42
package chaos
