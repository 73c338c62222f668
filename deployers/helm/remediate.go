// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// maxFailure is how much of the message of a failure the status keeps, in bytes.
const maxFailure = 1 << 10

// failedAttempt is a revision that a job made and that did not end well.
type failedAttempt struct {
	revision *engine.Release
	// action made it, and number is how often the job had tried that with it.
	action string
	number int
	// remediation is what the settings of the action say.
	remediation *helmv1alpha1.Remediation
}

// failedAttempt returns the newest revision of a release if it is one of the job that is to be remedied, else nil.
func (j *job) failedAttempt(last *engine.Release) *failedAttempt {
	if last == nil || !sameJob(last, j.labels) || last.RolledBack {
		return nil
	}
	failed := &failedAttempt{revision: last}
	failed.action, failed.number = attemptIn(last)
	failed.remediation = j.remediationOf(failed.action)
	switch {
	case failed.remediation == nil:
		return nil
	case last.Status == engine.StatusFailed, last.Status == engine.StatusDeployed && hasFailedTests(j.config, last) && !ignoresTests(j.config, failed.remediation):
		return failed
	}
	return nil
}

// attemptIn returns what made a revision, and how often its job had tried that.
func attemptIn(revision *engine.Release) (action string, number int) {
	action, count, _ := strings.Cut(revision.Labels[attemptLabel], "-")
	number, err := strconv.Atoi(count)
	if err == nil {
		return action, number
	}
	if revision.Revision == 1 {
		return helmv1alpha1.ActionInstall, 1
	}
	return helmv1alpha1.ActionUpgrade, 1
}

// remedyOf is the job label of the revision that undoes a failure of the job with these labels.
func remedyOf(labels map[string]string) string { return labelHash("remedy of " + labels[jobLabel]) }

// isRemedy reports whether a revision undoes a failure of the job with these labels.
func isRemedy(revision *engine.Release, labels map[string]string) bool {
	return !revision.Inherited && revision.Labels[jobLabel] == remedyOf(labels)
}

// remedy undoes the newest revision if the job failed with it, as the settings say, and reports whether it has changed the release. What it
// finds there and in the status tells it what an earlier process did not finish. The failure is counted before anything is undone. The error says
// that the job is at its end, or that the remedy is to be tried again.
func (j *job) remedy(ctx context.Context, history []*engine.Release) (bool, error) {
	last := lastOf(history)
	switch {
	case last == nil && j.attempts().LastAttemptedReleaseAction != "":
		j.noteUninstalled()
		return false, nil
	case last != nil && isRemedy(last, j.labels):
		return false, j.noteRemedy(last)
	}
	failed := j.failedAttempt(last)
	if failed == nil {
		return false, nil
	}
	if err := j.count(ctx, failed); err != nil {
		return false, err
	}
	isLast := failed.remediation.IsExhausted(failed.number)
	isForLast := failed.action == helmv1alpha1.ActionUpgrade && failed.remediation.Retries != 0 // whether it is to be undone after which the job gives up
	if asked := failed.remediation.RemediateLastFailure; asked != nil {
		isForLast = *asked
	}
	if isLast && !isForLast {
		return false, j.exhausted("")
	}
	done, err := j.undo(ctx, history, failed)
	if err != nil {
		return true, err
	}
	if isLast {
		return true, j.exhausted(done)
	}
	return done != "", nil
}

// count puts a failure on record, once.
func (j *job) count(ctx context.Context, failed *failedAttempt) error {
	counters := j.attempts()
	if counters.Failures(failed.action) >= failed.number {
		return nil
	}
	if failed.action == helmv1alpha1.ActionInstall {
		counters.InstallFailures = failed.number
	} else {
		counters.UpgradeFailures = failed.number
	}
	counters.LastAttemptedReleaseAction, counters.LastAttemptedRevision = failed.action, failed.revision.ChartVersion
	counters.LastFailure = ""
	if j.attempt.failure != nil {
		counters.LastFailure = foreign.Beginning(j.attempt.failure.Error(), maxFailure)
	}
	return j.recordAhead(ctx)
}

// forgive takes the failures off the record when the job has reached what it wants.
func forgive(status *helmv1alpha1.ProviderStatus) {
	status.InstallFailures, status.UpgradeFailures, status.LastFailure = 0, 0, ""
}

// cause is the last failure of the job.
func (j *job) cause() error {
	switch {
	case j.attempt.failure != nil:
		return j.attempt.failure
	case j.attempts().LastFailure != "":
		return errors.New(j.attempts().LastFailure)
	}
	return errFailedBefore
}

// exhausted is the error that ends a job with its last failure; done is how that was undone, empty when it was not.
func (j *job) exhausted(done string) error {
	counters := j.attempts()
	action := counters.LastAttemptedReleaseAction
	if done != "" {
		done = ", " + done
	}
	return protocol.Stall("DeployRelease", "RetriesExhausted", "helm release %s/%s: given up after %d failed attempts to %s%s; correct chart or values, or "+
		"allow more retries in helmDeploymentConfig.%s.remediation: %w", j.config.Namespace, j.config.Name, counters.Failures(action), action, done,
		action, j.cause())
}

// undoFailed is the error that ends a job whose failure could not be undone.
func (j *job) undoFailed(err error) error {
	return protocol.Stall("DeployRelease", "RemediationFailed", "helm release %s/%s: the last failure cannot be undone: %w; what had failed: %w",
		j.config.Namespace, j.config.Name, err, j.cause())
}

