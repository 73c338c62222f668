// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package helm is the deployer of DeployItems of type landscaper.gardener.cloud/helm: it installs charts as Helm releases or, in template
// mode, applies the objects that they render to one by one (spec/deployers.md §7).
//
// One job reads as a straight line: configuration, chart, values, exports from the values, what is where, release or objects, what has to go,
// readiness, exports from objects. Every step may run again at any time; the release itself records which job made it, and its history what
// attempts set out to apply. The inventory in the provider status records the releases, and what outlives the history.
// It promises nothing to others.
package helm

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/utils/lru"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/charts"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// Name is status.deployer.name of the items that this deployer handles.
const Name = "helm.deployer.landscaper.gardener.cloud"

// ChildMemory is how much memory a child process may take to work on a chart, in bytes, unless Options say otherwise.
const ChildMemory = engine.ChildMemory

// Options of New. What is nil makes the items that need it fail with a message that says so.
type Options struct {
	// Driver is where Helm keeps releases: engine.DriverSecret (default) or DriverConfigMap.
	Driver string
	// Children limit the child processes that work on charts; zero fields mean the defaults.
	Children confined.Limits
	// Access is what charts and components may be got from.
	components.Access
}

// deployer implements contract.Deployer.
type deployer struct {
	options Options
	engine  *engine.Engine
	charts  *charts.Finder
	memory  *resources.Memory
	// rendered holds digests of the objects that were last applied without a release, by the UID of the DeployItem.
	rendered *lru.Cache
}

// New returns the helm deployer, or an error for options that cannot be used.
func New(options Options) (contract.Deployer, error) {
	e, err := engine.New(engine.Options{Driver: options.Driver, Children: options.Children})
	if err != nil {
		return nil, err
	}
	found, err := charts.New(e, options.Access)
	if err != nil {
		return nil, err
	}
	return &deployer{options: options, engine: e, charts: found, memory: resources.NewMemory(0), rendered: lru.New(rememberedObjects)}, nil
}

// Name returns the name of the deployer.
func (d *deployer) Name() string { return Name }

// Type returns the type of the items.
func (d *deployer) Type() string { return v1alpha1.HelmDeployItemType }

// ContinuousReconcile returns the field continuousReconcile of the configuration.
func (d *deployer) ContinuousReconcile(item *v1alpha1.DeployItem) (*managedresource.ContinuousReconcileSpec, error) {
	return contract.ContinuousReconcileIn(item.Spec.Configuration)
}

// job is one call for one item.
type job struct {
	*deployer
	item   *contract.Item
	config *helmv1alpha1.ProviderConfiguration
	// status is what the status of the item says, changed as the job goes on; before is the inventory that the job found there.
	status *helmv1alpha1.ProviderStatus
	before managedresource.Inventory
	// known is what the status says about the target, see settle.
	known resources.KnownObjects
	// revisions are those of the wanted release that may have left something.
	revisions []*engine.Release
	// workloads are the objects of the wanted release, once it is made, with a readiness rule.
	workloads []managedresource.ManagedResourceStatus

	// health is what is asked of the objects beside the built-in checks.
	health resources.Health

	chart  *engine.Chart
	source *v1alpha1.SourceStatus
	values map[string]any
	// secrets are the texts among the values that came from Secrets; no error may show them.
	secrets []string
	exports map[string]any
	// attempt is what earlier calls of the same job have achieved.
	attempt *attempt

	// touched says that something may have been changed on a target.
	touched bool
	// labels are those of the wanted revision.
	labels map[string]string
	// undone says how the last failure was undone, empty when it was not.
	undone string
	// release is the wanted one once it is made.
	release *engine.Release
	// rejected is the status to record of a release whose tests have failed.
	rejected *helmv1alpha1.ProviderStatus
	// desired and applied are the objects of template mode: as wanted, and as handled.
	desired []resources.Desired
	applied resources.Applied
}

// step is one entry in the list of a job.
type step struct {
	checkpoint string
	run        func(*job, context.Context) error
}

// observeSteps are the steps of a job after the target is as the job wants it.
var observeSteps = []step{
	{"helm deployer: default readiness checks", (*job).checkDefaultReadiness},   // observe.go workloads           → ready or waiting
	{"helm deployer: custom readiness checks", (*job).checkCustomReadiness},     // observe.go objects             → ready or waiting
	{"helm deployer: before running tests", (*job).runTests},                    // observe.go revision            → tested
	{"helm deployer: before reading export values", (*job).exportFromResources}, // observe.go objects             → exports
}

// Ensure installs or upgrades the release, or applies the objects of the chart, removes what earlier jobs left, and waits until all is ready.
func (d *deployer) Ensure(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	j, err := d.begin(item)
	if err != nil {
		return contract.Outcome{Untouched: true}, err
	}
	ctx, end := d.engine.Session(engine.OnWait(ctx, item.Waits))
	defer end()
	if j.attempt.reached == nil {
		steps := releaseSteps
		if !j.config.IsHelmDeployment() {
			steps = templateSteps
		}
		if outcome, err := j.walk(ctx, steps); err != nil || !outcome.Done {
			return outcome, err
		}
		j.attempt.reached = j.now()
	}
	return j.walk(ctx, observeSteps)
}

