// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// maxActions bounds the way to a release: give up or forget, finish an uninstall, install or upgrade, and one surprise.
const maxActions = 5

// releaseSteps are the phases of a job that makes a Helm release.
var releaseSteps = []step{
	{"helm deployer: start reconcile", (*job).resolveChart},                     // chart.go     chart source        → chart
	{"helm deployer: start progressing", (*job).readValues},                     // release.go   values              → map
	{"", (*job).exportValues},                                                   // exports.go   values of the chart → exports
	{"helm deployer: start apply files", (*job).deployRelease},                  // release.go   chart + values      → release
	{"helm deployer: default readiness checks", (*job).checkDefaultReadiness},   // readiness.go workloads           → ready or waiting
	{"helm deployer: custom readiness checks", (*job).checkCustomReadiness},     // readiness.go objects             → ready or waiting
	{"helm deployer: before reading export values", (*job).exportFromResources}, // exports.go   objects             → exports
}

// resolveChart gets the chart, unless the job has deployed it already.
func (j *job) resolveChart(ctx context.Context) (resources.Progress, error) {
	if j.attempt.deployed {
		return resources.Progress{}, nil
	}
	var err error
	j.chart, j.source, err = j.chartOf(ctx, j.item, &j.config.Chart)
	return j.awaitSource(err)
}

func (j *job) readValues(context.Context) (resources.Progress, error) {
	values, err := config.DecodeValues(j.config.Values)
	if err != nil {
		return resources.Progress{}, misconfigured(j.item, fmt.Errorf("spec.config.%w", err))
	}
	j.values = values
	return resources.Progress{}, nil
}

// deployRelease makes the revision of this job, once, and records what it consists of.
func (j *job) deployRelease(ctx context.Context) (resources.Progress, error) {
	if j.attempt.deployed {
		j.restore()
		return resources.Progress{}, nil
	}
	labels, err := releaseLabels(j.item, j.chart, j.values)
	if err != nil {
		return resources.Progress{}, err
	}
	release, err := j.reach(ctx, labels)
	if err != nil {
		return resources.Progress{}, helmProblem(err)
	}
	workloads, err := workloadsOf(release)
	if err != nil {
		return resources.Progress{}, err
	}
	j.status.ManagedResources = workloads
	j.status.Release = &helmv1alpha1.ReleaseStatus{
		Name: release.Name, Namespace: release.Namespace, Revision: release.Revision,
		ChartName: j.chart.Name, ChartVersion: j.chart.Version, ChartDigest: j.chart.Digest, Source: j.source,
	}
	j.status.RecordedGeneration = j.item.DeployItem.Generation
	j.attempt.reached(j.status, subjectsOf(workloads))
	return resources.Progress{}, nil
}

// restore takes over what an earlier call of the job recorded.
func (j *job) restore() {
	j.status.ManagedResources, j.status.Release = j.attempt.managed, j.attempt.release
	j.status.RecordedGeneration = j.item.DeployItem.Generation
}

// reach takes actions until the newest revision is the one of this job.
func (j *job) reach(ctx context.Context, labels map[string]string) (*engine.Release, error) {
	for range maxActions {
		last, err := j.engine.Last(ctx, j.item.Target, j.config.Namespace, j.config.Name)
		if err != nil {
			return nil, err
		}
		chosen := decide(last, labels, time.Now())
		if chosen == actionNone {
			return last, nil
		}
		release, err := j.act(ctx, chosen, last, labels)
		if err != nil || release != nil {
			return release, err
		}
	}
	return nil, kit.Again("DeployRelease", "ReleaseBusy", "helm release %s/%s changes all the time; somebody else works on it",
		j.config.Namespace, j.config.Name)
}

