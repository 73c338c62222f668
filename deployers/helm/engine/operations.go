// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Install installs a release that does not exist yet and returns it. When ctx ends first, the release stays pending and nothing
// goes on in the background.
func (e *Engine) Install(ctx context.Context, request Request) (*Release, error) {
	return e.run(ctx, request, "install", func(op *operation) (*release.Release, error) {
		if request.CreateNamespace {
			if err := e.EnsureNamespace(ctx, request.Cluster, request.Namespace); err != nil {
				return nil, err
			}
		}
		rendered, err := op.prepare(ctx, request, firstInstall(request), cmp.Or(request.CRDs, helmv1alpha1.CRDsCreate))
		if err != nil {
			return nil, err
		}
		install := action.NewInstall(op.Configuration)
		install.SkipCRDs = true // they exist by now
		install.DisableHooks, install.WaitForJobs = request.DisableHooks, request.WaitForJobs
		install.PostRenderer = rendered
		install.ReleaseName, install.Namespace = request.Name, request.Namespace
		install.Labels = request.Labels
		install.Replace = request.Replace
		install.Atomic, install.Wait, install.Force = request.Atomic, request.Wait, request.Force
		install.TakeOwnership = request.TakeOwnership
		install.Timeout = request.budget(ctx)
		install.DisableOpenAPIValidation = !request.checksFields()
		made, err := install.RunWithContext(context.WithoutCancel(ctx), rendered.stub(), map[string]any{})
		return made, op.explainUnserved(err, rendered.manifest, request.Name, 0)
	})
}

// Upgrade makes the next revision of a release and returns it. When ctx ends first, the release stays pending and nothing goes
// on in the background.
func (e *Engine) Upgrade(ctx context.Context, request Request) (*Release, error) {
	return e.run(ctx, request, "upgrade", func(op *operation) (*release.Release, error) {
		from := request.From
		if from == 0 {
			last, err := op.Releases.Last(request.Name)
			if err != nil {
				return nil, err
			}
			from = last.Version
		}
		rendered, err := op.prepare(ctx, request, nextRevision(request, from), cmp.Or(request.CRDs, helmv1alpha1.CRDsSkip))
		if err != nil {
			return nil, err
		}
		if request.Rendered != nil {
			request.Rendered(rendered.manifest)
		}
		upgrade := action.NewUpgrade(op.Configuration)
		upgrade.Namespace = request.Namespace
		upgrade.Labels = request.Labels
		upgrade.MaxHistory = request.maxHistory()
		// The values of the item are all there is: without this, empty values would mean those of the last revision.
		upgrade.ResetValues = true
		upgrade.Atomic, upgrade.Wait, upgrade.Force = request.Atomic, request.Wait, request.Force
		upgrade.TakeOwnership = request.TakeOwnership
		upgrade.Timeout = request.budget(ctx)
		upgrade.DisableOpenAPIValidation = !request.checksFields()
		upgrade.DisableHooks, upgrade.WaitForJobs, upgrade.CleanupOnFail = request.DisableHooks, request.WaitForJobs, request.CleanupOnFail
		upgrade.PostRenderer = rendered
		op.passUnserved(true)
		op.kube.wanted = rendered.manifest
		made, err := upgrade.RunWithContext(context.WithoutCancel(ctx), request.Name, rendered.stub(), map[string]any{})
		return made, op.explainUnserved(err, rendered.manifest, request.Name, from)
	})
}

// Rollback makes the next revision of a release from an earlier one, and returns it. It gets the labels of the earlier one and those of the
// request. When ctx ends first, the release stays pending and nothing goes on in the background.
func (e *Engine) Rollback(ctx context.Context, request Request, revision int) (*Release, error) {
	return e.run(ctx, request, "rollback", func(op *operation) (*release.Release, error) {
		op.records.labels = request.Labels
		rollback := action.NewRollback(op.Configuration)
		rollback.Version, rollback.MaxHistory = revision, request.maxHistory()
		rollback.Wait, rollback.WaitForJobs, rollback.DisableHooks = request.Wait, request.WaitForJobs, request.DisableHooks
		rollback.Force, rollback.Recreate, rollback.CleanupOnFail = request.Force, request.Recreate, request.CleanupOnFail
		rollback.Timeout = request.budget(ctx)
		op.passUnserved(true)
		failure := rollback.Run(request.Name)
		made, err := op.Releases.Last(request.Name)
		if failure == nil || err != nil {
			return made, cmp.Or(failure, err)
		}
		if made.Info.Status == release.StatusPendingRollback { // Helm leaves it so when a hook fails
			made.SetStatus(release.StatusFailed, fmt.Sprintf("Rollback %q failed: %s", request.Name, failure))
			_ = op.Releases.Update(made) // it stays pending, which the next job ends
		}
		return nil, failure
	})
}

