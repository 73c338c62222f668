// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
)

const verbTest = "test"

// TestRun is a test of a chart, with the result of its last run.
type TestRun struct {
	// Name of the object that the test is.
	Name string
	// Phase of the last run; empty when there was none.
	Phase TestPhase
	// Started and Completed say when that was.
	Started, Completed time.Time
}

// TestPhase is how far a test got.
type TestPhase string

// Phases that have a meaning beyond what they say.
const (
	// TestSucceeded is the end of a good run.
	TestSucceeded TestPhase = "Succeeded"
	// TestFailed is the end of a bad one.
	TestFailed TestPhase = "Failed"
)

// TestFilter selects the test of a name, or all but that.
type TestFilter struct {
	Name    string
	Exclude bool
}

// Selected returns the tests that filters leave.
func Selected(tests []TestRun, filters []TestFilter) []TestRun {
	only, without := names(filters)
	return slices.DeleteFunc(slices.Clone(tests), func(test TestRun) bool {
		return without[test.Name] || len(only) > 0 && !only[test.Name]
	})
}

func names(filters []TestFilter) (only, without map[string]bool) {
	only, without = map[string]bool{}, map[string]bool{}
	for _, filter := range filters {
		if filter.Exclude {
			without[filter.Name] = true
		} else {
			only[filter.Name] = true
		}
	}
	return only, without
}

// Test runs the tests of the last revision of a release that filters leave, and returns it with their results, which Helm records. Of request,
// Timeout limits each of them. An error is an *Error whose Pods are what the test that failed wrote last. When ctx ends first, the test that runs
// is left alone.
func (e *Engine) Test(ctx context.Context, request Request, filters []TestFilter) (*Release, error) {
	return e.run(ctx, request, verbTest, func(op *operation) (*release.Release, error) {
		test := action.NewReleaseTesting(op.Configuration)
		test.Timeout = request.budget(ctx)
		only, without := names(filters)
		test.Filters[action.IncludeNameFilter] = slices.Collect(maps.Keys(only))
		test.Filters[action.ExcludeNameFilter] = slices.Collect(maps.Keys(without))
		return test.Run(request.Name)
	})
}

// testsOf returns the tests among the hooks of a revision.
func testsOf(rel *release.Release) []TestRun {
	var tests []TestRun
	for _, hook := range rel.Hooks {
		if !slices.Contains(hook.Events, release.HookTest) {
			continue
		}
		tests = append(tests, TestRun{
			Name: hook.Name, Phase: TestPhase(hook.LastRun.Phase), Started: hook.LastRun.StartedAt.Time, Completed: hook.LastRun.CompletedAt.Time,
		})
	}
	return tests
}
