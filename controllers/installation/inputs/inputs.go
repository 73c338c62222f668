// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/contexts"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/imports"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/view"
)

// Inputs are what a job works with, as it was read.
type Inputs struct {
	// context is nil where the controller needs none.
	context *contexts.Context
	source  *resolvedSource
	// Component is nil where there is none.
	Component *Component
	// Borrowed is what is given back when the reconciliation ends: components that have to stay open.
	Borrowed  []interface{ Give() }
	Blueprint *Blueprint
	Imports   *imports.Collected
	// Reach is what the blueprint may use.
	Reach Reach
}

// Reading is one reading of the inputs.
type Reading struct {
	// inst is the Installation that is read for. Its status gets what was found: sources, hashes and conditions.
	inst *v1alpha1.Installation
	now  time.Time
	// clusters issues kubeconfigs to templates; nil where the process does not.
	clusters *Issuer

	jobs.Alarm
	Inputs
	// Values are those of the imports of the blueprint, env is what its templates see, shown what they see of the component.
	Values *render.Values
	Env    *render.Environment
	Shown  *view.View
}

// Read reads what the running job of an Installation works with, and computes the values of its imports. Nothing in the cluster changes. What
// it returns holds components open, also when there is an error.
func (r *Reader) Read(ctx context.Context, inst *v1alpha1.Installation, now time.Time, clusters *Issuer) (*Reading, error) {
	in := &Reading{inst: inst, now: now, clusters: clusters}
	return in, kit.Through(ctx, in, r.reads())
}

// reads are the steps that collect what a job works with. They change nothing in the cluster.
func (r *Reader) reads() []kit.Step[*Reading] {
	return []kit.Step[*Reading]{
		r.checkReadable,    // inputs.go     spec as it was decoded → nothing of it was left out
		r.readReach,        // context.go    Context                → what the blueprint may use
		r.readContext,      // context.go    Context                → overwrites, what is allowed
		r.resolveSources,   // source.go     sourceRefs             → artifacts (revision, digest)
		r.resolveComponent, // component.go  componentDescriptor    → component and all behind it
		r.verifyComponent,  // verify.go     signature              → verified, or not asked for
		r.loadBlueprint,    // blueprint.go  artifact or inline     → blueprint (cached by digest)
		r.collectImports,   // grace.go      DataObjects, Targets … → typed imports
		r.satisfyImports,   // values.go     blueprint + imports    → values (pure)
	}
}

// checkReadable ends a job whose spec could not be read as a whole, or contradicts itself: nothing is deployed from the rest of it.
func (r *Reader) checkReadable(_ context.Context, in *Reading) error {
	if in.inst.Undecoded.Err() != nil {
		return kit.Stall(readOperation, reasonUnreadable, "%w", in.inst.Undecoded.Err())
	}
	if problems := validation.Installation(in.inst); len(problems) > 0 {
		return kit.Stall(jobs.Operation, "InvalidInstallation", "%w", problems.ToAggregate())
	}
	return nil
}

const (
	readOperation    = "ReadSpec"
	reasonUnreadable = "Unreadable"
)
