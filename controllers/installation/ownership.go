// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// checkOwner refuses an Installation that names an owner which does not list it. Whoever may write Installations may write any owner into
// their metadata, but nobody except this controller writes their status. A deletion needs no owner, so it is not checked there.
func (r *Reconciler) checkOwner(ctx context.Context, s *reconciliation) error {
	_, err := r.related.ListingParent(ctx, s.Inst, relations.IsListed)
	if err != nil && s.refusedBefore(err) {
		return kit.ErrStop
	}
	return err
}

// refusedBefore reports whether the status says so already, so that nothing is written again.
func (s *reconciliation) refusedBefore(err error) bool {
	var failure *kit.Failure
	last := s.Inst.Status.LastError
	return errors.As(err, &failure) && s.Inst.Status.IsIdle() && last != nil && last.Reason == failure.Reason && last.Message == failure.Error()
}
