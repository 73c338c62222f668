// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// maxActions bounds the way to a release: give up or forget, finish an uninstall, install or upgrade, and one surprise.
const maxActions = 5

// How often a job tries an atomic operation again that failed and was undone, unless the settings say it. Each try of an upgrade disturbs
// what runs twice.
const (
	upgradeRetries = 2
	installRetries = 10
)

// errFailedBefore stands for the cause of failures that an earlier process saw.
var errFailedBefore = errors.New("the history of the release on the target says why")

// reach takes actions until the newest revision is the one of this job.
func (j *job) reach(ctx context.Context) (*engine.Release, error) {
	for range maxActions {
		history, err := j.engine.History(ctx, j.item.Target, j.config.Namespace, j.config.Name)
		switch {
		case errors.Is(err, engine.ErrRecordUnreadable):
			return nil, protocol.Stall("DeployRelease", "RecordUnreadable", "helm release %s/%s: %w", j.config.Namespace, j.config.Name, err)
		case err != nil:
			return nil, err
		}
		// What the target has lost of the release counts as objects that an earlier attempt may have left.
		if lost := j.lost(releaseOf(j.config), history); len(lost) > 0 {
			j.known.Attempted, j.status.Release, j.workloads = resources.Union(j.known.Attempted, lost), nil, nil
			if err := j.recordAhead(ctx); err != nil {
				return nil, err
			}
		}
		j.noteAttempts(history)
		isRemedied, err := j.remedy(ctx, history)
		if err != nil {
			return nil, err
		}
		if isRemedied {
			continue
		}
		release, err := j.next(ctx, history)
		if err != nil {
			return nil, j.afterFailure(ctx, err)
		}
		if release != nil {
			return release, nil
		}
	}
	return nil, protocol.Again("DeployRelease", "ReleaseBusy", "helm release %s/%s changes all the time; somebody else works on it",
		j.config.Namespace, j.config.Name)
}

// afterFailure remembers the revision that has just failed, so that the status of the item says what it may have left, and remedies it. It returns
// the error to end the call with.
func (j *job) afterFailure(ctx context.Context, cause error) error {
	history, err := j.engine.History(ctx, j.item.Target, j.config.Namespace, j.config.Name)
	if err != nil {
		return cause
	}
	j.noteAttempts(history)
	if ctx.Err() != nil || protocol.IsTransient(cause) || errors.Is(cause, engine.ErrNotRun) {
		return cause
	}
	isRemedied, err := j.remedy(ctx, history)
	switch {
	case err != nil:
		return err
	case isRemedied:
		return protocol.Again("DeployRelease", "Remediated", "%w; it was undone, another attempt follows", cause)
	}
	return cause
}

// next takes one action. It returns the release when it is as wanted.
func (j *job) next(ctx context.Context, history []*engine.Release) (*engine.Release, error) {
	last := lastOf(history)
	settings, err := j.settings(helmv1alpha1.ActionUpgrade)
	if err != nil {
		return nil, err
	}
	orphaned, unknown := j.isOrphaned(ctx, last)
	wanted := wish{labels: j.labels, takeOwnership: settings.TakeOwnership || orphaned, renew: len(j.known.Recorded) > 0}
	chosen := decide(last, wanted, time.Now())
	if chosen == actionKeep && hasFailedTests(j.config, last) || chosen == actionNone && j.failedAttempt(last) != nil {
		chosen = actionUpgrade // to test it again, where there was nothing to go back to
	}
	if chosen == actionKeep {
		if chosen, err = j.keepIfWhole(ctx, last); err != nil {
			return nil, err
		}
	}
	switch {
	case chosen == actionNone, chosen == actionKeep:
		return last, nil
	case chosen == actionRefuse:
		return nil, belongsToAnother(last, unknown)
	case chosen == actionForget && last.Status == engine.StatusFailed && !j.isRecorded(last):
		chosen = actionUpgrade // only the revision says what it may have left
	}
	if chosen == actionUpgrade {
		failed := max(j.attempt.failures, failures(history, j.labels))
		if err := j.mayTryAgain(failed, settings, upgradeRetries); err != nil {
			return nil, err
		}
	}
	return j.act(ctx, chosen, last)
}

