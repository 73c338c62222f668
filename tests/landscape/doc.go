// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package landscape runs our processes on tests/platform as they run in a cluster, for suites that check what a user observes:
//
//	func TestMain(m *testing.M) { os.Exit(landscape.Main(m, platform.Options{})) }
//
//	func TestSomething(t *testing.T) {
//		s := landscape.NewScene(t)
//		…
//	}
//
// A witness watches every state of every Installation. When the test ends, each state of its namespace must have told the truth. Tests that
// need a process with flags or rights of its own start it with Run.
package landscape