// Uninstall removes the objects of a release and, unless flags say otherwise, its history. A release that does not exist any more is no error.
// Of flags, Wait, UntilGone, Timeout, DisableHooks, KeepHistory and DeletionPropagation count. With UntilGone it returns the release as long as that is
// leaving; once its objects are gone another call ends the uninstall, with the hooks that follow it.
func (e *Engine) Uninstall(ctx context.Context, cluster *target.Cluster, namespace, name string, flags Flags) (*Release, error) {
	request := Request{Cluster: cluster, Namespace: namespace, Name: name, Flags: flags}
	return e.run(ctx, request, "uninstall", func(op *operation) (*release.Release, error) {
		if flags.KeepHistory {
			if isDone, err := op.isUninstalled(name, flags); isDone || err != nil {
				return nil, err
			}
		}
		op.passUnserved(false)
		uninstall := action.NewUninstall(op.Configuration) // IgnoreNotFound would take every failure to read the release for its absence
		uninstall.Wait, uninstall.DisableHooks, uninstall.KeepHistory = flags.Wait, flags.DisableHooks || flags.OnlyMarked, flags.KeepHistory
		uninstall.DeletionPropagation = cmp.Or(flags.DeletionPropagation, "background")
		uninstall.Timeout = flags.budget(ctx)
		op.pause(uninstall, flags.UntilGone)
		done, err := uninstall.Run(name)
		if errors.Is(err, driver.ErrReleaseNotFound) {
			if isDone, unread := op.isUninstalled(name, flags); isDone || unread != nil {
				return nil, unread
			}
		}
		if err != nil || !isLeaving(done.Release) {
			return nil, err
		}
		return done.Release, nil
	})
}

// leaving is how the description of a release begins whose objects are deleted and not gone.
const leaving = "Deletion waits for the objects to go"

func isLeaving(rel *release.Release) bool {
	return rel.Info != nil && rel.Info.Status == release.StatusUninstalled && rel.Info.Description == leaving
}

// pause makes an uninstall end before the hooks that follow it, where objects are still there, and go on there where an earlier one has ended so. Helm
// itself would hold a worker as long as it waits, ask every two seconds, and not say for what.
func (o *operation) pause(uninstall *action.Uninstall, untilGone bool) {
	withoutHooks := uninstall.DisableHooks
	if untilGone {
		o.kube.leaves = func() { uninstall.DisableHooks, uninstall.KeepHistory, uninstall.Description = true, true, leaving }
	}
	o.records.resume = func() {
		uninstall.DisableHooks = true // those that go before it have run
		o.kube.left = func() { uninstall.DisableHooks = withoutHooks }
	}
}

// isUninstalled reports whether there is no release, or it is as an uninstall that keeps the history leaves it; for Helm, a second one is an error.
func (o *operation) isUninstalled(name string, flags Flags) (bool, error) {
	last, err := o.Releases.Last(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return true, nil
	}
	return flags.KeepHistory && err == nil && last.Info.Status == release.StatusUninstalled && !isLeaving(last), err
}

const verbTest = "test"

// TestRun is a test of a chart, with the result of its last run.
type TestRun struct {
	// Name of the object that the test is.
	Name string
	// Phase of the last run, such as TestSucceeded; empty when there was none.
	Phase string
	// Started and Completed say when that was.
	Started, Completed time.Time
}

// Phases of tests that have a meaning beyond what they say.
const (
	// TestSucceeded is the end of a good run.
	TestSucceeded = string(release.HookPhaseSucceeded)
	// TestFailed is the end of a bad one.
	TestFailed = string(release.HookPhaseFailed)
)

// Selected returns the tests that filters leave.
func Selected(tests []TestRun, filters []helmv1alpha1.TestFilter) []TestRun {
	only, without := names(filters)
	return slices.DeleteFunc(slices.Clone(tests), func(test TestRun) bool {
		return slices.Contains(without, test.Name) || len(only) > 0 && !slices.Contains(only, test.Name)
	})
}

func names(filters []helmv1alpha1.TestFilter) (only, without []string) {
	for _, filter := range filters {
		if filter.Exclude {
			without = append(without, filter.Name)
		} else {
			only = append(only, filter.Name)
		}
	}
	return only, without
}

// Test runs the tests of the last revision of a release that filters leave, and returns it with their results, which Helm records. Of request,
// Timeout limits each of them. An error is an *Error whose Pods are what the test that failed wrote last. When ctx ends first, the test that runs
// is left alone.
func (e *Engine) Test(ctx context.Context, request Request, filters []helmv1alpha1.TestFilter) (*Release, error) {
	return e.run(ctx, request, verbTest, func(op *operation) (*release.Release, error) {
		test := action.NewReleaseTesting(op.Configuration)
		test.Timeout = request.budget(ctx)
		test.Filters[action.IncludeNameFilter], test.Filters[action.ExcludeNameFilter] = names(filters)
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
			Name: hook.Name, Phase: string(hook.LastRun.Phase), Started: hook.LastRun.StartedAt.Time, Completed: hook.LastRun.CompletedAt.Time,
		})
	}
	return tests
}
