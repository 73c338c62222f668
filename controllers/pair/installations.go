// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pair

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func sortByName(installations []*v1alpha1.Installation) {
	slices.SortFunc(installations, func(a, b *v1alpha1.Installation) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Namespace, b.Namespace))
	})
}

// State is how far an Installation is.
type State struct {
	// Ready says that the last job succeeded and that nothing newer is asked for.
	Ready bool
	// Stalled says that a person has to act.
	Stalled bool
	// Message says what is missing; empty when Ready.
	Message string
}

// StateOf judges an Installation, which may be nil.
func StateOf(installation *v1alpha1.Installation) State {
	switch {
	case installation == nil:
		return State{Message: "it is not made yet"}
	case !installation.DeletionTimestamp.IsZero():
		return State{Message: "it is being deleted: " + words(installation)}
	case conditions.IsReady(installation) && installation.Status.IsIdle() && installation.Status.ObservedGeneration == installation.Generation:
		return State{Ready: true}
	}
	return State{Stalled: conditions.IsStalled(installation), Message: words(installation)}
}

func words(installation *v1alpha1.Installation) string {
	return cmp.Or(conditions.GetMessage(installation, meta.ReadyCondition), "its job has not begun")
}

// Delete deletes Installations, those in deletion left out, and returns what is waited for; nil when all are gone.
func Delete(ctx context.Context, live client.Reader, c client.Client, operation string, installations []*v1alpha1.Installation) error {
	for _, installation := range installations {
		if !installation.DeletionTimestamp.IsZero() {
			continue
		}
		if err := kit.DeleteLive(ctx, live, c, installation.DeepCopy(), nil); err != nil {
			return err
		}
	}
	if len(installations) == 0 {
		return nil
	}
	first := installations[0]
	more := ""
	if n := len(installations) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return kit.Wait(operation, kit.ReasonDeleting, "Installation %s/%s%s has to be gone first; it says: %s",
		first.Namespace, first.Name, more, words(first))
}
