// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// MaxTestFilters is how many filters of tests a configuration may have.
const MaxTestFilters = 100

// Test says whether and how the tests of a chart run, see https://helm.sh/docs/topics/chart_tests.
type Test struct {
	// enable runs the tests. A revision whose tests have passed is not tested again.
	Enable bool `json:"enable,omitempty"`
	// timeout limits each test, within the time that the DeployItem has left. Unset means that time.
	Timeout *v1alpha1.Duration `json:"timeout,omitempty"`
	// ignoreFailures lets the job succeed also when tests fail.
	IgnoreFailures bool `json:"ignoreFailures,omitempty"`
	// filters select tests, at most 100; empty means all.
	Filters []TestFilter `json:"filters,omitempty"`
}

// TestFilter selects the test of a name, or all others.
type TestFilter struct {
	// name of the test: that of its object.
	Name string `json:"name"`
	// exclude leaves the test out, instead of running only those that are named.
	Exclude bool `json:"exclude,omitempty"`
}

// TestStatus is the result of a run of tests.
type TestStatus struct {
	// revision of the release that was tested.
	Revision int `json:"revision"`
	// hooks are the tests, at most 20.
	Hooks []TestHookStatus `json:"hooks,omitempty"`
}

// TestHookStatus is the result of one test.
type TestHookStatus struct {
	// name of the test.
	Name string `json:"name"`
	// lastStarted is when it began.
	LastStarted *metav1.Time `json:"lastStarted,omitempty"`
	// lastCompleted is when it ended.
	LastCompleted *metav1.Time `json:"lastCompleted,omitempty"`
	// phase is Succeeded, Failed, Running or Unknown; empty for a test that was not reached.
	Phase string `json:"phase,omitempty"`
	// log is what its Pod wrote last if it failed: at most 10 lines and 1 KiB. What the values hold as secrets is not shown.
	Log string `json:"log,omitempty"`
}
