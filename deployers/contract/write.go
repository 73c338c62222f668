// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// maxConflicts is how often a write is repeated because only metadata changed meanwhile.
const maxConflicts = 10

// errLost says that the job was ended or replaced by somebody else, so that its result is worth nothing.
var errLost = errors.New("the job is over")

// updateStatus writes the status if nobody changed the item since it was read, and a conflict otherwise.
func (r *reconciler) updateStatus(ctx context.Context, item *v1alpha1.DeployItem) error {
	return kit.WriteItemStatus(ctx, r.client, item, time.Now(), &r.written)
}

func (r *reconciler) patchMetadata(ctx context.Context, item *v1alpha1.DeployItem, change kit.MetadataChange) error {
	before := item.ResourceVersion
	if err := kit.PatchMetadata(ctx, r.client, item, change); err != nil {
		return err
	}
	if item.ResourceVersion != before {
		r.written.Wrote(item)
	}
	return nil
}

// release removes the finalizer.
func (r *reconciler) release(ctx context.Context, item *v1alpha1.DeployItem) error {
	if err := r.patchMetadata(ctx, item, kit.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer}); err != nil {
		return err
	}
	r.options.Metrics.RecordDuration(ctx, item, time.Now()) // for an item that goes it removes what was recorded
	return nil
}

// fenced repeats a write of the job on conflicts with a live copy of the item, as long as the item still runs this job. Else it returns
// errLost: a result never overwrites an interrupt or a newer job.
func (r *reconciler) fenced(ctx context.Context, s *scope, write func(*v1alpha1.DeployItem) error) error {
	for range maxConflicts {
		err := write(s.item)
		if !apierrors.IsConflict(err) {
			return gone(err)
		}
		current := &v1alpha1.DeployItem{}
		if err := r.live.Get(ctx, client.ObjectKeyFromObject(s.item), current); err != nil {
			return gone(err)
		}
		if s.job.isOverIn(current) {
			return errLost
		}
		s.item = current
	}
	return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("deployitems").GroupResource(), s.item.Name, errors.New("the item keeps changing"))
}

func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return errLost
	}
	return err
}
