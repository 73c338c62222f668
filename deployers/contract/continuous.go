// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"bytes"
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/rhythm"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// ContinuousReconciler is a Deployer whose items may ask to be carried out again by the clock, without a job of their Execution.
type ContinuousReconciler interface {
	Deployer
	// ContinuousReconcile returns what an item says about it; nil when it says nothing. The error names the field that is wrong: the job of
	// the item fails with it, and the clock starts none. For a field continuousReconcile of spec.config return
	// ContinuousReconcileIn(item.Spec.Configuration). It is called often and only looks at the item.
	ContinuousReconcile(item *v1alpha1.DeployItem) (*managedresource.ContinuousReconcileSpec, error)
}

// DefaultMinContinuousInterval is Options.MinContinuousInterval where that is not set.
const DefaultMinContinuousInterval = 10 * time.Second

// ContinuousReconcileIn reads and checks the field continuousReconcile of a configuration; nil when there is none. Errors name the field.
func ContinuousReconcileIn(config *runtime.RawExtension) (*managedresource.ContinuousReconcileSpec, error) {
	var fields struct {
		ContinuousReconcile *managedresource.ContinuousReconcileSpec `json:"continuousReconcile"`
	}
	if err := decodeField(config, "continuousReconcile", &fields); err != nil {
		return nil, err
	}
	return fields.ContinuousReconcile, errors.Join(managedresource.ValidateContinuousReconcile("continuousReconcile", fields.ContinuousReconcile)...)
}

// decodeField decodes a configuration into fields where it may have the one with a name. Most have not, and are not read.
func decodeField(config *runtime.RawExtension, name string, fields any) error {
	if config == nil || !bytes.Contains(config.Raw, []byte(`"`+name+`"`)) {
		return nil
	}
	return document.Decode(config.Raw, fields)
}

// clock starts jobs of the items of a ContinuousReconciler.
type clock struct {
	NoHooks
	// deployer is nil where it is no such one.
	deployer ContinuousReconciler
	rhythm   rhythm.Rhythm
}

func newClock(deployer Deployer, options *Options) *clock {
	continuous, _ := deployer.(ContinuousReconciler)
	return &clock{deployer: continuous, rhythm: rhythm.Rhythm{Jitter: kit.Jitter(options.JitterPercentage), Rest: options.MinContinuousInterval}}
}

// spec returns when the clock starts jobs of an item; nil when it starts none. The error is about the configuration.
func (c *clock) spec(item *v1alpha1.DeployItem) (*managedresource.ContinuousReconcileSpec, error) {
	if c.deployer == nil {
		return nil, nil
	}
	return c.deployer.ContinuousReconcile(item)
}

// ShouldReconcile lets the clock start jobs. Of a job that is due it names the instant after it, for the case that it is skipped.
func (c *clock) ShouldReconcile(_ context.Context, item *v1alpha1.DeployItem) (*HookResult, error) {
	spec, err := c.spec(item)
	if err != nil || spec == nil || !isActive(item) {
		return nil, nil // the job of the configuration has failed with the error
	}
	due, found := c.rhythm.Due(item, spec)
	if !found {
		return nil, nil
	}
	now := time.Now()
	if wait := due.Sub(now); wait > 0 && !rhythm.IsAhead(item, now) {
		return &HookResult{RequeueAfter: wait, AbortReconcile: true}, nil
	}
	answer := &HookResult{}
	if next, found := c.rhythm.After(item, spec, now); found {
		answer.RequeueAfter = max(next.Sub(now), c.rhythm.Rest)
	}
	return answer, nil
}

func isActive(item *v1alpha1.DeployItem) bool {
	return item.Annotations[v1alpha1.ContinuousReconcileActiveAnnotation] != "false"
}
