// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/manifest/v1alpha2"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// run is one call of Ensure.
type run struct {
	item     *contract.Item
	session  *resources.Session
	memory   *resources.Memory
	checks   resources.ReadinessChecks
	config   *v1alpha2.ProviderConfiguration
	desired  []resources.Desired
	recorded *v1alpha2.ProviderStatus
	// inventory of the recorded status, sorted by the cluster of the session once that is known.
	inventory *managedresource.Inventory
}

// begin reads configuration and status. Its errors carry the code ERR_CONFIGURATION_PROBLEM.
func (d *Deployer) begin(item *contract.Item) (*run, error) {
	if err := item.Checkpoint("manifest deployer: start reconcile"); err != nil {
		return nil, err
	}
	if item.Target == nil {
		return nil, configurationProblem(errNoTarget)
	}
	config, desired, err := expanded(item.DeployItem)
	if err != nil {
		return nil, configurationProblem(err)
	}
	health, err := resources.NewHealth(&config.ReadinessChecks, config.UpdateStrategy)
	if err != nil {
		return nil, fmt.Errorf("spec.config: %w", err)
	}
	session := resources.NewSession(item, nil)
	checks := resources.ReadinessChecks{Session: session, Health: health, Confidential: sync.OnceValue(func() []string { return resources.ConfidentialIn(desired) })}
	recorded, err := status(item.DeployItem)
	if err != nil {
		return nil, err
	}
	return &run{item: item, config: config, desired: desired, recorded: recorded, inventory: inventoryOf(recorded),
		session: session, memory: d.memory, checks: checks}, nil
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
	outcome.Warning = reached.warning
	outcome.ProviderStatus = reached.recorded
	return outcome, err
}

// deploy applies the objects and removes what earlier jobs left. It returns no job while something is missing.
func (r *run) deploy(ctx context.Context) (*job, contract.Outcome, error) {
	before := *r.inventory
	known, err := r.known(ctx)
	if err != nil {
		return nil, contract.Outcome{Untouched: true}, err
	}
	if err := r.recordAhead(ctx, before, &known); err != nil {
		return nil, contract.Outcome{Untouched: true}, err
	}
	if err := r.item.Checkpoint("manifest deployer: start apply manifests"); err != nil {
		return nil, contract.Outcome{Untouched: true}, err
	}
	r.session.WarnOfDeletion(r.desired, known.Recorded, "its manifests are an empty list")
	applied, err := resources.Apply(ctx, r.session, r.desired, resources.ApplyOptions{
		Strategy: r.config.UpdateStrategy, OnConflict: r.config.OnConflict, OnImmutable: r.config.OnImmutable,
		Memory: r.memory, Known: known.Recorded,
	})
	known.Recorded = applied.Union(known.Recorded)
	known.Attempt(applied.Refused)
	progress := applied.Progress
	if err == nil && progress.Done() {
		progress, err = r.removeLeftovers(ctx, &known, applied)
	}
	if err != nil || !progress.Done() {
		outcome, err := r.record(progress.Outcome(), known, err)
		return nil, outcome, err
	}
	progress, warning, err := resources.LeaveOrWarn(ctx, r.session, departure(r.item), r.inventory, r.config.DeletionGroups, nil)
	outcome, err := r.record(progress.Outcome(), resources.KnownObjects{Recorded: applied.Managed}, err)
	if err != nil || !progress.Done() {
		return nil, outcome, err
	}
	reached := &job{generation: r.item.DeployItem.Generation, recorded: outcome.ProviderStatus, warning: warning, managed: applied.Managed,
		unready: applied.Subjects}
	remember(r.item, reached)
	return reached, contract.Outcome{}, nil
}

// known returns what earlier jobs put on the target: what is recorded and, where a job may have died before it recorded anything, what is
// found.
func (r *run) known(ctx context.Context) (resources.KnownObjects, error) {
	search := isSearched(r.item.DeployItem, r.recorded)
	known, err := resources.Settle(ctx, r.session, r.inventory, r.recorded.ManagedResources)
	if err != nil || !search {
		return known, err
	}
	found, err := resources.Sweep(ctx, r.session, resources.NamespacesOf(append(resources.Attempted(r.desired, nil), known.Recorded...)...)...)
	if err != nil {
		return known, fmt.Errorf("cannot look for objects of an earlier job: %w", err)
	}
	known.Recorded = resources.Union(known.Recorded, found)
	return known, nil
}