// walk takes the steps in order until one has to wait or fails. What was achieved is recorded in every case.
func (j *job) walk(ctx context.Context, steps []step) (contract.Outcome, error) {
	for _, s := range steps {
		if s.checkpoint != "" {
			if err := j.item.Checkpoint(s.checkpoint); err != nil {
				return j.outcome(contract.Outcome{}), err
			}
		}
		if err := s.run(j, ctx); err != nil {
			wait, ok := errors.AsType[*waiting](err)
			if !ok {
				return j.outcome(contract.Outcome{}), err
			}
			if wait.cause == nil {
				err = nil
			}
			return j.outcome(wait.progress.Outcome()), err
		}
	}
	return j.outcome(contract.Outcome{Done: true, Exports: j.exports}), nil
}

// waiting is the error of a step that has to wait, or failed with cause where a change of what it watches may help.
type waiting struct {
	progress resources.Progress
	cause    error
}

func (w *waiting) Error() string {
	if w.cause != nil {
		return w.cause.Error()
	}
	return w.progress.Waiting()
}

func (w *waiting) Unwrap() error { return w.cause }

// until returns what a step waits for, or fails with; nil for neither.
func until(progress resources.Progress, err error) error {
	if err != nil && len(progress.Watch) == 0 || err == nil && progress.Done() {
		return err
	}
	return &waiting{progress, err}
}

// outcome adds the provider status to record, if anything was done for it.
func (j *job) outcome(outcome contract.Outcome) contract.Outcome {
	status := cmp.Or(j.attempt.reached, j.rejected)
	if status == nil && j.touched {
		status = j.now()
	}
	outcome.Untouched, outcome.Warning, outcome.Sources = status == nil, joined(j.attempt.stays, j.attempt.warning), j.attempt.sources
	if outcome.Done {
		outcome.Event = j.attempt.made
	}
	if status == nil {
		return outcome
	}
	if encoded, err := helmv1alpha1.EncodeStatus(status); err == nil {
		outcome.ProviderStatus = encoded
	}
	return outcome
}

// begin reads configuration and status of an item.
func (d *deployer) begin(item *contract.Item) (*job, error) {
	if item.Target == nil {
		return nil, misconfigured(item, errNoTarget)
	}
	decoded, err := configuration(item.DeployItem)
	if err != nil {
		return nil, misconfigured(item, fmt.Errorf("spec.config: %w", err))
	}
	if err := helmv1alpha1.Validate(decoded); err != nil {
		return nil, misconfigured(item, fmt.Errorf("spec.config: %w", err))
	}
	strategy := decoded.UpdateStrategy
	if decoded.IsHelmDeployment() {
		strategy = "" // a release has none
	}
	health, err := resources.NewHealth(&decoded.ReadinessChecks, strategy)
	if err != nil {
		return nil, misconfigured(item, fmt.Errorf("spec.config: %w", err))
	}
	status, err := statusOf(item.DeployItem, decoded)
	if err != nil {
		return nil, misconfigured(item, fmt.Errorf("status.providerStatus: %w", err))
	}
	known, isKnown := item.Memory[attemptKey].(*attempt)
	if !isKnown || known.generation != item.DeployItem.Generation {
		known = &attempt{generation: item.DeployItem.Generation}
	}
	if item.Memory != nil {
		item.Memory[attemptKey] = known
	}
	return &job{deployer: d, item: item, config: decoded, status: status, attempt: known, health: health}, nil
}

var errNoTarget = errors.New("spec.target: names no target; a chart needs a cluster to go to")

func configuration(item *v1alpha1.DeployItem) (*helmv1alpha1.ProviderConfiguration, error) {
	raw := item.Spec.Configuration
	if raw == nil || len(raw.Raw) == 0 {
		return nil, fmt.Errorf("is empty; it has to hold a %s", helmv1alpha1.ProviderConfigurationKind)
	}
	return helmv1alpha1.DecodeConfiguration(raw.Raw)
}

// Configuration returns a configuration of the helm deployer.
func (*deployer) Configuration(*v1alpha1.DeployItem) any {
	return &helmv1alpha1.ProviderConfiguration{}
}

func providerStatus(item *v1alpha1.DeployItem) []byte {
	if item.Status.ProviderStatus == nil {
		return nil
	}
	return item.Status.ProviderStatus.Raw
}

func misconfigured(item *contract.Item, err error) error {
	return protocol.Stall("ReadConfiguration", protocol.ReasonInvalidConfiguration, "DeployItem %s/%s: %w",
		item.DeployItem.Namespace, item.DeployItem.Name, err)
}

// attemptKey is where contract.Item.Memory holds the attempt of a job.
const attemptKey = "helm.attempt"

// attempt is what earlier calls of a job have achieved, so that a job that waits for readiness does not ask for chart and release again at
// every event. Losing it only costs requests: the release itself says which job made it.
type attempt struct {
	generation int64
	// reached is the status to record once the target is as the job wants it, nil before; unready are the objects to check then.
	reached *helmv1alpha1.ProviderStatus
	unready []resources.Subject
	// sources are what the job has used of Flux sources, empty while it waits for one and where the chart comes from elsewhere; nil until the job
	// has looked for it.
	sources []v1alpha1.SourceStatus
	// made is the event about what the job has made, nil when that was nothing.
	made *contract.Event
	// stays says what the target has lost the record of and stays there.
	stays string
	// warning says what could not be uninstalled elsewhere.
	warning string
	// departure counts the tries to uninstall that.
	departure resources.Departure
	// failures counts the operations on the release that failed; failure is the last of them.
	failures int
	failure  error
	// testing is the revision whose tests are to pass, nil when there are none.
	testing *engine.Release
	// values are the exports that come from the values of the chart, by their keys.
	values map[string]any
}

func joined(first, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + "; " + second
}
