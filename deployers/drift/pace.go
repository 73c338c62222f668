// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

const (
	// minPause and maxPause bound the pause before a watch is opened again.
	minPause = time.Second
	maxPause = 5 * time.Minute
	// shortOutage is how long a target may be away until somebody is told.
	shortOutage = time.Minute
)

// Pause returns the pause before an attempt to open a watch: the shortest, doubled up to the longest, and up to a fifth more so that
// the watches on a target that was away do not all come at once.
func Pause(attempt int) time.Duration {
	pause := kit.Doubled(minPause, maxPause, attempt)
	return pause + rand.N(pause/5) // #nosec G404 -- only spreads the load
}

// Trouble is why the objects of an owner cannot be watched.
type Trouble string

// Troubles.
const (
	// NoTrouble says that all are watched, or soon will be.
	NoTrouble Trouble = ""
	// TroubleForbidden says that the credentials of the target do not allow to list and watch a kind.
	TroubleForbidden Trouble = "may not be listed and watched with the credentials of the Target"
	// TroubleNoKind says that the target does not have a kind any more.
	TroubleNoKind Trouble = "are of a kind that the target does not have"
	// TroubleTooMany says that there are too many watches already.
	TroubleTooMany Trouble = "would need more watches than one namespace, or the process, may have"
	// TroubleUnreachable says that the target has not answered for a while.
	TroubleUnreachable Trouble = "cannot be watched, because the target does not answer or ends each watch at once"
)

// troubleOf names the trouble behind an error of a watch that has failed for some time.
func troubleOf(err error, since time.Duration) Trouble {
	switch {
	case err == nil:
		return NoTrouble
	case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
		return TroubleForbidden
	case meta.IsNoMatchError(err), apierrors.IsNotFound(err):
		return TroubleNoKind
	case since >= shortOutage:
		return TroubleUnreachable
	}
	return NoTrouble
}
