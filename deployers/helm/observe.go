// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// maxTests is how many tests the status lists.
const maxTests = 20

// isTested reports whether the configuration wants tests.
func isTested(c *helmv1alpha1.ProviderConfiguration) bool { return c.Test != nil && c.Test.Enable }

// testsIn returns the tests of a revision that the configuration wants.
func testsIn(c *helmv1alpha1.ProviderConfiguration, revision *engine.Release) []engine.TestRun {
	if !isTested(c) {
		return nil
	}
	return engine.Selected(revision.Tests, c.Test.Filters)
}

// hasFailedTests reports whether tests of a revision have failed that fail the job.
func hasFailedTests(c *helmv1alpha1.ProviderConfiguration, revision *engine.Release) bool {
	return len(failedOf(testsIn(c, revision))) > 0 && !c.Test.IgnoreFailures
}

// failedOf returns the names of the tests that have failed.
func failedOf(tests []engine.TestRun) []string {
	var failed []string
	for _, test := range tests {
		if test.Phase == engine.TestFailed {
			failed = append(failed, test.Name)
		}
	}
	return failed
}

// planTests finds out whether tests of the revision that the job has reached are to run. Those that have passed are not repeated.
func (j *job) planTests() {
	tests := testsIn(j.config, j.release)
	if j.status.Tests != nil && (!isTested(j.config) || j.status.Tests.Revision != j.release.Revision) {
		j.status.Tests = nil
	}
	j.attempt.testing = nil
	if slices.ContainsFunc(tests, func(t engine.TestRun) bool { return t.Phase != engine.TestSucceeded }) {
		j.attempt.testing = j.release
		return
	}
	forgive(j.status)
}

// runTests runs the tests of the chart. What is recorded of an earlier run that failed is not repeated: only a new revision is tested again.
func (j *job) runTests(ctx context.Context) error {
	tested := j.attempt.testing
	if tested == nil {
		return nil
	}
	var failure error
	if len(failedOf(testsIn(j.config, tested))) == 0 {
		tested, failure = j.test(ctx)
	}
	if tested == nil {
		return helmProblem(failure)
	}
	j.attempt.testing = tested
	tests := testsIn(j.config, tested)
	var logs map[string]string // what the Pods of tests wrote last
	if problem, ok := errors.AsType[*engine.Error](failure); ok {
		logs = problem.Pods
	}
	j.attempt.reached.Tests = testStatusOf(tested, tests, logs, j.attempt.reached.Tests)
	failed := failedOf(tests)
	if len(failed) > 0 && !j.config.Test.IgnoreFailures {
		return j.reject(tested, failed, failure)
	}
	j.attempt.testing = nil
	forgive(j.attempt.reached)
	if len(failed) > 0 {
		j.attempt.warning = joined(j.attempt.warning, fmt.Sprintf("the tests %s failed, which test.ignoreFailures allows", strings.Join(failed, ", ")))
	}
	return nil
}

// test runs the tests and returns the revision with the results. It is nil when they are not known.
func (j *job) test(ctx context.Context) (*engine.Release, error) {
	if j.values == nil { // the release was reached in an earlier call
		if err := j.readValues(ctx); err != nil {
			return nil, err
		}
	}
	request := j.rendering()
	request.Reserve, request.Timeout = true, j.config.Test.Timeout
	tested, failure := j.engine.Test(ctx, request, j.config.Test.Filters)
	if failure == nil || ctx.Err() != nil {
		return tested, failure
	}
	last, err := j.engine.Last(ctx, j.item.Target, j.config.Namespace, j.config.Name)
	if err != nil || last == nil || len(failedOf(testsIn(j.config, last))) == 0 {
		return nil, failure // it could not run
	}
	return last, failure
}

// reject makes failed tests the end of the job, or of the attempt where the settings say what follows.
func (j *job) reject(tested *engine.Release, failed []string, failure error) error {
	failure = cmp.Or(failure, errFailedBefore)
	j.attempt.failure = fmt.Errorf("test %s of revision %d of helm release %s/%s failed; status.providerStatus.tests says what its Pod wrote: %w",
		strings.Join(failed, ", "), tested.Revision, tested.Namespace, tested.Name, failure)
	action, _ := attemptIn(tested)
	if remediation := j.remediationOf(action); remediation != nil && !ignoresTests(j.config, remediation) {
		j.rejected, j.attempt.reached = j.attempt.reached, nil
		return protocol.Again("TestRelease", "TestFailed", "%w", j.attempt.failure)
	}
	return protocol.Stall("TestRelease", "TestFailed", "%w; correct chart or values, or set test.ignoreFailures", j.attempt.failure)
}