// recordAhead records what the job sets out to do where the plan does not say it: the Target leads to another cluster than when the job was
// picked up, or its cluster did not answer then.
func (r *run) recordAhead(ctx context.Context, before managedresource.Inventory, known *resources.KnownObjects) error {
	missing := resources.Unplanned(before, r.recorded.ManagedResources, *r.inventory.Cluster, resources.Attempted(r.desired, nil))
	if len(missing) == 0 {
		return nil
	}
	known.Planned = resources.Union(known.Planned, resources.Orphans(missing, slices.Concat(known.Recorded, known.Attempted)))
	outcome, err := r.record(contract.Outcome{}, *known, nil)
	if err != nil {
		return err
	}
	return r.item.Record(ctx, outcome.ProviderStatus)
}

// removeLeftovers deletes what earlier jobs put on the target and the manifests no longer have. It adds to known.Recorded what was only
// attempted and exists.
func (r *run) removeLeftovers(ctx context.Context, known *resources.KnownObjects, applied resources.Applied) (resources.Progress, error) {
	wanted := resources.Attempted(r.desired, nil)
	found, err := resources.Confirm(ctx, r.session, resources.Orphans(known.Attempted, wanted))
	if err != nil {
		return resources.Progress{}, err
	}
	known.Recorded = resources.Union(known.Recorded, found)
	return resources.Delete(ctx, r.session, applied.Orphans(known.Recorded), r.config.DeletionGroupsDuringUpdate)
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
	if err := resources.PatchAfterDeployment(ctx, r.session.Cluster, r.desired, reached.managed); err != nil {
		return contract.Outcome{}, err
	}
	return contract.Outcome{Done: true, Exports: exports}, nil
}

func (r *run) ready(ctx context.Context, reached *job) (resources.Progress, error) {
	var progress resources.Progress
	if err := r.item.Checkpoint("manifest deployer: default readiness checks"); err != nil {
		return progress, err
	}
	reached.unready = r.checks.Health.Asked(reached.unready)
	var err error
	if reached.unready, progress, err = r.checks.Default(ctx, reached.unready); err != nil {
		return progress, errors.Join(err, reached.forgetFailedRuns(err))
	}
	if !progress.Done() {
		return progress, nil
	}
	if err := r.item.Checkpoint("manifest deployer: custom readiness checks"); err != nil {
		return progress, err
	}
	return resources.CustomChecks(ctx, r.session, r.config.ReadinessChecks.CustomReadinessChecks)
}

func (r *run) export(ctx context.Context) (map[string]any, resources.Progress, error) {
	if err := r.item.Checkpoint("manifest deployer: before reading export values"); err != nil {
		return nil, resources.Progress{}, err
	}
	if r.config.Exports == nil {
		return nil, resources.Progress{}, nil
	}
	return resources.Export(ctx, r.session, r.config.Exports.Exports)
}

