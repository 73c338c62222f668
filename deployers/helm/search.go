// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// search finds on the target what the record of the item has lost: releases and objects that carry its marks, UID included. An item with a
// record searches nothing.
func (j *job) search(ctx context.Context) error {
	_, err := j.find(ctx)
	return err
}

// searchOrExplain is search for a deletion, which does not end where nothing could be looked at.
func (j *job) searchOrExplain(ctx context.Context) error {
	refusal, err := j.find(ctx)
	if err == nil && refusal != nil {
		err = fmt.Errorf("cannot look for objects of an earlier job: %w", refusal)
	}
	return contract.CannotLook(j.item.DeployItem, err)
}

// find adds what the record has lost to what is known. If the credentials may list no objects at all it returns a refusal. That they may not list
// releases is an error, unless the item is known to have none.
func (j *job) find(ctx context.Context) (refusal, err error) {
	if !contract.HasLostRecord(j.item.DeployItem) {
		return nil, nil
	}
	var namespaces []string
	if j.config.Namespace != "" {
		namespaces = []string{j.config.Namespace}
	}
	found, err := j.engine.Labelled(ctx, j.item.Target, itemLabels(j.item.DeployItem), namespaces...)
	if err != nil && (j.config.IsHelmDeployment() || !apierrors.IsForbidden(err)) {
		return nil, helmProblem(err)
	}
	inventory := j.status.Inventory
	inventory.Releases = resources.WithReleases(inventory.Releases, found...)
	objects, refusal, err := resources.Search(ctx, j.session(), namespaces...)
	if err != nil {
		return nil, fmt.Errorf("cannot look for objects of an earlier job: %w", err)
	}
	j.known.Recorded = resources.Union(j.known.Recorded, objects)
	return refusal, nil
}
