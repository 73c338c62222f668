// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// state is what a run of the item saved.
type state struct {
	// sequence grows by one with every state of the item; 0 is none.
	sequence int64
	// secrets hold its pieces in order.
	secrets []string
}

// settle returns the newest state that is complete, and deletes all others. It must not be called while a Pod of the item may write one.
func (h host) settle(ctx context.Context, have stored) (state, error) {
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
			if err := h.remove(ctx, piece); err != nil {
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

// stored lists the Secrets of the item, and returns how many bytes of states and content the other items of its namespace have in theirs. All Secrets
// of the host cluster share one database: who could fill it would stop everybody there.
func (r *run) stored(ctx context.Context) (stored, int64, error) {
	o := r.options
	selector := selectorOf(o.Identity)
	selector[sidecar.ItemNamespaceLabel] = labelValue(r.names.item.Namespace)
	secrets, err := list(ctx, o, corev1.SchemeGroupVersion.WithKind("Secret"), selector)
	if err != nil {
		return nil, 0, err
	}
	own, others := stored{}, int64(0)
	for i := range secrets {
		secret := &secrets[i]
		if r.names.owns(secret) {
			own[secret.Name] = secret
			continue
		}
		of, marked := itemOf(secret)
		if marked && of.Namespace == r.names.item.Namespace && namesOf(of, o.Identity).owns(secret) {
			others += sizeOf(secret)
		}
	}
	return own, others, nil
}

// sizeOf returns how many bytes a Secret holds that stays when its job is over. One that says nothing is of a release that did not count; its next
// state says how large it is.
func sizeOf(secret *metav1.PartialObjectMetadata) int64 {
	if !slices.Contains([]string{sidecar.TypeState, sidecar.TypeContent}, secret.Labels[sidecar.Type]) {
		return 0
	}
	says, found := secret.Annotations[sidecar.Size]
	if !found {
		return 0
	}
	size, err := strconv.ParseInt(says, 10, 64)
	if err != nil || size < 0 || size > sidecar.PieceBytes {
		return sidecar.PieceBytes
	}
	return size
}

// share returns how many Secrets the next state of the item may take: what is left for its namespace is shared among the items that run, and none
// has to give anything up. Content is what the run stores beside it, others what other items have. A deletion is never refused.
func (r *run) share(content, others int64, last state) (int64, error) {
	o := r.options
	left := o.MaxStored - others - content
	if left <= 0 && r.operation != containerv1alpha1.OperationDelete {
		return 0, protocol.Stall(operationReconcile, "StorageExceeded",
			"states and content of the DeployItems of namespace %q would have %d bytes, and may have %d (--max-stored-per-namespace); store less, or delete DeployItems",
			r.names.item.Namespace, o.MaxStored-left, o.MaxStored)
	}
	running := int64(max(r.deployer.cleanup.places.count(r.names.item.Namespace), 1))
	pieces := (left/running + sidecar.PieceBytes - 1) / sidecar.PieceBytes
	return min(max(pieces, int64(len(last.secrets)), 1), o.stateLimit()), nil
}
