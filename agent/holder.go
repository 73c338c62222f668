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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/lease"
)

// leaseDuration is how long an agent counts as alive after its last renewal.
const leaseDuration = 45 * time.Second

// holder holds the Lease of an Environment for one agent. Of several agents for one Environment only the one that holds it works.
type holder struct {
	lease.Keeper
	// instance is what this agent writes as holder.
	instance, version string
	now               func() time.Time
	// tempo is how long each answer may take.
	tempo tempo

	// seen is the renewal of another agent, and seenAt when it was noticed: the clocks of the two may differ.
	seen   coordinationv1.LeaseSpec
	seenAt time.Time
}

// newHolder returns the holder of the Lease of a name.
func newHolder(leases coordinationclient.LeaseInterface, name, instance, version string, now func() time.Time) *holder {
	h := &holder{instance: instance, version: version, now: now}
	h.Keeper = lease.Keeper{Leases: leases, Name: name, Fill: h.fill, Admit: h.admit, Within: h.tempo.within}
	return h
}

// heldBy says that another agent holds the Lease.
type heldBy struct{ instance string }

// Error returns the message.
func (h *heldBy) Error() string {
	return fmt.Sprintf("another agent, %q, holds the Environment; stop one of the two, or give each its own name", h.instance)
}

// admit refuses with a *heldBy to take the Lease that another agent still holds.
func (h *holder) admit(found *coordinationv1.Lease) error {
	if other := ptr.Deref(found.Spec.HolderIdentity, ""); other != "" && other != h.instance && !h.isOver(&found.Spec) {
		return &heldBy{other}
	}
	return nil
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

func (h *holder) fill(of *coordinationv1.Lease) {
	now, seconds := metav1.NewMicroTime(h.now()), int32(leaseDuration.Seconds())
	if ptr.Deref(of.Spec.HolderIdentity, "") != h.instance {
		transitions := ptr.Deref(of.Spec.LeaseTransitions, 0) + 1
		of.Spec.AcquireTime, of.Spec.LeaseTransitions = &now, &transitions
	}
	of.Spec.HolderIdentity, of.Spec.LeaseDurationSeconds, of.Spec.RenewTime = &h.instance, &seconds, &now
	metav1.SetMetaDataLabel(&of.ObjectMeta, v1alpha1.DeployerEnvironmentLabel, strings.TrimPrefix(h.Name, v1alpha1.AgentLeasePrefix))
	if of.Annotations == nil {
		of.Annotations = map[string]string{}
	}
	of.Annotations[v1alpha1.AgentVersionAnnotation] = h.version
}

// release lets the next agent take the Lease at once. The last renewal stays, so that the Environment does not look left in between.
func (h *holder) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, h.tempo.usual())
	defer cancel()
	return h.Release(ctx)
}
