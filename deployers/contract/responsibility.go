// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/liveness"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// selection says which items are those of the deployer.
type selection struct {
	client   client.Client
	live     client.Reader
	deployer string
	options  *Options
	jobs     *jobs.Jobs
}

// checkResponsible leaves items to other deployers of the same type whose targets this one does not select.
func (r *selection) checkResponsible(ctx context.Context, s *scope) error {
	responsible, err := r.selects(ctx, s.item)
	if err != nil || responsible {
		return err
	}
	r.jobs.Forget(s.key())
	return kit.ErrStop
}

// selects reports whether the target selectors select the Target of an item.
func (r *selection) selects(ctx context.Context, item *v1alpha1.DeployItem) (bool, error) {
	name := items.TargetName(item)
	if name == "" {
		return !r.options.TargetsOnly, nil
	}
	if len(r.options.TargetSelectors) == 0 {
		return true, nil
	}
	found, err := target.Get(ctx, r.client, r.live, item.Namespace, name)
	if isTargetNotFound(err) {
		return r.handledBefore(item), nil
	}
	return err == nil && liveness.Selected(r.options.TargetSelectors, found), err
}

// handledBefore reports whether this deployer did the last job of the item: then it also has to report that the target is gone.
func (r *selection) handledBefore(item *v1alpha1.DeployItem) bool {
	last := item.Status.Deployer
	return last != nil && last.Name == r.deployer && last.Identity == r.options.Identity
}
