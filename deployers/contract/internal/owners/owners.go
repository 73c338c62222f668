// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package owners knows which owner holds an item back from a job of its own, and brings the item back when that owner changes.
package owners

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/watches"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// maxAncestors bounds the walk over the owners of an item.
const maxAncestors = 64

// Obstacle is an owner that keeps an item from a job of its own; the zero value is one that is gone.
type Obstacle struct{ Kind, Name string }

// Find returns the owner that does not let an item have a job of its own, nil when all do: the Execution while it runs one, which has its own
// place for the item, and whatever above is suspended or on its way out. They are read live, as the deployer keeps no cache of them.
func Find(ctx context.Context, live client.Reader, item *v1alpha1.DeployItem) (*Obstacle, error) {
	owner := kit.ControllerOf(item, "Execution")
	if owner == nil {
		return nil, nil
	}
	execution := &v1alpha1.Execution{}
	if found, err := read(ctx, live, item.Namespace, owner, execution); err != nil || !found {
		return &Obstacle{}, err
	}
	if !execution.Status.IsIdle() {
		return &Obstacle{owner.Kind, owner.Name}, nil
	}
	var child client.Object = execution
	for seen := map[types.UID]bool{}; len(seen) < maxAncestors; {
		owner := kit.ControllerOf(child, "Installation")
		if owner == nil || seen[owner.UID] {
			return nil, nil
		}
		seen[owner.UID] = true
		inst := &v1alpha1.Installation{}
		if found, err := read(ctx, live, item.Namespace, owner, inst); err != nil || !found {
			return &Obstacle{}, err
		}
		if inst.Spec.Suspend {
			return &Obstacle{owner.Kind, owner.Name}, nil
		}
		child = inst
	}
	return nil, nil
}

// IsFree reports whether the owners of an item let it have a job of its own.
func IsFree(ctx context.Context, live client.Reader, item *v1alpha1.DeployItem) (bool, error) {
	by, err := Find(ctx, live, item)
	return by == nil, err
}

// read reads an owner and reports whether it is there to stay.
func read(ctx context.Context, live client.Reader, namespace string, owner *metav1.OwnerReference, into client.Object) (bool, error) {
	err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: owner.Name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the owner %s %s of the item: %w", owner.Kind, owner.Name, err)
	}
	return into.GetUID() == owner.UID && into.GetDeletionTimestamp().IsZero(), nil
}

// Held are the items that wait for an obstacle. It is safe for concurrent use.
type Held struct {
	// Watches look at obstacles on the Landscaper cluster.
	Watches    *watches.Watches
	Landscaper *target.Cluster
	// Queue brings an item to a worker.
	Queue func(types.NamespacedName)

	mu    sync.Mutex
	waits map[types.NamespacedName]*wait
}

// wait is that of one item.
type wait struct {
	key   types.NamespacedName
	queue func(types.NamespacedName)
}

// Wake brings the item to a worker.
func (w *wait) Wake(...watches.Key) { w.queue(w.key) }

// Await brings an item back once an obstacle that was seen at a time changes.
func (h *Held) Await(item *v1alpha1.DeployItem, by *Obstacle, since time.Time) {
	h.Watches.Follow(h.of(client.ObjectKeyFromObject(item)), []watches.Object{{
		Cluster: h.Landscaper, APIVersion: v1alpha1.GroupVersion.String(), Kind: by.Kind, Namespace: item.Namespace, Name: by.Name,
	}}, since)
}

func (h *Held) of(key types.NamespacedName) *wait {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.waits[key]
	if known == nil {
		known = &wait{key: key, queue: h.Queue}
		if h.waits == nil {
			h.waits = map[types.NamespacedName]*wait{}
		}
		h.waits[key] = known
	}
	return known
}

// Release ends the wait of an item.
func (h *Held) Release(key types.NamespacedName) {
	h.mu.Lock()
	known := h.waits[key]
	delete(h.waits, key)
	h.mu.Unlock()
	if known != nil {
		h.Watches.Release(known)
	}
}
