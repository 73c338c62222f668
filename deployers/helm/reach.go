// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/neighbours"
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
func (j *job) reach(ctx context.Context, labels map[string]string) (*engine.Release, error) {
	for range maxActions {
		history, err := j.engine.History(ctx, j.item.Target, j.config.Namespace, j.config.Name)
		if err != nil {
			return nil, err
		}
		j.noteAttempts(history)
		isRemedied, err := j.remedy(ctx, history, labels)
		if err != nil {
			return nil, err
		}
		if isRemedied {
			continue
		}
		release, err := j.next(ctx, history, labels)
		if err != nil {
			return nil, j.afterFailure(ctx, labels, err)
		}
		if release != nil {
			return release, nil
		}
	}
	return nil, kit.Again("DeployRelease", "ReleaseBusy", "helm release %s/%s changes all the time; somebody else works on it",
		j.config.Namespace, j.config.Name)
}

// afterFailure remembers the revision that has just failed, so that the status of the item says what it may have left, and remedies it. It returns
// the error to end the call with.
func (j *job) afterFailure(ctx context.Context, labels map[string]string, cause error) error {
	history, err := j.engine.History(ctx, j.item.Target, j.config.Namespace, j.config.Name)
	if err != nil {
		return cause
	}
	j.noteAttempts(history)
	if ctx.Err() != nil || kit.IsTransient(cause) || errors.Is(cause, engine.ErrNotRun) {
		return cause
	}
	isRemedied, err := j.remedy(ctx, history, labels)
	switch {
	case err != nil:
		return err
	case isRemedied:
		return kit.Again("DeployRelease", "Remediated", "%w; it was undone, another attempt follows", cause)
	}
	return cause
}

// next takes one action. It returns the release when it is as wanted.
func (j *job) next(ctx context.Context, history []*engine.Release, labels map[string]string) (*engine.Release, error) {
	var last *engine.Release
	if len(history) > 0 {
		last = history[len(history)-1]
	}
	settings, err := j.settings(upgradeSettings)
	if err != nil {
		return nil, err
	}
	orphaned, unknown := j.isOrphaned(ctx, last, labels)
	wanted := wish{labels: labels, takeOwnership: settings.TakeOwnership || orphaned, renew: len(j.known.Recorded) > 0}
	chosen := decide(last, wanted, time.Now())
	if chosen == actionKeep && j.hasFailedTests(last) || chosen == actionNone && j.failedAttempt(last, labels) != nil {
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
		failed := max(j.attempt.failures, failures(history, labels))
		if err := j.mayTryAgain(failed, settings, upgradeRetries); err != nil {
			return nil, err
		}
	}
	return j.act(ctx, chosen, last, labels)
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

// isRecorded reports whether the status of the item has all objects of a revision.
func (j *job) isRecorded(revision *engine.Release) bool {
	objects, err := objectsOf(revision)
	return err == nil && len(resources.Orphans(objects, resources.Union(j.known.Recorded, j.known.Attempted))) == 0
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
	cause := j.attempt.failure
	if cause == nil {
		cause = errFailedBefore
	}
	return kit.Stall("DeployRelease", "RetriesExhausted", "helm release %s/%s: given up after %d failed attempts; correct chart or values, or allow more "+
		"retries in helmDeploymentConfig: %w", j.config.Namespace, j.config.Name, failures, cause)
}

// act takes one action. It returns the release when that makes it.
func (j *job) act(ctx context.Context, chosen action, last *engine.Release, labels map[string]string) (*engine.Release, error) {
	switch chosen {
	case actionForget:
		return nil, j.engine.Forget(ctx, j.item.Target, last)
	case actionGiveUp:
		return nil, j.engine.GiveUp(ctx, j.item.Target, last, "the deployer was stopped in the middle of the operation")
	case actionFinishUninstall:
		return nil, j.finishUninstall(ctx)
	case actionStandBack:
		return nil, busy(last)
	case actionUpgrade:
		return j.upgrade(ctx, last, labels)
	default:
		return j.install(ctx, chosen == actionReplace, labels)
	}
}

// busy is the error about a release that somebody else works on. It passes.
func busy(last *engine.Release) error {
	return kit.Again("DeployRelease", "ReleaseBusy", "revision %d of helm release %s/%s is %s since %s, and this DeployItem did not make it; "+
		"let whoever works on it finish, or wait: %s after its begin it is taken over", last.Revision, last.Namespace, last.Name, last.Status,
		last.Began.UTC().Format(time.RFC3339), foreignPending)
}

// isOrphaned reports whether a release belongs to another DeployItem of the namespace that does not exist any more. One that cannot be read may
// exist, and those of other namespaces are not asked for: whoever can write records of releases could find out what other tenants have.
func (j *job) isOrphaned(ctx context.Context, last *engine.Release, labels map[string]string) (bool, error) {
	if last == nil || !isOthers(last, labels) || j.item.DeployItems == nil {
		return false, nil
	}
	name, namespace := last.Labels[itemLabel], last.Labels[namespaceLabel]
	if name == "" || namespace != j.item.DeployItem.Namespace {
		return false, nil
	}
	owner, err := neighbours.FindDeployItem(ctx, j.item.DeployItems, namespace, name)
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
	return kit.Again("DeployRelease", "ReleaseOfAnother", "helm release %s/%s belongs to the DeployItem %s; give the release another name, delete that "+
		"DeployItem, or set helmDeploymentConfig.upgrade.takeOwnership to true to take the release over%s", last.Namespace, last.Name, owner, why)
}

func (j *job) install(ctx context.Context, replace bool, labels map[string]string) (*engine.Release, error) {
	if err := j.item.Checkpoint("helm deployer: before installing release"); err != nil {
		return nil, err
	}
	labels, err := j.begun(helmv1alpha1.ActionInstall, labels)
	if err != nil {
		return nil, err
	}
	request, settings, err := j.request(installSettings, labels)
	if err != nil {
		return nil, err
	}
	request.CreateNamespace, request.Replace = j.config.CreateNamespace, replace
	release, err := j.engine.Install(ctx, request)
	return release, j.judge(ctx, err, settings, installRetries)
}

func (j *job) upgrade(ctx context.Context, last *engine.Release, labels map[string]string) (*engine.Release, error) {
	if err := j.item.Checkpoint("helm deployer: before upgrading release"); err != nil {
		return nil, err
	}
	labels, err := j.begun(helmv1alpha1.ActionUpgrade, labels)
	if err != nil {
		return nil, err
	}
	request, settings, err := j.request(upgradeSettings, labels)
	if err != nil {
		return nil, err
	}
	request.From = last.Revision
	release, err := j.engine.Upgrade(ctx, request)
	return release, j.judge(ctx, err, settings, upgradeRetries)
}

// judge counts the failure of an operation, and makes the last one that is allowed the end of the job.
func (j *job) judge(ctx context.Context, err error, settings helmv1alpha1.ReleaseSettings, atomicRetries int) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, engine.ErrNotRun) {
		return err
	}
	j.attempt.failure = err
	if kit.IsTransient(err) {
		return err // it may not even have begun; what it left in the history counts all the same
	}
	j.attempt.failures++
	if end := j.mayTryAgain(j.attempt.failures, settings, atomicRetries); end != nil {
		return end
	}
	return err
}

