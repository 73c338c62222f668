// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package writes changes items on the landscaper cluster: as long as nobody else has changed them, or as long as they still run the job that is
// written about. It does not know what is written.
package writes

import (
	"context"
	"errors"
	"time"

	runtimectrl "github.com/fluxcd/pkg/runtime/controller"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// MaxConflicts is how often a write is repeated because only metadata changed meanwhile.
const MaxConflicts = 10

// ErrLost says that the job was ended or replaced by somebody else, so that its result is worth nothing.
var ErrLost = errors.New("the job is over")

// Writer writes items.
type Writer struct {
	Client client.Client
	// Live reads without cache.
	Live    client.Reader
	Metrics runtimectrl.Metrics
	// Written knows what the cache has not seen yet.
	Written kit.Consistency
}

// Status writes the status if nobody changed the item since it was read, and returns a conflict otherwise.
func (w *Writer) Status(ctx context.Context, item *v1alpha1.DeployItem) error {
	return kit.WriteItemStatus(ctx, w.Client, item, time.Now(), &w.Written)
}

// Metadata changes the metadata of an item as it was read.
func (w *Writer) Metadata(ctx context.Context, item *v1alpha1.DeployItem, change kit.MetadataChange) error {
	before := item.ResourceVersion
	if err := kit.PatchMetadata(ctx, w.Client, item, change); err != nil {
		return err
	}
	if item.ResourceVersion != before {
		w.Written.Wrote(item)
	}
	return nil
}

// Release removes the finalizer.
func (w *Writer) Release(ctx context.Context, item *v1alpha1.DeployItem) error {
	if err := w.Metadata(ctx, item, kit.MetadataChange{RemoveFinalizer: v1alpha1.Finalizer}); err != nil {
		return err
	}
	w.Metrics.RecordDuration(ctx, item, time.Now()) // for an item that goes it removes what was recorded
	return nil
}

// Fenced repeats a write of the job on conflicts with a live copy of the item, which takes its place, as long as the item still runs this job. Else it
// returns ErrLost: a result never overwrites an interrupt or a newer job.
func (w *Writer) Fenced(ctx context.Context, item **v1alpha1.DeployItem, job *jobs.Job, write func(*v1alpha1.DeployItem) error) error {
	for range MaxConflicts {
		err := write(*item)
		if !apierrors.IsConflict(err) {
			return gone(err)
		}
		current := &v1alpha1.DeployItem{}
		if err := w.Live.Get(ctx, client.ObjectKeyFromObject(*item), current); err != nil {
			return gone(err)
		}
		if job.IsOverIn(current) {
			return ErrLost
		}
		*item = current
	}
	return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("deployitems").GroupResource(), (*item).Name, errors.New("the item keeps changing"))
}

func gone(err error) error {
	if apierrors.IsNotFound(err) {
		return ErrLost
	}
	return err
}
