// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/presence"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// SiteKeeper is a Planner whose status says on which clusters there is what. Only with one a deletion gives up by spec.onDelete.targetGone.
type SiteKeeper interface {
	Planner
	// Sites returns what jobs of an item have put, or set out to put, on which cluster; false where the status does not say where all of it is. It
	// only looks at the item.
	Sites(item *v1alpha1.DeployItem) ([]managedresource.Site, bool)
}

const (
	// goneLook is how often a deletion looks whether a cluster that was gone is back.
	goneLook = time.Minute
	// goneGrace is how much longer than targetGone.after a deletion may take.
	goneGrace = 5 * time.Minute
)

// reasonTargetGone is the reason of the event about what a deletion has left behind.
const reasonTargetGone = "TargetGone"

// goneDeadline is until when a deletion waits for clusters that are gone; zero where it does not.
func (s *scope) goneDeadline() time.Time {
	after, since := items.GoneAfter(s.item), s.item.Status.TargetGoneSince
	if after <= 0 || since == nil {
		return time.Time{}
	}
	return since.Add(after + goneGrace)
}

// leaveGone lets an item go whose clusters have been gone for long enough, and lets its deletion wait for that. Since when they have been is
// recorded once, and forgotten once when one is back.
func (r *reporter) leaveGone(ctx context.Context, s *scope) error {
	after := items.GoneAfter(s.item)
	if after <= 0 || r.keeper == nil || s.err == nil && s.outcome.Done {
		return nil
	}
	sites, isKnown := r.keeper.Sites(s.item)
	if !isKnown || len(sites) == 0 {
		return nil
	}
	state, now := r.presence.Of(ctx, s.item, sites), time.Now()
	switch since := s.item.Status.TargetGoneSince; {
	case state == presence.Gone && (since == nil || kit.IsAhead(since.Time, now)):
		if err := r.noteGone(ctx, s, &metav1.Time{Time: now}); err != nil {
			return err
		}
	case state == presence.Gone && !now.Before(since.Add(after)):
		r.options.Recorder.Event(s.item, corev1.EventTypeWarning, reasonTargetGone, kit.Message(presence.LeftBehind(sites, since.Time)))
		return stopAfter(r.letGo(ctx, s))
	case state == presence.Seen && since != nil:
		s.job.Began = now // the uninstall has all its time again
		return r.noteGone(ctx, s, nil)
	}
	if s.item.Status.TargetGoneSince == nil || s.isLate(now) {
		return nil
	}
	return stopAfter(r.awaitGone(ctx, s, s.item.Status.TargetGoneSince.Add(after)))
}

func (r *reporter) noteGone(ctx context.Context, s *scope, since *metav1.Time) error {
	return r.writes.Fenced(ctx, &s.item, s.job, func(item *v1alpha1.DeployItem) error {
		item.Status.TargetGoneSince = since
		return r.writes.Status(ctx, item)
	})
}

// awaitGone leaves the job until the next look, at the latest until the item may be given up.
func (r *reporter) awaitGone(ctx context.Context, s *scope, due time.Time) error {
	now := time.Now()
	s.job.RetryAt = now.Add(max(min(due.Sub(now), goneLook), time.Second))
	s.job.Attempts, s.job.Waits, s.job.Failure = 0, reasonTargetGone, nil
	s.job.Cause = fmt.Sprintf("The cluster of Target %q has been gone since %s; at %s the item is deleted without uninstall, as spec.onDelete.targetGone says",
		items.TargetName(s.item), s.item.Status.TargetGoneSince.UTC().Format(time.RFC3339), due.UTC().Format(time.RFC3339))
	return r.suspend(ctx, s)
}