// record puts what is known into an outcome, also when it comes with an error.
func (r *run) record(outcome contract.Outcome, known resources.KnownObjects, cause error) (contract.Outcome, error) {
	inventory := *r.inventory
	inventory.DeletionGroups, inventory.Sites = r.config.DeletionGroups, slices.Clone(inventory.Sites)
	resources.Attempt(&inventory, *inventory.Cluster, resources.Orphans(known.Attempted, known.Recorded))
	resources.AttemptBy(&inventory, r.session.Job, *inventory.Cluster, known.Planned)
	encoded, err := v1alpha2.EncodeStatus(&v1alpha2.ProviderStatus{
		ManagedResources: known.Recorded, RecordedGeneration: r.item.DeployItem.Generation, Inventory: &inventory,
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
	return protocol.Coded(err, v1alpha1.ErrorConfigurationProblem)
}

// Configuration returns a configuration of the version that an item has.
func (*Deployer) Configuration(item *v1alpha1.DeployItem) any {
	return v1alpha2.ConfigurationOf(item.Spec.Configuration.Raw)
}

func configuration(item *v1alpha1.DeployItem) (*v1alpha2.ProviderConfiguration, error) {
	if item.Spec.Configuration == nil || len(item.Spec.Configuration.Raw) == 0 {
		return nil, fmt.Errorf("spec.config: is empty, write a configuration of the manifest deployer there")
	}
	config, err := v1alpha2.DecodeConfiguration(item.Spec.Configuration.Raw)
	if err == nil {
		err = v1alpha2.Validate(config)
	}
	if err != nil {
		return nil, fmt.Errorf("spec.config: %w", err)
	}
	return config, nil
}

// expanded reads the configuration, and the objects that it wants.
func expanded(item *v1alpha1.DeployItem) (*v1alpha2.ProviderConfiguration, []resources.Desired, error) {
	config, err := configuration(item)
	if err != nil {
		return nil, nil, err
	}
	desired, err := resources.Expand(config.Manifests)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.config: %w", err)
	}
	return config, desired, nil
}

// status reads the provider status. An unreadable one is an internal problem: only deployers write it.
func status(item *v1alpha1.DeployItem) (*v1alpha2.ProviderStatus, error) {
	var raw json.RawMessage
	if item.Status.ProviderStatus != nil {
		raw = item.Status.ProviderStatus.Raw
	}
	recorded, err := v1alpha2.DecodeStatus(raw)
	if err != nil {
		return nil, protocol.Coded(fmt.Errorf("status.providerStatus: %w", err), v1alpha1.ErrorInternalProblem)
	}
	return recorded, nil
}

var _ contract.SiteKeeper = &Deployer{}

// Plan returns the provider status with the objects of the manifests as attempted. It returns nil where nothing new is attempted, where the
// configuration is broken, and where a job without a plan may have left objects that only a search on the target finds.
func (d *Deployer) Plan(item *v1alpha1.DeployItem, to managedresource.ClusterReference) *runtime.RawExtension {
	config, desired, err := expanded(item)
	if err != nil {
		return nil
	}
	recorded, err := status(item)
	if err != nil || to.Target == "" || mayHaveLeftovers(recorded, item.Generation-1) {
		return nil
	}
	recorded.Inventory = inventoryOf(recorded)
	recorded.Inventory.DeletionGroups = config.DeletionGroups
	return planned(item, recorded, to, desired)
}

// IsAt compares with the cluster of the inventory. A record without one tells nothing.
func (d *Deployer) IsAt(item *v1alpha1.DeployItem, to managedresource.ClusterReference) bool {
	recorded, err := status(item)
	return err == nil && resources.IsAt(recorded.Inventory, to)
}

// Sites returns what the inventory says.
func (d *Deployer) Sites(item *v1alpha1.DeployItem) ([]managedresource.Site, bool) {
	recorded, err := status(item)
	if err != nil || isSearched(item, recorded) {
		return nil, false
	}
	inventory := inventoryOf(recorded)
	isKnown := resources.Scatter(inventory, recorded.ManagedResources)
	return inventory.Sites, isKnown
}

// Close leaves out what the API server refused.
func (d *Deployer) Close(item *v1alpha1.DeployItem, status *runtime.RawExtension) *runtime.RawExtension {
	recorded, err := v1alpha2.DecodeStatus(status.Raw)
	if err != nil || recorded.Inventory == nil || !resources.ForgetRefused(recorded.Inventory, item.Status.JobID) {
		return status
	}
	encoded, err := v1alpha2.EncodeStatus(recorded)
	if err != nil {
		return status
	}
	return encoded
}

func planned(item *v1alpha1.DeployItem, recorded *v1alpha2.ProviderStatus, to managedresource.ClusterReference, desired []resources.Desired) *runtime.RawExtension {
	inventory := recorded.Inventory
	known := recorded.ManagedResources
	if inventory.Cluster != nil && !resources.SameCluster(*inventory.Cluster, to) {
		known = nil
	}
	attempted := resources.Attempted(desired, known)
	if len(attempted) == 0 {
		return nil
	}
	resources.AttemptBy(inventory, item.Status.JobID, to, attempted)
	encoded, err := v1alpha2.EncodeStatus(recorded)
	if err != nil {
		return nil
	}
	return encoded
}

// inventoryOf returns the inventory of a status, an empty one when it has none.
func inventoryOf(recorded *v1alpha2.ProviderStatus) *managedresource.Inventory {
	if recorded.Inventory == nil {
		return &managedresource.Inventory{}
	}
	return recorded.Inventory
}

// mayHaveLeftovers reports whether a job of a generation up to last, whose plan was not recorded, may have deployed objects that the status
// does not record. Only statuses without inventory leave that open.
func mayHaveLeftovers(recorded *v1alpha2.ProviderStatus, last int64) bool {
	return recorded.Inventory == nil && recorded.RecordedGeneration > 0 && last > recorded.RecordedGeneration
}
