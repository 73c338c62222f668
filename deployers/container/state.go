// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
)

// state is what a run of the item saved.
type state struct {
	// sequence grows by one with every state of the item; 0 is none.
	sequence int64
	// secrets hold its pieces in order.
	secrets []string
}

// settle returns the newest state that is complete, and deletes all others. It must not be called while a Pod of the item may write one.
func settle(ctx context.Context, host client.Client, have stored) (state, error) {
	sets := map[string][]*metav1.PartialObjectMetadata{}
	for _, piece := range have.ofType(sidecar.TypeState) {
		run := piece.Annotations[sidecar.UUID]
		sets[run] = append(sets[run], piece)
	}
	var newest state
	var kept string
	for run, pieces := range sets {
		if candidate := complete(pieces); candidate.sequence > newest.sequence {
			newest, kept = candidate, run
		}
	}
	for run, pieces := range sets {
		if run == kept && newest.sequence > 0 {
			continue
		}
		for _, piece := range pieces {
			if err := remove(ctx, host, piece); err != nil {
				return state{}, err
			}
		}
	}
	return newest, nil
}

// complete returns the state that pieces of one run make up; one without sequence when they do not.
func complete(pieces []*metav1.PartialObjectMetadata) state {
	found := state{secrets: make([]string, len(pieces))}
	for _, piece := range pieces {
		num, err := strconv.Atoi(piece.Annotations[sidecar.Num])
		sequence, sequenceErr := strconv.ParseInt(piece.Annotations[sidecar.Sequence], 10, 64)
		switch {
		case err != nil, sequenceErr != nil, num < 0, num >= len(pieces), found.secrets[num] != "", sequence < 1,
			found.sequence != 0 && found.sequence != sequence, piece.Annotations[sidecar.Count] != strconv.Itoa(len(pieces)):
			return state{}
		}
		found.secrets[num], found.sequence = piece.Name, sequence
	}
	return found
}