// settingsOf picks one of the maps of HelmDeploymentConfiguration.
type settingsOf func(*helmv1alpha1.HelmDeploymentConfiguration) (field string, values map[string]v1alpha1.AnyJSON)

func installSettings(c *helmv1alpha1.HelmDeploymentConfiguration) (string, map[string]v1alpha1.AnyJSON) {
	return "helmDeploymentConfig.install", c.Install
}

func upgradeSettings(c *helmv1alpha1.HelmDeploymentConfiguration) (string, map[string]v1alpha1.AnyJSON) {
	return "helmDeploymentConfig.upgrade", c.Upgrade
}

func uninstallSettings(c *helmv1alpha1.HelmDeploymentConfiguration) (string, map[string]v1alpha1.AnyJSON) {
	return "helmDeploymentConfig.uninstall", c.Uninstall
}

func rollbackSettings(c *helmv1alpha1.HelmDeploymentConfiguration) (string, map[string]v1alpha1.AnyJSON) {
	return "helmDeploymentConfig.rollback", c.Rollback
}

// settings decodes the settings of an operation.
func (j *job) settings(of settingsOf) (helmv1alpha1.ReleaseSettings, error) {
	if j.config.HelmDeploymentConfig == nil {
		return helmv1alpha1.ReleaseSettings{}, nil
	}
	field, values := of(j.config.HelmDeploymentConfig)
	settings, err := config.DecodeSettings(field, values)
	if err != nil {
		return settings, misconfigured(j.item, err)
	}
	if _, isSet := values["wait"]; settings.Remediation != nil && !isSet {
		settings.Wait = true // else it would not notice what fails
	}
	return settings, nil
}

func flagsOf(settings helmv1alpha1.ReleaseSettings) engine.Flags {
	flags := engine.Flags{
		Atomic: settings.Atomic, Force: settings.Force, SkipSchemaValidation: settings.SkipSchemaValidation,
		TakeOwnership: settings.TakeOwnership, Wait: settings.Wait, WaitForJobs: settings.WaitForJobs,
		DisableHooks: settings.DisableHooks, CleanupOnFail: settings.CleanupOnFail, KeepHistory: settings.KeepHistory,
		DeletionPropagation: settings.DeletionPropagation, CRDs: engine.CRDPolicy(settings.CRDs),
		CheckFields: settings.DisableOpenAPIValidation != nil && !*settings.DisableOpenAPIValidation,
		Recreate:    settings.Recreate, Reserve: settings.Remediation != nil,
	}
	if settings.Timeout != nil {
		flags.Timeout = settings.Timeout.Duration
	}
	return flags
}

func (j *job) request(of settingsOf, labels map[string]string) (engine.Request, helmv1alpha1.ReleaseSettings, error) {
	settings, err := j.settings(of)
	return engine.Request{
		Owner:   j.item.DeployItem.Namespace,
		Cluster: j.item.Target, Namespace: j.config.Namespace, Name: j.config.Name,
		Chart: j.chart, Values: j.values, Secrets: j.secrets, Labels: labels, Flags: flagsOf(settings),
		MaxHistory: j.config.MaxHistory, Metadata: j.commonMetadata(), Kustomizations: j.kustomizations(),
	}, settings, err
}

func (j *job) commonMetadata() engine.Metadata {
	if j.config.CommonMetadata == nil {
		return engine.Metadata{}
	}
	return engine.Metadata{Labels: j.config.CommonMetadata.Labels, Annotations: j.config.CommonMetadata.Annotations}
}