// keepIfWhole chooses actionKeep where the target has all workloads of a revision, else actionUpgrade: the job would wait for the others until
// its time is up.
func (j *job) keepIfWhole(ctx context.Context, revision *engine.Release) (action, error) {
	workloads, err := workloadsOf(revision)
	if err != nil {
		return "", err
	}
	for _, workload := range workloads {
		object := metadataOf(workload.Resource)
		err := j.item.Target.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
		switch {
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			return actionUpgrade, nil
		case err != nil:
			return "", fmt.Errorf("%s cannot be read: %w", workload.Resource, err)
		}
	}
	return actionKeep, nil
}

// mayTryAgain returns an error that ends the job when an operation has failed once more often than it is to be tried again. What is not
// undone when it fails is tried again until the time is up, unless the settings say how often.
func (j *job) mayTryAgain(failures int, settings helmv1alpha1.ReleaseSettings, atomicRetries int) error {
	retries := settings.Retries
	if retries == nil && settings.Atomic {
		retries = &atomicRetries
	}
	if retries == nil || failures <= *retries {
		return nil
	}
	cause := cmp.Or(j.attempt.failure, errFailedBefore)
	return protocol.Stall("DeployRelease", "RetriesExhausted", "helm release %s/%s: given up after %d failed attempts; correct chart or values, or allow more "+
		"retries in helmDeploymentConfig: %w", j.config.Namespace, j.config.Name, failures, cause)
}

// act takes one action. It returns the release when that makes it.
func (j *job) act(ctx context.Context, chosen action, last *engine.Release) (*engine.Release, error) {
	switch chosen {
	case actionForget:
		return nil, j.engine.Forget(ctx, j.item.Target, last)
	case actionGiveUp:
		return nil, j.engine.GiveUp(ctx, j.item.Target, last, "the deployer was stopped in the middle of the operation")
	case actionFinishUninstall:
		return nil, j.finishUninstall(ctx, last)
	case actionStandBack:
		return nil, busy(last)
	case actionUpgrade:
		return j.upgrade(ctx, last)
	default:
		return j.install(ctx, chosen == actionReplace)
	}
}

// busy is the error about a release that somebody else works on. It passes.
func busy(last *engine.Release) error {
	return protocol.Again("DeployRelease", "ReleaseBusy", "revision %d of helm release %s/%s is %s since %s, and this DeployItem did not make it; "+
		"let whoever works on it finish, or wait: %s after its begin it is taken over", last.Revision, last.Namespace, last.Name, last.Status,
		last.Began.UTC().Format(time.RFC3339), foreignPending)
}

// isOrphaned reports whether a release belongs to another DeployItem of the namespace that does not exist any more. One that cannot be read may
// exist, and those of other namespaces are not asked for: whoever can write records of releases could find out what other tenants have.
func (j *job) isOrphaned(ctx context.Context, last *engine.Release) (bool, error) {
	if last == nil || !isOthers(last, j.labels) || j.item.DeployItems == nil {
		return false, nil
	}
	name, namespace := last.Labels[itemLabel], last.Labels[namespaceLabel]
	if name == "" || namespace != j.item.DeployItem.Namespace {
		return false, nil
	}
	owner, err := resources.FindDeployItem(ctx, j.item.DeployItems, namespace, name)
	return err == nil && owner == nil, err
}

// belongsToAnother is the error about a release of another DeployItem. It passes when that one is deleted.
func belongsToAnother(last *engine.Release, unknown error) error {
	owner := last.Labels[itemLabel]
	if namespace := last.Labels[namespaceLabel]; namespace != "" {
		owner = namespace + "/" + owner
	}
	why := ""
	if unknown != nil {
		why = fmt.Sprintf(" (%s)", unknown)
	}
	return protocol.Again("DeployRelease", "ReleaseOfAnother", "helm release %s/%s belongs to the DeployItem %s; give the release another name, delete that "+
		"DeployItem, or set helmDeploymentConfig.upgrade.takeOwnership to true to take the release over%s", last.Namespace, last.Name, owner, why)
}

