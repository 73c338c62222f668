// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// leaseDuration is how long an agent counts as alive after its last renewal.
const leaseDuration = 45 * time.Second

// holder holds the Lease of an Environment for one agent. Of several agents for one Environment only the one that holds it works.
type holder struct {
	leases coordinationclient.LeaseInterface
	name   string
	// instance is what this agent writes as holder.
	instance, version string
	now               func() time.Time
	// tempo is how long each answer may take.
	tempo tempo

	// lease is what this agent wrote last; nil while it holds none.
	lease *coordinationv1.Lease
	// seen is the renewal of another agent, and seenAt when it was noticed: the clocks of the two may differ.
	seen   coordinationv1.LeaseSpec
	seenAt time.Time
}

// heldBy says that another agent holds the Lease.
type heldBy struct{ instance string }

// Error returns the message.
func (h *heldBy) Error() string {
	return fmt.Sprintf("another agent, %q, holds the Environment; stop one of the two, or give each its own name", h.instance)
}

// beat renews the Lease, or takes it where nobody holds it any more. The error is a *heldBy where another agent does.
func (h *holder) beat(ctx context.Context) error {
	if h.lease != nil {
		err := h.write(ctx, h.lease)
		if err == nil || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
		h.lease = nil
	}
	found, err := h.read(ctx)
	if apierrors.IsNotFound(err) {
		return h.create(ctx)
	}
	if err != nil {
		return err
	}
	if other := ptr.Deref(found.Spec.HolderIdentity, ""); other != "" && other != h.instance && !h.isOver(&found.Spec) {
		return &heldBy{other}
	}
	return h.write(ctx, found)
}

func (h *holder) read(ctx context.Context) (lease *coordinationv1.Lease, err error) {
	err = h.tempo.within(ctx, func(ctx context.Context) (err error) {
		lease, err = h.leases.Get(ctx, h.name, metav1.GetOptions{})
		return err
	})
	return lease, err
}

// isOver reports whether the agent that holds the Lease has not renewed it for as long as it said.
func (h *holder) isOver(spec *coordinationv1.LeaseSpec) bool {
	same := ptr.Deref(h.seen.HolderIdentity, "") == ptr.Deref(spec.HolderIdentity, "") && h.seen.RenewTime.Equal(spec.RenewTime)
	if !same {
		h.seen, h.seenAt = *spec, h.now()
		return false
	}
	length := time.Duration(cmp.Or(ptr.Deref(spec.LeaseDurationSeconds, 0), int32(leaseDuration.Seconds()))) * time.Second
	return h.now().Sub(h.seenAt) > length
}

func (h *holder) create(ctx context.Context) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: h.name}}
	h.fill(lease)
	return h.tempo.within(ctx, func(ctx context.Context) error {
		made, err := h.leases.Create(ctx, lease, metav1.CreateOptions{})
		if err == nil {
			h.lease = made
		}
		return err
	})
}

func (h *holder) write(ctx context.Context, lease *coordinationv1.Lease) error {
	lease = lease.DeepCopy()
	h.fill(lease)
	return h.tempo.within(ctx, func(ctx context.Context) error {
		written, err := h.leases.Update(ctx, lease, metav1.UpdateOptions{})
		if err == nil {
			h.lease = written
		}
		return err
	})
}

func (h *holder) fill(lease *coordinationv1.Lease) {
	now, seconds := metav1.NewMicroTime(h.now()), int32(leaseDuration.Seconds())
	if ptr.Deref(lease.Spec.HolderIdentity, "") != h.instance {
		transitions := ptr.Deref(lease.Spec.LeaseTransitions, 0) + 1
		lease.Spec.AcquireTime, lease.Spec.LeaseTransitions = &now, &transitions
	}
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds, lease.Spec.RenewTime = &h.instance, &seconds, &now
	metav1.SetMetaDataLabel(&lease.ObjectMeta, v1alpha1.DeployerEnvironmentLabel, strings.TrimPrefix(h.name, v1alpha1.AgentLeasePrefix))
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[v1alpha1.AgentVersionAnnotation] = h.version
}

// release lets the next agent take the Lease at once. The last renewal stays, so that the Environment does not look left in between.
func (h *holder) release(ctx context.Context) error {
	if h.lease == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.tempo.usual())
	defer cancel()
	lease, nobody := h.lease.DeepCopy(), ""
	lease.Spec.HolderIdentity = &nobody
	_, err := h.leases.Update(ctx, lease, metav1.UpdateOptions{})
	h.lease = nil
	return err
}