// act takes one action. It returns the release when that makes it.
func (j *job) act(ctx context.Context, chosen action, last *engine.Release, labels map[string]string) (*engine.Release, error) {
	switch chosen {
	case actionForget:
		return nil, j.engine.Forget(ctx, j.item.Target, last)
	case actionGiveUp:
		return nil, j.engine.GiveUp(ctx, j.item.Target, last, "the deployer was stopped in the middle of the operation")
	case actionFinishUninstall:
		return nil, j.engine.Uninstall(ctx, j.item.Target, j.config.Namespace, j.config.Name, engine.Flags{})
	case actionStandBack:
		return nil, kit.Again("DeployRelease", "ReleaseBusy", "revision %d of helm release %s/%s is %s since %s, and no DeployItem made it; "+
			"let whoever works on it finish, or wait: %s after its begin it is taken over", last.Revision, last.Namespace, last.Name, last.Status,
			last.Began.UTC().Format(time.RFC3339), foreignPending)
	case actionUpgrade:
		return j.upgrade(ctx, labels)
	default:
		return j.install(ctx, chosen == actionReplace, labels)
	}
}

func (j *job) install(ctx context.Context, replace bool, labels map[string]string) (*engine.Release, error) {
	if err := j.item.Checkpoint("helm deployer: before installing release"); err != nil {
		return nil, err
	}
	request, err := j.request(installSettings, labels)
	if err != nil {
		return nil, err
	}
	request.CreateNamespace, request.Replace = j.config.CreateNamespace, replace
	return j.engine.Install(ctx, request)
}

func (j *job) upgrade(ctx context.Context, labels map[string]string) (*engine.Release, error) {
	if err := j.item.Checkpoint("helm deployer: before upgrading release"); err != nil {
		return nil, err
	}
	request, err := j.request(upgradeSettings, labels)
	if err != nil {
		return nil, err
	}
	return j.engine.Upgrade(ctx, request)
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

func (j *job) flags(of settingsOf) (engine.Flags, error) {
	if j.config.HelmDeploymentConfig == nil {
		return engine.Flags{}, nil
	}
	settings, err := config.DecodeSettings(of(j.config.HelmDeploymentConfig))
	if err != nil {
		return engine.Flags{}, misconfigured(j.item, err)
	}
	flags := engine.Flags{
		Atomic: settings.Atomic, Force: settings.Force, SkipSchemaValidation: settings.SkipSchemaValidation,
		TakeOwnership: settings.TakeOwnership, Wait: settings.Wait,
	}
	if settings.Timeout != nil {
		flags.Timeout = settings.Timeout.Duration
	}
	return flags, nil
}

func (j *job) request(of settingsOf, labels map[string]string) (engine.Request, error) {
	flags, err := j.flags(of)
	return engine.Request{
		Cluster: j.item.Target, Namespace: j.config.Namespace, Name: j.config.Name,
		Chart: j.chart, Values: j.values, Labels: labels, Flags: flags,
	}, err
}

// workloadsOf returns the objects of a release that have a readiness rule of their own.
func workloadsOf(release *engine.Release) ([]managedresource.ManagedResourceStatus, error) {
	objects, err := engine.ParseManifest(release.Manifest)
	if err != nil {
		return nil, err
	}
	var workloads []managedresource.ManagedResourceStatus
	for _, fields := range objects {
		object := unstructured.Unstructured{Object: fields}
		if !resources.HasReadinessRule(object.GetAPIVersion(), object.GetKind()) {
			continue
		}
		if object.GetNamespace() == "" {
			object.SetNamespace(release.Namespace)
		}
		workloads = append(workloads, managedresource.ManagedResourceStatus{
			Policy: managedresource.ManagePolicy,
			Resource: managedresource.ResourceReference{
				APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
			},
		})
	}
	return workloads, nil
}

// helmProblem adds the codes that end a job at once: nothing but a person helps against values that the chart refuses, or against
// credentials that the target refuses.
func helmProblem(err error) error {
	switch {
	case errors.Is(err, engine.ErrSchema), errors.Is(err, engine.ErrChart):
		return kit.Coded(err, v1alpha1.ErrorConfigurationProblem)
	case isDenied(err):
		return kit.Coded(err, v1alpha1.ErrorUnauthorized)
	}
	return err
}

// isDenied tells whether the credentials of the target are at fault. Admission answers "forbidden" too, for terminating namespaces and
// exhausted quotas; that passes.
func isDenied(err error) bool {
	if apierrors.IsUnauthorized(err) {
		return true
	}
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `User "`) && strings.Contains(err.Error(), `" cannot `)
}