func (j *job) install(ctx context.Context, replace bool) (*engine.Release, error) {
	if err := j.item.Checkpoint("helm deployer: before installing release"); err != nil {
		return nil, err
	}
	labels, err := j.begun(helmv1alpha1.ActionInstall)
	if err != nil {
		return nil, err
	}
	request, settings, err := j.request(helmv1alpha1.ActionInstall, labels)
	if err != nil {
		return nil, err
	}
	request.CreateNamespace, request.Replace = j.config.CreateNamespace, replace
	release, err := j.engine.Install(ctx, request)
	return release, j.judge(ctx, err, settings, installRetries)
}

func (j *job) upgrade(ctx context.Context, last *engine.Release) (*engine.Release, error) {
	if err := j.item.Checkpoint("helm deployer: before upgrading release"); err != nil {
		return nil, err
	}
	labels, err := j.begun(helmv1alpha1.ActionUpgrade)
	if err != nil {
		return nil, err
	}
	request, settings, err := j.request(helmv1alpha1.ActionUpgrade, labels)
	if err != nil {
		return nil, err
	}
	request.From = last.Revision
	j.warnOfReset(last)
	request.Rendered = func(manifest string) { j.warnOfDeletion(last, manifest) }
	release, err := j.engine.Upgrade(ctx, request)
	return release, j.judge(ctx, err, settings, upgradeRetries)
}

// warnOfReset tells, before an upgrade, that it takes all values off the release: the key may be misspelt.
func (j *job) warnOfReset(last *engine.Release) {
	raw := j.config.Values.RawMessage
	isEmptied := len(raw) > 0 && string(raw) != "null" && len(j.config.ValuesFrom) == 0 // by hand
	if len(j.values) > 0 || isEmptied || !last.HasValues || j.item.Warn == nil {
		return
	}
	j.item.Warn(reasonValuesRemoved, fmt.Sprintf("helm release %s/%s had values until revision %d, and neither spec.config.values nor valuesFrom gives any now: the upgrade "+
		"resets it to the values of the chart; where that is a mistake, write them below spec.config.values", last.Namespace, last.Name, last.Revision))
}

// warnOfDeletion tells, before an upgrade, that it deletes all objects of the release.
func (j *job) warnOfDeletion(last *engine.Release, manifest string) {
	if objects, err := engine.ParseManifest(manifest); err != nil || len(objects) > 0 {
		return
	}
	if had, err := last.Objects(); err == nil {
		j.session().WarnOfDeletion(nil, had, "its chart renders none with these values")
	}
}

// judge counts the failure of an operation, and makes the last one that is allowed the end of the job.
func (j *job) judge(ctx context.Context, err error, settings helmv1alpha1.ReleaseSettings, atomicRetries int) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, engine.ErrNotRun) { // the last says nothing about the release
		return err
	}
	j.attempt.failure = err
	if protocol.IsTransient(err) {
		return err // it may not even have begun; what it left in the history counts all the same
	}
	j.attempt.failures++
	if end := j.mayTryAgain(j.attempt.failures, settings, atomicRetries); end != nil {
		return end
	}
	if settings.Retries == nil && !settings.Atomic && settings.Remediation == nil {
		return refusal(err) // else the settings say how often it is tried
	}
	return err
}

func (j *job) request(operation string, labels map[string]string) (engine.Request, helmv1alpha1.ReleaseSettings, error) {
	settings, err := j.settings(operation)
	request := j.rendering()
	request.Labels, request.MaxHistory, request.Flags = labels, j.config.MaxHistory, engine.Flags{ReleaseSettings: settings, Reserve: settings.Remediation != nil}
	return request, settings, err
}
