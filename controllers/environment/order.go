// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// findDeadlocks names the deployers that wait for each other, or for one that nobody registered. What a deployer needs is known once its
// blueprint has been rendered: the types of its deploy items. A deployer that is installed needs nothing.
func (r *Reconciler) findDeadlocks(ctx context.Context, s *scope) error {
	var deployers []pair.Deployer
	for _, registration := range s.registrations {
		deployer := pair.Deployer{Name: registration.Name, Serves: pair.Serves(registration)}
		if !s.states[registration.Name].Ready {
			needs, err := r.needs(ctx, s, registration.Name)
			if err != nil {
				return err
			}
			deployer.Needs = needs
		}
		deployers = append(deployers, deployer)
	}
	for name, reason := range pair.Deadlocks(deployers, v1alpha1.HelmDeployItemType) {
		s.states[name] = pair.State{Stalled: true, Message: reason}
		s.prevented[name] = reason
		s.problems = append(s.problems, kit.Stall(operation, pair.ReasonDeadlock, "deployer %s can never be installed: %s", name, reason))
	}
	return nil
}

// needs returns the types of the deploy items of a deployer that no deployer has ever taken.
func (r *Reconciler) needs(ctx context.Context, s *scope, registration string) ([]string, error) {
	at := slices.IndexFunc(s.installations, func(i *v1alpha1.Installation) bool { return pair.Of(i).Registration == registration })
	if at < 0 || s.installations[at].Status.ExecutionReference == nil {
		return nil, nil
	}
	items := &v1alpha1.DeployItemList{}
	ofExecution := client.MatchingLabels{v1alpha1.ExecutionManagedByLabel: s.installations[at].Status.ExecutionReference.Name}
	if err := r.List(ctx, items, client.InNamespace(s.installations[at].Namespace), ofExecution); err != nil {
		return nil, err
	}
	var types []string
	for i := range items.Items {
		if item := &items.Items[i]; item.Status.Deployer == nil {
			types = append(types, item.Spec.Type)
		}
	}
	slices.Sort(types)
	return slices.Compact(types), nil
}
