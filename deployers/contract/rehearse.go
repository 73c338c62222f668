// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Rehearser is a Deployer that can tell what the next job of an item would change on its target.
type Rehearser interface {
	Deployer
	// Rehearse returns what the next job of an item would change there, beside the marks by which objects name their item. It changes nothing. Item has
	// neither memory nor deadline.
	Rehearse(ctx context.Context, item *Item) ([]Change, error)
}

// Change is what a job would do with one object.
type Change struct {
	Resource managedresource.ResourceReference
	// Verb is Create, Update or Delete.
	Verb Verb
	// Fields are those that an update changes, as JSON pointers.
	Fields []string
	// Refused is why the API server of the target would not take it; nil where it would, or was not asked.
	Refused error
}

// Verb is what happens to an object.
type Verb string

// Verbs of changes.
const (
	Create Verb = "create"
	Update Verb = "update"
	Delete Verb = "delete"
)

// Rehearse asks a deployer what the next job of an item would change on its opened target, as the contract would ask it to carry the job out.
func Rehearse(ctx context.Context, c client.Client, deployer Rehearser, cluster *target.Cluster, item *v1alpha1.DeployItem) (changes []Change, err error) {
	r := newReconciler(c, c, deployer, Options{})
	err = fault.Survived(ctx, func() error {
		if err := r.refuseKeys(item); err != nil {
			return err
		}
		context, err := r.readContext(ctx, item)
		if err != nil {
			return err
		}
		changes, err = deployer.Rehearse(ctx, &Item{
			DeployItem: item, Target: cluster, Context: context, DeployItems: c, Siblings: c, Checkpoint: func(string) error { return ctx.Err() },
		})
		return err
	})
	return changes, err
}

// ChangesOf returns what a job would do about drift.
func ChangesOf(found []Drift) ([]Change, error) {
	var changes []Change
	var problems []error
	for _, drift := range found {
		switch {
		case drift.Err != nil:
			problems = append(problems, drift.Err)
		case drift.Missing:
			changes = append(changes, Change{Resource: drift.Resource, Verb: Create, Refused: drift.Refused})
		case len(drift.Fields) > 0:
			changes = append(changes, Change{Resource: drift.Resource, Verb: Update, Fields: drift.Fields, Refused: drift.Refused})
		}
	}
	return changes, errors.Join(problems...)
}
