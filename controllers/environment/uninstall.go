// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

const (
	reasonAgentFinalizer = "AgentInstalled"
	reasonInUse          = "EnvironmentInUse"
)

// mostNamed is how many objects one message names.
const mostNamed = 3

// uninstall takes an Environment in deletion apart: its Installations, all at once, and then the finalizer. That of the agent stays: only an
// administrator knows that the agent is gone.
func (r *Reconciler) uninstall(ctx context.Context, s *scope) error {
	if s.env.DeletionTimestamp.IsZero() {
		return nil
	}
	if err := r.checkUnused(ctx, s); err != nil {
		return err
	}
	if err := pair.Delete(ctx, r.Live, r.Client, operation, s.installations); err != nil {
		return err
	}
	if controllerutil.ContainsFinalizer(s.env, v1alpha1.DeployerManagementFinalizer) {
		if err := r.checkNoneLeft(ctx, s); err != nil {
			return err
		}
		if err := r.patch(ctx, s, protocol.MetadataChange{RemoveFinalizer: v1alpha1.DeployerManagementFinalizer}); err != nil {
			return err
		}
	}
	if slices.Contains(s.env.Finalizers, v1alpha1.AgentFinalizer) {
		return r.awaitAgentGone(ctx, s)
	}
	return protocol.ErrStop
}

// awaitAgentGone says what lets the Environment go now, and what its deployers have left on the host cluster where somebody has deleted them by force.
func (r *Reconciler) awaitAgentGone(ctx context.Context, s *scope) error {
	if conditions.GetReason(s.env, meta.ReadyCondition) == reasonAgentFinalizer {
		return protocol.Wait(operation, reasonAgentFinalizer, "%s", conditions.GetMessage(s.env, meta.ReadyCondition))
	}
	are, records := "all deployers are uninstalled", &corev1.ConfigMapList{}
	if err := r.Live.List(ctx, records, client.InNamespace(cmp.Or(s.home, s.env.Status.Namespace)), client.HasLabels{v1alpha1.LeftBehindLabel}); err != nil {
		return err
	}
	var names []string
	for i := range records.Items {
		if strings.HasSuffix(records.Items[i].Labels[v1alpha1.LeftBehindLabel], "-"+s.env.Name) {
			names = append(names, records.Items[i].Namespace+"/"+records.Items[i].Name)
		}
	}
	if len(names) > 0 {
		are = fmt.Sprintf("deployers were deleted by force and are left on the host cluster, as ConfigMaps say: %s", list(names))
	}
	return protocol.Wait(operation, reasonAgentFinalizer,
		"%s; annotate this Environment %s: \"true\", or, where the agent does not run any more, take the finalizer %s off it",
		are, v1alpha1.ReleaseAgentAnnotation, v1alpha1.AgentFinalizer)
}

// checkUnused holds the deletion while somebody needs the deployers to uninstall what they have deployed.
func (r *Reconciler) checkUnused(ctx context.Context, s *scope) error {
	if s.env.Annotations[v1alpha1.ForceDeleteAnnotation] == "true" {
		return nil
	}
	users, err := r.users(ctx, s)
	if err != nil || len(users) == 0 {
		return err
	}
	return protocol.Wait(operation, reasonInUse, "Installations that its deployers have to uninstall first: %d (%s); delete them, or annotate this Environment "+
		"%s: \"true\" to uninstall the deployers all the same", len(users), list(users), v1alpha1.ForceDeleteAnnotation)
}

// users returns the roots of the DeployItems that deployers of the Environment have taken, without those of the deployers themselves. A namespace in which
// the deployers may not work holds nothing, whatever its Targets say.
func (r *Reconciler) users(ctx context.Context, s *scope) ([]string, error) {
	targets, items := &v1alpha1.TargetList{}, &v1alpha1.DeployItemList{}
	if err := r.List(ctx, targets, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	leading := sets.New[client.ObjectKey]()
	for i := range targets.Items {
		if target := &targets.Items[i]; target.Annotations[v1alpha1.EnvironmentAnnotation] == s.env.Name && target.Namespace != s.env.Status.Namespace {
			leading.Insert(client.ObjectKeyFromObject(target))
		}
	}
	if leading.Len() == 0 {
		return nil, nil
	}
	if err := r.List(ctx, items, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	users := sets.New[string]()
	for i := range items.Items {
		item := &items.Items[i]
		if item.Status.Deployer == nil || item.Spec.Target == nil || !leading.Has(client.ObjectKey{Namespace: item.Namespace, Name: item.Spec.Target.Name}) {
			continue
		}
		if reaches, err := r.Homes.Reaches(ctx, r, s.env, item.Namespace); err != nil {
			return nil, err
		} else if reaches {
			users.Insert(r.rootOf(ctx, item))
		}
	}
	return sets.List(users), nil
}

// rootOf names the root of a DeployItem, or the item where it has none.
func (r *Reconciler) rootOf(ctx context.Context, item *v1alpha1.DeployItem) string {
	name := item.Labels[v1alpha1.ExecutionManagedByLabel]
	for parent := name; parent != ""; {
		name = parent
		installation := &v1alpha1.Installation{}
		if r.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: name}, installation) != nil {
			break
		}
		parent = installation.Labels[v1alpha1.EncompassedByLabel]
	}
	return item.Namespace + "/" + cmp.Or(name, item.Name)
}

// list names the first of some objects, and says how many more there are.
func list(names []string) string {
	text := strings.Join(names[:min(len(names), mostNamed)], ", ")
	if more := len(names) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// checkNoneLeft asks the API server whether an Installation is left that the cache does not show.
func (r *Reconciler) checkNoneLeft(ctx context.Context, s *scope) error {
	left, err := r.Homes.OfEnvironment(ctx, r.Live, s.env.Name)
	if err != nil {
		return err
	}
	return pair.Delete(ctx, r.Live, r.Client, operation, left)
}

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
		if err := protocol.DeleteLive(ctx, c.Live, c.Client, binding, nil); err != nil {
			return err
		}
	}
	err = protocol.PatchMetadata(ctx, c.Client, installation, protocol.MetadataChange{RemoveFinalizer: v1alpha1.DeployerManagementFinalizer})
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
		if err := protocol.DeleteLive(ctx, r.Live, r.Client, binding, nil); err != nil {
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
