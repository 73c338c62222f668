// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const reasonAgentFinalizer = "AgentInstalled"

// uninstall takes an Environment in deletion apart: its Installations, all at once, and then the finalizer. That of the agent stays: only an
// administrator knows that the agent is gone.
func (r *Reconciler) uninstall(ctx context.Context, s *scope) error {
	if s.env.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := pair.Delete(ctx, r.Live, r.Client, operation, s.installations); err != nil {
		return err
	}
	if controllerutil.ContainsFinalizer(s.env, v1alpha1.DeployerManagementFinalizer) {
		if err := r.checkNoneLeft(ctx, s); err != nil {
			return err
		}
		if err := r.patch(ctx, s, kit.MetadataChange{RemoveFinalizer: v1alpha1.DeployerManagementFinalizer}); err != nil {
			return err
		}
	}
	if slices.Contains(s.env.Finalizers, v1alpha1.AgentFinalizer) {
		return kit.Wait(operation, reasonAgentFinalizer,
			"all deployers are uninstalled; annotate this Environment %s: \"true\", or, where the agent does not run any more, take the finalizer %s off it",
			v1alpha1.ReleaseAgentAnnotation, v1alpha1.AgentFinalizer)
	}
	return kit.ErrStop
}

// checkNoneLeft asks the API server whether an Installation is left that the cache does not show.
func (r *Reconciler) checkNoneLeft(ctx context.Context, s *scope) error {
	left, err := r.Homes.OfEnvironment(ctx, r.Live, s.env.Name)
	if err != nil {
		return err
	}
	return pair.Delete(ctx, r.Live, r.Client, operation, left)
}
