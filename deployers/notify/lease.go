// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// Keeper renews one Lease. One goroutine at a time uses it.
type LeaseKeeper struct {
	// Leases are those of the namespace.
	Leases coordinationclient.LeaseInterface
	// Name of the Lease.
	Name string
	// Fill writes into the Lease what its holder says, also that it is the holder.
	Fill func(lease *coordinationv1.Lease)
	// Admit returns an error where the Lease must not be taken from whom it names; nil takes it from everybody.
	Admit func(lease *coordinationv1.Lease) error
	// Within bounds a request in time, and sends it; nil only sends it.
	Within func(ctx context.Context, request func(context.Context) error) error

	// written is as the Lease was written last; nil before that.
	written *coordinationv1.Lease
}

// Renew writes the Lease as it was written last or, where somebody else has changed or deleted it since, as it is now. The error may be that of Admit.
func (k *LeaseKeeper) Renew(ctx context.Context) error {
	if k.written != nil {
		err := k.write(ctx, k.written)
		if err == nil || !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
		k.written = nil
	}
	var found *coordinationv1.Lease
	err := k.send(ctx, func(ctx context.Context) (err error) {
		found, err = k.Leases.Get(ctx, k.Name, metav1.GetOptions{})
		return err
	})
	switch {
	case apierrors.IsNotFound(err):
		found = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: k.Name}}
	case err != nil:
		return err
	case k.Admit != nil:
		if err := k.Admit(found); err != nil {
			return err
		}
	}
	return k.write(ctx, found)
}

// write creates a Lease without version, and updates one that has been read.
func (k *LeaseKeeper) write(ctx context.Context, lease *coordinationv1.Lease) error {
	lease = lease.DeepCopy()
	k.Fill(lease)
	return k.send(ctx, func(ctx context.Context) (err error) {
		if lease.ResourceVersion == "" {
			lease, err = k.Leases.Create(ctx, lease, metav1.CreateOptions{})
		} else {
			lease, err = k.Leases.Update(ctx, lease, metav1.UpdateOptions{})
		}
		if err == nil {
			k.written = lease
		}
		return err
	})
}

func (k *LeaseKeeper) send(ctx context.Context, request func(context.Context) error) error {
	if k.Within == nil {
		return request(ctx)
	}
	return k.Within(ctx, request)
}

// Release lets the next holder take the Lease at once, where this process has written it last. All but the holder stays.
func (k *LeaseKeeper) Release(ctx context.Context) error {
	if k.written == nil {
		return nil
	}
	lease, nobody := k.written.DeepCopy(), ""
	lease.Spec.HolderIdentity = &nobody
	_, err := k.Leases.Update(ctx, lease, metav1.UpdateOptions{})
	k.written = nil
	return err
}
