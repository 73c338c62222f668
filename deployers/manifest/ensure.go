// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"encoding/json"
	"fmt"

	api "github.com/flux-landscaper/flux-landscaper/api/deployers/manifest"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// run is one call of Ensure.
type run struct {
	item     *contract.Item
	session  *resources.Session
	config   *v1alpha2.ProviderConfiguration
	desired  []resources.Desired
	recorded *v1alpha2.ProviderStatus
}

// begin reads configuration and status. Its errors carry the code ERR_CONFIGURATION_PROBLEM.
func (d *Deployer) begin(item *contract.Item) (*run, error) {
	if err := item.Checkpoint("manifest deployer: start reconcile"); err != nil {
		return nil, err
	}
	if item.Target == nil {
		return nil, configurationProblem(errNoTarget)
	}
	config, err := configuration(item.DeployItem)
	if err != nil {
		return nil, configurationProblem(err)
	}
	desired, err := resources.Expand(config.Manifests)
	if err != nil {
		return nil, fmt.Errorf("spec.config: %w", err)
	}
	recorded, err := status(item.DeployItem)
	if err != nil {
		return nil, err
	}
	return &run{item: item, config: config, desired: desired, recorded: recorded,
		session: resources.NewSession(item, d.memory, nil)}, nil
}

// ensure is the path from manifests to a finished job.
func (r *run) ensure(ctx context.Context) (contract.Outcome, error) {
	reached := remembered(r.item)
	if reached == nil {
		var outcome contract.Outcome
		var err error
		if reached, outcome, err = r.deploy(ctx); reached == nil {
			return outcome, err
		}
	}
	outcome, err := r.complete(ctx, reached)
	return r.record(outcome, reached.managed, err)
}

// deploy applies the objects and removes the orphans. It returns no job while something is missing.
func (r *run) deploy(ctx context.Context) (*job, contract.Outcome, error) {
	known, err := r.known(ctx)
	if err != nil {
		return nil, contract.Outcome{}, err
	}
	if err := r.item.Checkpoint("manifest deployer: start apply manifests"); err != nil {
		return nil, contract.Outcome{}, err
	}
	applied, err := r.session.Apply(ctx, r.desired, resources.ApplyOptions{Strategy: r.config.UpdateStrategy, Known: known})
	all := resources.Union(applied.Managed, known)
	if err != nil || !applied.Progress.Done() {
		outcome, err := r.record(applied.Progress.Outcome(), all, err)
		return nil, outcome, err
	}
	orphans := resources.Orphans(known, applied.Managed)
	progress, err := r.session.Delete(ctx, orphans, r.config.DeletionGroupsDuringUpdate)
	if err != nil || !progress.Done() {
		outcome, err := r.record(progress.Outcome(), all, err)
		return nil, outcome, err
	}
	reached := &job{generation: r.item.DeployItem.Generation, managed: applied.Managed, unready: applied.Subjects}
	remember(r.item, reached)
	return reached, contract.Outcome{}, nil
}

// known returns the managed objects of earlier jobs: those recorded and, where a job may have died before it recorded anything,
// those found on the target.
func (r *run) known(ctx context.Context) ([]managedresource.ManagedResourceStatus, error) {
	if !mayHaveLeftovers(r.item.DeployItem, r.recorded, r.item.DeployItem.Generation-1) {
		return r.recorded.ManagedResources, nil
	}
	found, err := r.session.Sweep(ctx)
	if err != nil {
		return nil, fmt.Errorf("cannot look for objects of an earlier job: %w", err)
	}
	return resources.Union(r.recorded.ManagedResources, found), nil
}

// mayHaveLeftovers tells whether a job of a generation up to last may have deployed objects that the status does not record.
func mayHaveLeftovers(item *v1alpha1.DeployItem, recorded *v1alpha2.ProviderStatus, last int64) bool {
	if recorded.RecordedGeneration == 0 && item.Status.ProviderStatus != nil {
		// Written by an implementation that does not say up to where the record is complete.
		return false
	}
	return last > recorded.RecordedGeneration
}

// complete checks readiness, exports and patches.
func (r *run) complete(ctx context.Context, reached *job) (contract.Outcome, error) {
	progress, err := r.ready(ctx, reached)
	if err != nil || !progress.Done() {
		return progress.Outcome(), err
	}
	exports, progress, err := r.export(ctx)
	if err != nil || !progress.Done() {
		return progress.Outcome(), err
	}
	if err := r.session.PatchAfterDeployment(ctx, r.desired); err != nil {
		return contract.Outcome{}, err
	}
	return contract.Outcome{Done: true, Exports: exports}, nil
}

func (r *run) ready(ctx context.Context, reached *job) (resources.Progress, error) {
	var progress resources.Progress
	if err := r.item.Checkpoint("manifest deployer: default readiness checks"); err != nil {
		return progress, err
	}
	if r.config.ReadinessChecks.DisableDefault {
		reached.unready = nil
	}
	var err error
	if reached.unready, progress, err = r.session.DefaultReadiness(ctx, reached.unready); err != nil || !progress.Done() {
		return progress, err
	}
	if err := r.item.Checkpoint("manifest deployer: custom readiness checks"); err != nil {
		return progress, err
	}
	return r.session.CustomReadiness(ctx, r.config.ReadinessChecks.CustomReadinessChecks)
}

func (r *run) export(ctx context.Context) (map[string]any, resources.Progress, error) {
	if err := r.item.Checkpoint("manifest deployer: before reading export values"); err != nil {
		return nil, resources.Progress{}, err
	}
	if r.config.Exports == nil {
		return nil, resources.Progress{}, nil
	}
	return r.session.Export(ctx, r.config.Exports.Exports)
}

// record puts the managed objects into an outcome, also when it comes with an error.
func (r *run) record(outcome contract.Outcome, managed []managedresource.ManagedResourceStatus, cause error) (contract.Outcome, error) {
	encoded, err := api.EncodeStatus(&v1alpha2.ProviderStatus{
		ManagedResources: managed, RecordedGeneration: r.item.DeployItem.Generation,
	})
	if err != nil {
		return outcome, err
	}
	outcome.ProviderStatus = encoded
	return outcome, cause
}

// errNoTarget says what a DeployItem without target lacks.
var errNoTarget = fmt.Errorf("spec.target: no target defined, name the Target to deploy to")

func configurationProblem(err error) error {
	return kit.Coded(err, v1alpha1.ErrorConfigurationProblem)
}

func configuration(item *v1alpha1.DeployItem) (*v1alpha2.ProviderConfiguration, error) {
	if item.Spec.Configuration == nil || len(item.Spec.Configuration.Raw) == 0 {
		return nil, fmt.Errorf("spec.config: is empty, write a configuration of the manifest deployer there")
	}
	config, err := api.DecodeConfiguration(item.Spec.Configuration.Raw)
	if err == nil {
		err = api.Validate(config)
	}
	if err != nil {
		return nil, fmt.Errorf("spec.config: %w", err)
	}
	return config, nil
}

// status reads the provider status. An unreadable one is an internal problem: only deployers write it.
func status(item *v1alpha1.DeployItem) (*v1alpha2.ProviderStatus, error) {
	var raw json.RawMessage
	if item.Status.ProviderStatus != nil {
		raw = item.Status.ProviderStatus.Raw
	}
	recorded, err := api.DecodeStatus(raw)
	if err != nil {
		return nil, kit.Coded(fmt.Errorf("status.providerStatus: %w", err), v1alpha1.ErrorInternalProblem)
	}
	return recorded, nil
}
