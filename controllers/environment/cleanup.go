// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
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

// takeStray deletes the bindings of deployers without Installation: it went while they were made, so that nobody cleaned up after them.
func (r *Reconciler) takeStray(ctx context.Context, s *scope) error {
	return r.deleteStray(ctx, s.env.Name, s.installations)
}

func (r *Reconciler) deleteStray(ctx context.Context, environment string, installations []*v1alpha1.Installation) error {
	bindings, err := rights{Client: r.Client}.labelled(ctx, client.MatchingLabels{v1alpha1.DeployerEnvironmentLabel: environment})
	if err != nil {
		return err
	}
	stray := r.stray(bindings, installations)
	if len(stray) == 0 {
		return nil
	}
	// The cache may show a binding before the Installation that it was made for.
	if installations, err = r.Homes.OfEnvironment(ctx, r.Live, environment); err != nil {
		return err
	}
	for _, binding := range r.stray(stray, installations) {
		if err := kit.DeleteLive(ctx, r.Live, r.Client, binding, nil); err != nil {
			return err
		}
	}
	return nil
}

// stray returns of bindings those that were made for a deployer that none of the Installations installs.
func (r *Reconciler) stray(bindings []client.Object, installations []*v1alpha1.Installation) []client.Object {
	return slices.DeleteFunc(slices.Clone(bindings), func(binding client.Object) bool {
		key := pair.Of(binding)
		return !r.isOfDeployer(key, binding) ||
			slices.ContainsFunc(installations, func(i *v1alpha1.Installation) bool { return pair.Of(i) == key })
	})
}

// isOfDeployer reports whether a binding gives rights to the ServiceAccount of a pair, and to nobody else.
func (r *Reconciler) isOfDeployer(key pair.Key, binding client.Object) bool {
	subjects := subjectsIn(binding)
	return len(subjects) == 1 && subjects[0].Kind == rbacv1.ServiceAccountKind && subjects[0].Name == key.Name() &&
		r.Homes.Has(subjects[0].Namespace, key.Environment)
}