// testStatusOf returns what the status says of tests. What an earlier process recorded of their Pods stays.
func testStatusOf(tested *engine.Release, tests []engine.TestRun, logs map[string]string, before *helmv1alpha1.TestStatus) *helmv1alpha1.TestStatus {
	status := &helmv1alpha1.TestStatus{Revision: tested.Revision}
	for _, test := range tests[:min(len(tests), maxTests)] {
		hook := helmv1alpha1.TestHookStatus{
			Name: test.Name, Phase: test.Phase, LastStarted: timeOf(test.Started), LastCompleted: timeOf(test.Completed), Log: logs[test.Name],
		}
		if before != nil && hook.Log == "" && test.Phase == engine.TestFailed {
			if at := slices.IndexFunc(before.Hooks, func(other helmv1alpha1.TestHookStatus) bool { return other.Name == test.Name }); at >= 0 {
				hook.Log = before.Hooks[at].Log
			}
		}
		status.Hooks = append(status.Hooks, hook)
	}
	return status
}

func timeOf(moment time.Time) *metav1.Time {
	if moment.IsZero() {
		return nil
	}
	return &metav1.Time{Time: moment}
}

// exportValues evaluates the exports that name no object: their paths select from what the chart's templates see.
func (j *job) exportValues(ctx context.Context) error {
	wanted := slices.DeleteFunc(j.config.AllExports(), func(export managedresource.Export) bool { return export.FromResource != nil })
	if len(wanted) == 0 {
		return nil
	}
	document, err := j.engine.Values(ctx, j.rendering())
	if err != nil {
		return helmProblem(err)
	}
	j.attempt.values = map[string]any{}
	for _, export := range wanted {
		if err := ctx.Err(); err != nil {
			return err
		}
		value, ok, err := resources.ValueAt(document, export.JSONPath)
		if err != nil {
			return err
		}
		if !ok {
			return protocol.Stall("ReadExports", "ExportNotFound",
				"export %s: the values of the chart have nothing at %s; correct jsonPath, or name the object in fromResource", export.Key, export.JSONPath)
		}
		j.attempt.values[export.Key] = value
	}
	return nil
}

// exportFromResources reads the exports that name an object, and adds the others.
func (j *job) exportFromResources(ctx context.Context) error {
	found, progress, err := resources.Export(ctx, j.session(), j.config.AllExports())
	if err := until(progress, err); err != nil {
		return err
	}
	if found == nil && len(j.attempt.values) > 0 {
		found = map[string]any{}
	}
	for _, key := range slices.Sorted(maps.Keys(j.attempt.values)) {
		if err := resources.Nest(found, key, runtime.DeepCopyJSONValue(j.attempt.values[key])); err != nil {
			return protocol.Coded(protocol.Stall("ReadExports", "ExportConflict", "%w", err), v1alpha1.ErrorConfigurationProblem)
		}
	}
	j.exports = found
	return nil
}

// checkDefaultReadiness asks whether the objects that were deployed are ready. What was ready once is not asked again.
func (j *job) checkDefaultReadiness(ctx context.Context) error {
	var progress resources.Progress
	var err error
	j.attempt.unready, progress, err = (&resources.ReadinessChecks{Session: j.session(), Health: j.health}).Default(ctx, j.health.Asked(j.attempt.unready))
	if j.attempt.reached != nil {
		resources.ForgetFailedRuns(j.attempt.reached.ManagedResources, j.attempt.unready, err)
	}
	return until(progress, err)
}

// checkCustomReadiness asks whether the checks of the configuration hold.
func (j *job) checkCustomReadiness(ctx context.Context) error {
	return until(resources.CustomChecks(ctx, j.session(), j.config.ReadinessChecks.CustomReadinessChecks))
}