// begun returns the labels of the revision that an action is to make; the error says that the job may not try again.
func (j *job) begun(action string) (map[string]string, error) {
	counters := j.attempts()
	if last := counters.LastAttemptedReleaseAction; last != "" {
		if remediation := j.remediationOf(last); remediation != nil && remediation.IsExhausted(counters.Failures(last)) {
			return nil, j.exhausted(j.undone)
		}
	}
	labels := maps.Clone(j.labels)
	labels[attemptLabel] = fmt.Sprintf("%s-%d", action, counters.Failures(action)+1)
	return labels, nil
}

// undo goes back to the last good revision, or uninstalls the release. It returns what it has done, empty when there is nothing to go back to.
func (j *job) undo(ctx context.Context, history []*engine.Release, failed *failedAttempt) (string, error) {
	var done string
	var err error
	if failed.action == helmv1alpha1.ActionInstall || failed.remediation.Strategy == helmv1alpha1.RemediationUninstall {
		done, err = j.uninstallFailed(ctx)
	} else {
		done, err = j.rollBack(ctx, j.lastGood(history, failed))
	}
	if err == nil || ctx.Err() != nil || protocol.IsTransient(err) {
		return done, err
	}
	return done, j.undoFailed(err)
}

// lastGood returns the newest revision before a failure that ended well, nil when there is none. It is no matter who made it.
func (j *job) lastGood(history []*engine.Release, failed *failedAttempt) *engine.Release {
	for _, revision := range slices.Backward(history) {
		isOver := revision.Status == engine.StatusDeployed || revision.Status == engine.StatusSuperseded
		isTested := !hasFailedTests(j.config, revision) || ignoresTests(j.config, failed.remediation)
		if revision.Revision < failed.revision.Revision && isOver && isTested && !revision.Faulty {
			return revision
		}
	}
	return nil
}

func (j *job) rollBack(ctx context.Context, good *engine.Release) (string, error) {
	if good == nil {
		return "", nil
	}
	own := itemLabels(j.item.DeployItem)
	own[jobLabel] = remedyOf(j.labels)
	request, _, err := j.request("rollback", own)
	if err != nil {
		return "", err
	}
	made, err := j.engine.Rollback(ctx, request, good.Revision)
	if err != nil {
		return "", err
	}
	if err := j.noteRemedy(made); err != nil {
		return "", err
	}
	return j.undone, nil
}

// noteRemedy makes the status say what is deployed after a rollback. The error ends the job: the rollback failed.
func (j *job) noteRemedy(made *engine.Release) error {
	switch {
	case made.Status == engine.StatusFailed:
		return j.undoFailed(errFailedBefore)
	case made.Status != engine.StatusDeployed:
		return nil
	}
	before := j.status.Release
	j.status.Release = &helmv1alpha1.ReleaseStatus{
		Name: made.Name, Namespace: made.Namespace, Revision: made.Revision, ChartName: made.ChartName, ChartVersion: made.ChartVersion,
	}
	if before != nil && before.ChartName == made.ChartName && before.ChartVersion == made.ChartVersion {
		j.status.Release.ChartDigest, j.status.Release.Source = before.ChartDigest, before.Source
	}
	j.undone = fmt.Sprintf("rolled back as revision %d", made.Revision)
	var err error
	j.workloads, err = workloadsOf(made)
	return err
}

// noteUninstalled makes the status say that nothing is deployed after an uninstall.
func (j *job) noteUninstalled() {
	j.status.Release, j.workloads, j.revisions = nil, nil, nil
	j.undone = "uninstalled"
}

// uninstallFailed uninstalls the release and waits until its objects are gone, because the next attempt makes them anew.
func (j *job) uninstallFailed(ctx context.Context) (string, error) {
	flags := j.flags()
	flags.Wait, flags.UntilGone = true, false
	progress, err := j.uninstall(ctx, j.item.Target, releaseOf(j.config), flags)
	if err := leavingProblem(releaseOf(j.config), progress, err); err != nil {
		return "", err
	}
	j.noteUninstalled()
	return j.undone, nil
}

// finishUninstall ends an uninstall that was interrupted. One that undid a failure is not tried again and again.
func (j *job) finishUninstall(ctx context.Context, last *engine.Release) error {
	flags := j.flags()
	if last.Leaving {
		progress, err := j.uninstall(ctx, j.item.Target, releaseOf(j.config), flags)
		return leavingProblem(releaseOf(j.config), progress, err)
	}
	isRemedy := j.attempts().LastAttemptedReleaseAction != ""
	flags.Wait, flags.UntilGone = flags.UntilGone || isRemedy, false
	_, err := j.engine.Uninstall(ctx, j.item.Target, j.config.Namespace, j.config.Name, flags)
	if err == nil || !isRemedy || ctx.Err() != nil || protocol.IsTransient(err) {
		return err
	}
	return j.undoFailed(err)
}

// leavingProblem is the error for a call that cannot go on before the objects of an uninstalled release are gone.
func leavingProblem(release managedresource.ReleaseReference, progress resources.Progress, err error) error {
	if err != nil || progress.Done() {
		return err
	}
	return protocol.Again("DeployRelease", "ReleaseBusy", "helm release %s/%s is being uninstalled: %s", release.Namespace, release.Name, progress.Waiting())
}
