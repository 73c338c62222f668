// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/contexts"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// usesContext reports whether the controller needs the Context of an Installation: for its component or its sources.
func usesContext(inst *v1alpha1.Installation) bool {
	return inst.Spec.ComponentDescriptor != nil || inst.Spec.Blueprint.SourceReference != nil || inst.Spec.Verification != nil
}

// readContext finds the Context in the cache, with the overwrites that it names.
func (r *Reader) readContext(ctx context.Context, in *Reading) error {
	if !usesContext(in.inst) {
		return nil
	}
	found, err := r.contexts().Find(ctx, in.inst)
	if err != nil {
		return r.contextFailure(in, err)
	}
	in.context = found
	return nil
}

// contextFailure gives what is missing a moment of grace, like imports: a sync creates both in any order.
func (r *Reader) contextFailure(in *Reading, err error) error {
	var missing contexts.Incomplete
	if kit.IsTransient(err) || !errors.As(err, &missing) {
		return err
	}
	if r.graces.over(in.inst, jobs.ContextOperation, in.now) {
		r.graces.forget(client.ObjectKeyFromObject(in.inst), jobs.ContextOperation)
		return kit.Stall(jobs.ContextOperation, jobs.ReasonContextIncomplete, "%w", err)
	}
	in.Wake(ImportGrace)
	return kit.Wait(jobs.ContextOperation, jobs.ReasonContextIncomplete, "%w", err)
}

// contextArrived reports whether after a job that failed because its Context was incomplete nothing is missing now, or something else.
func (r *Reader) contextArrived(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	found, err := r.contexts().Find(ctx, inst)
	if err == nil {
		err = r.contexts().Check(ctx, inst, found, r.SignaturePolicy.asksFor(inst))
	}
	if _, ok := errors.AsType[contexts.Incomplete](err); ok {
		return err.Error() != inst.Status.LastError.Message, nil
	}
	return err == nil, transientOnly(err)
}

// transientOnly drops errors that another try does not end.
func transientOnly(err error) error {
	if kit.IsTransient(err) {
		return err
	}
	return nil
}

// readReach reads what the blueprint may use.
func (r *Reader) readReach(ctx context.Context, in *Reading) error {
	access, err := r.contexts().BlueprintAccessOf(ctx, in.inst)
	in.Reach = Reach{
		onlyImports:  access != v1alpha1.BlueprintAccessNamespace,
		installation: client.ObjectKeyFromObject(in.inst), context: contexts.KeyOf(in.inst),
	}
	return err
}
