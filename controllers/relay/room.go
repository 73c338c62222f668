// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"context"
	"errors"
	"time"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

const (
	// answersRoom is how many bytes all answers may have in memory together, from the search for their content until their readers have them: half of what
	// the process has. Those for one fence may have half of what the others leave.
	answersRoom = 512 << 20
	// answersStep is the unit of that, and what the smallest answer counts for.
	answersStep = 1 << 20
	// unknownContent is what an answer counts for until its content is found: as much as the largest artifact that is read whole, which is more than a
	// blueprint and what it is packed to.
	unknownContent = 64 << 20
	// copies is how often the files of a chart are in memory: as they are read, and as they are sent.
	copies = 2
	// patience is for how long an answer waits for others. It has a turn, which others wait for.
	patience = 10 * time.Second
)

// isBusy says that others have to end first, or that there was no time to wait for them.
func isBusy(err error) bool {
	return errors.Is(err, errBusy) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// await waits until an answer may have so many bytes in memory, and holds nothing meanwhile. The error is errBusy.
func await(ctx context.Context, claim *memory.Claim, bytes int64) error {
	claim.GiveBack(0)
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !claim.Wait(waiting, bytes) {
		return errBusy
	}
	return nil
}

type claimKey struct{}

// withClaim returns a context for a Finder.
func withClaim(ctx context.Context, claim *memory.Claim) context.Context {
	return context.WithValue(ctx, claimKey{}, claim)
}

// roomForFiles waits until the answer that a context is for may have the files of a chart in memory.
func roomForFiles(ctx context.Context, bytes int64) error {
	claim, isAnswer := ctx.Value(claimKey{}).(*memory.Claim)
	if !isAnswer {
		return nil
	}
	return await(ctx, claim, max(copies*bytes, answersStep))
}
