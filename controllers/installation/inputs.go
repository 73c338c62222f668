// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/view"
)

// inputs are what a job works with, as it was read.
type inputs struct {
	// context is nil where the controller needs none.
	context *installationContext
	source  *resolvedSource
	// component is nil where there is none.
	component *resolvedComponent
	// borrowed is what is given back when the reconciliation ends: components that have to stay open, and room for a blueprint.
	borrowed  []interface{ give() }
	blueprint *loadedBlueprint
	imports   *collectedImports
	// reach is what the blueprint may use.
	reach reach
}

// reading is one reading of the inputs.
type reading struct {
	// inst is the Installation that is read for. Its status gets what was found: sources, hashes and conditions.
	inst *v1alpha1.Installation
	now  time.Time
	// clusters issues kubeconfigs to templates; nil where the process does not.
	clusters *issuer

	alarm
	inputs
	// values are those of the imports of the blueprint, env is what its templates see, shown what they see of the component.
	values *render.Values
	env    *render.Environment
	shown  *view.View
}

// inputs reads what the running job of an Installation works with, and computes the values of its imports. Nothing in the cluster changes. What
// it returns holds components open, also when there is an error.
func (r *Reconciler) inputs(ctx context.Context, inst *v1alpha1.Installation, now time.Time, clusters *issuer) (*reading, error) {
	in := &reading{inst: inst, now: now, clusters: clusters}
	return in, kit.Through(ctx, in, r.reads())
}

// reads are the phases that collect what a job works with. They change nothing in the cluster.
func (r *Reconciler) reads() []kit.Phase[*reading] {
	return []kit.Phase[*reading]{
		r.checkReadable,    // readable.go   spec as it was decoded → nothing of it was left out
		r.readReach,        // reach.go      Context                → what the blueprint may use
		r.readContext,      // context.go    Context                → overwrites, what is allowed
		r.resolveSources,   // source.go     sourceRefs             → artifacts (revision, digest)
		r.resolveComponent, // component.go  componentDescriptor    → component and all behind it
		r.verifyComponent,  // verify.go     signature              → verified, or not asked for
		r.loadBlueprint,    // blueprint.go  artifact or inline     → blueprint (cached by digest)
		r.collectImports,   // imports.go    DataObjects, Targets … → typed imports
		r.satisfyImports,   // render.go     blueprint + imports    → values (pure)
	}
}

// adopt makes what was read that of the reconciliation, which gives its components back.
func (s *scope) adopt(in *reading) {
	in.borrowed = append(in.borrowed, s.borrowed...)
	s.inputs, s.env, s.shown = in.inputs, in.env, in.shown
	if in.values != nil {
		s.plan = &plan{values: in.values}
	}
	s.wake(in.requeue)
}
