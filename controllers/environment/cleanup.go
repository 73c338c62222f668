// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// cleaner takes the rights of a deployer away when its Installation is uninstalled: bindings are in no namespace, or in another one, so that they
// do not go with the Installation. Until then the deployer keeps them, because it still has to end what it does.
type cleaner struct{ *Reconciler }

// Reconcile brings the deletion of one Installation to its end.
func (c *cleaner) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	installation := &v1alpha1.Installation{}
	if err := c.Get(ctx, req.NamespacedName, installation); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !c.Homes.Holds(installation) || !isUninstalled(installation) || !c.Shard.Has(installation) {
		return ctrl.Result{}, nil
	}
	err := c.clean(ctx, installation.DeepCopy())
	if err == nil {
		c.Backoff.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	return c.Backoff.Later(ctx, req.NamespacedName, fmt.Errorf("take the rights of a deployer away: %w", err)), nil
}

// isUninstalled reports whether nothing of an Installation is left but the rights of its deployer.
func isUninstalled(installation *v1alpha1.Installation) bool {
	return !installation.DeletionTimestamp.IsZero() &&
		controllerutil.ContainsFinalizer(installation, v1alpha1.DeployerManagementFinalizer) &&
		!controllerutil.ContainsFinalizer(installation, v1alpha1.Finalizer)
}

func (c *cleaner) clean(ctx context.Context, installation *v1alpha1.Installation) error {
	bindings, err := rights{Client: c.Client, live: c.Live}.present(ctx, pair.Of(installation))
	if err != nil {
		return err
	}
	for _, binding := range bindings {
		if err := kit.DeleteLive(ctx, c.Live, c.Client, binding, nil); err != nil {
			return err
		}
	}
	err = kit.PatchMetadata(ctx, c.Client, installation, kit.MetadataChange{RemoveFinalizer: v1alpha1.DeployerManagementFinalizer})
	return client.IgnoreNotFound(err)
}
