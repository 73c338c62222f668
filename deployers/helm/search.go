// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// search finds on the target what the record of the item has lost: releases and objects that carry its marks, UID included. An item with a
// record searches nothing.
func (j *job) search(ctx context.Context) (resources.Progress, error) {
	if !contract.HasLostRecord(j.item.DeployItem) {
		return resources.Progress{}, nil
	}
	var namespaces []string
	if j.config.Namespace != "" {
		namespaces = []string{j.config.Namespace}
	}
	found, err := j.engine.Labelled(ctx, j.item.Target, itemLabels(j.item.DeployItem), namespaces...)
	if err != nil {
		return resources.Progress{}, helmProblem(err)
	}
	inventory := j.status.Inventory
	for _, release := range found {
		if !slices.Contains(inventory.Releases, release) {
			inventory.Releases = append(slices.Clone(inventory.Releases), release)
		}
	}
	objects, err := j.session().Sweep(ctx, namespaces...)
	if err != nil {
		return resources.Progress{}, fmt.Errorf("cannot look for objects of an earlier job: %w", err)
	}
	j.known.Recorded = resources.Union(j.known.Recorded, objects)
	return resources.Progress{}, nil
}

// cannotLook says of an item that has lost its record what to do when the target cannot be searched.
func (j *job) cannotLook(err error) error {
	if err != nil && contract.HasLostRecord(j.item.DeployItem) {
		return contract.CannotLook(err)
	}
	return err
}
