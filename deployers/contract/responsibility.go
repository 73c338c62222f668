// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/liveness"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// checkResponsible leaves items to other deployers of the same type whose targets this one does not select, and those that hooks do not want.
func (r *reconciler) checkResponsible(ctx context.Context, s *scope) error {
	responsible, err := r.selects(ctx, s.item)
	if err != nil {
		return err
	}
	if responsible && s.hookErr == nil {
		answer, err := r.hook(ctx, s, HookDuringResponsibilityCheck)
		s.hookErr = err
		responsible = answer == nil || !answer.AbortReconcile
	}
	if responsible {
		return nil
	}
	r.jobs.forget(s.key())
	return kit.ErrStop
}

// selects reports whether the target selectors select the Target of an item.
func (r *reconciler) selects(ctx context.Context, item *v1alpha1.DeployItem) (bool, error) {
	name := targetName(item)
	if name == "" {
		return !r.options.TargetsOnly, nil
	}
	if len(r.options.TargetSelectors) == 0 {
		return true, nil
	}
	found, err := target.Get(ctx, r.client, r.live, item.Namespace, name)
	if isNotFound(err) {
		return r.handledBefore(item), nil
	}
	return err == nil && liveness.Selected(r.options.TargetSelectors, found), err
}

// handledBefore reports whether this deployer did the last job of the item: then it also has to report that the target is gone.
func (r *reconciler) handledBefore(item *v1alpha1.DeployItem) bool {
	last := item.Status.Deployer
	return last != nil && last.Name == r.deployer.Name() && last.Identity == r.options.Identity
}

// targetName returns the name of the item's Target, empty when it has none.
func targetName(item *v1alpha1.DeployItem) string {
	if name := item.Annotations[v1alpha1.DeployerTargetNameAnnotation]; name != "" && name != v1alpha1.NoTargetName {
		return name
	}
	if item.Spec.Target == nil {
		return ""
	}
	return item.Spec.Target.Name
}

func isNotFound(err error) bool {
	var problem *target.Error
	return errors.As(err, &problem) && problem.Reason == target.ReasonNotFound
}
