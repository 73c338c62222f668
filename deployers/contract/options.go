// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	"k8s.io/client-go/tools/record"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/liveness"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// defaultConcurrency is the number of DeployItems worked on at the same time.
const defaultConcurrency = 30

// Delays before the next attempt of a job that failed.
const (
	// DefaultMinRetryDelay is that before the second attempt.
	DefaultMinRetryDelay = 250 * time.Millisecond
	// DefaultMaxRetryDelay is the longest.
	DefaultMaxRetryDelay = 30 * time.Second
)

// Options of Serve.
type Options struct {
	// Identity of this process, for status.deployer.identity. Deployers with target selectors need one that no other deployer of
	// the same type has and that stays the same after a restart.
	Identity string
	// Version of this process, for status.deployer.version.
	Version string
	// TargetSelectors restrict the deployer to DeployItems whose Target one of them selects. Without selectors it is responsible for
	// every item of its type. Items without target are always its own, unless TargetsOnly is set.
	TargetSelectors []v1alpha1.TargetSelector
	// TargetsOnly leaves items without target to other deployers.
	TargetsOnly bool
	// Concurrency is the number of DeployItems worked on at the same time; 0 means 30. Namespaces that have less than a quarter of them get as many
	// more together, and 64 items may wait beside them: see Item.Waits.
	Concurrency int
	// MinRetryDelay and MaxRetryDelay bound the delay before the next attempt of a job that failed; 0 means 250 ms and 30 s.
	MinRetryDelay, MaxRetryDelay time.Duration
	// MaxTimeout is the longest time for a job, also of an item whose timeout is none; 0 means no limit.
	MaxTimeout time.Duration
	// Clients opens Targets. Required.
	Clients *target.Clients
	// AnyTargetType accepts Targets of other types than kubernetes-cluster; Item.Target is nil for them and target.Content reads
	// what they hold.
	AnyTargetType bool
	// UnopenedTargets leaves Item.Target nil, for deployers that read Targets themselves and reach none: see TargetFailure for their errors.
	UnopenedTargets bool
	// SkipPullSecrets leaves PullSecrets and OCMConfig of Item.Context empty, for deployers that contact no registry. It saves their reads.
	SkipPullSecrets bool
	// Hooks take part in the work on every item, after those of the Deployer. Optional.
	Hooks Hooks
	// JitterPercentage, from 0 to 99, is by how much an interval after which the clock starts a job of an item may become longer, so that
	// items of one interval do not all come at the same instant.
	JitterPercentage uint8
	// MinContinuousInterval is the least time between the end of a job of an item and the next one that the clock starts; 0 means 10 s.
	MinContinuousInterval time.Duration
	// MaxDriftWatches is how many watches look for drift at most; 0 means 4096.
	MaxDriftWatches int
	// Sources makes items follow the sources that they name. Optional: without it no source gives an item a job.
	Sources *SourceWatch
	// RefuseUnknownKeys makes every unknown key of a configuration an error, see Typed.
	RefuseUnknownKeys bool
	// Liveness is how the deployer says that it is alive, so that items which wait for it do not fail. Optional: without it an item that it
	// does not begin in time fails.
	Liveness *liveness.Options
	// Recorder of events; nil means that of the manager.
	Recorder record.EventRecorder
	// Metrics records the duration of calls of the deployer; the zero value records nothing.
	Metrics runtimectrl.Metrics
}

func (o *Options) complete() error {
	if o.Clients == nil {
		return errors.New("the deployer has no clients for targets; set Options.Clients")
	}
	if o.Concurrency <= 0 {
		o.Concurrency = defaultConcurrency
	}
	o.MinRetryDelay = cmp.Or(o.MinRetryDelay, DefaultMinRetryDelay)
	o.MaxRetryDelay = max(cmp.Or(o.MaxRetryDelay, DefaultMaxRetryDelay), o.MinRetryDelay)
	o.MinContinuousInterval = cmp.Or(o.MinContinuousInterval, DefaultMinContinuousInterval)
	for i, selector := range o.TargetSelectors {
		for _, requirement := range slices.Concat(selector.Annotations, selector.Labels) {
			if !liveness.IsOperator(requirement.Operator) {
				return fmt.Errorf("targetSelectors[%d]: key %q has the unknown operator %q; use one of =, ==, !=, in, notin, exists, !, gt, lt",
					i, requirement.Key, requirement.Operator)
			}
		}
	}
	return nil
}
