// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// obstacle is an owner that keeps an item from a job of its own; the zero value is one that is gone.
type obstacle struct{ Kind, Name string }

// findObstacle returns the owner that does not let an item have a job of its own, nil when all do: the Execution while it runs one, which has its own
// place for the item, and whatever above is suspended or on its way out. They are read live, as the deployer keeps no cache of them.
func (r *reconciler) findObstacle(ctx context.Context, item *v1alpha1.DeployItem) (*obstacle, error) {
	owner := protocol.ControllerOf(item, "Execution")
	if owner == nil {
		return nil, nil
	}
	execution := &v1alpha1.Execution{}
	if found, err := r.readOwner(ctx, item.Namespace, owner, execution); err != nil || !found {
		return &obstacle{}, err
	}
	if !execution.Status.IsIdle() {
		return &obstacle{owner.Kind, owner.Name}, nil
	}
	var child client.Object = execution
	for seen := map[types.UID]bool{}; ; {
		owner := protocol.ControllerOf(child, "Installation")
		if owner == nil || seen[owner.UID] {
			return nil, nil
		}
		seen[owner.UID] = true
		inst := &v1alpha1.Installation{}
		if found, err := r.readOwner(ctx, item.Namespace, owner, inst); err != nil || !found {
			return &obstacle{}, err
		}
		if inst.Spec.Suspend {
			return &obstacle{owner.Kind, owner.Name}, nil
		}
		child = inst
	}
}

// readOwner reads an owner and reports whether it is there to stay.
func (r *reconciler) readOwner(ctx context.Context, namespace string, owner *metav1.OwnerReference, into client.Object) (bool, error) {
	err := r.live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: owner.Name}, into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the owner %s %s of the item: %w", owner.Kind, owner.Name, err)
	}
	return into.GetUID() == owner.UID && into.GetDeletionTimestamp().IsZero(), nil
}

// waiters watch what items without a job wait for: an owner that holds one back from a job of its own, or what held an uninstall whose time was over, as a
// finalizer of others does. They are safe for concurrent use.
type waiters struct {
	watches *watches
	// queue brings an item to a worker.
	queue func(types.NamespacedName)

	mu sync.Mutex
	of map[types.NamespacedName]*waiter
}

// waiter is that of one item.
type waiter struct {
	all *waiters
	key types.NamespacedName
	// uid of the item, job that was its last.
	uid     types.UID
	job     string
	watched []Watched
	woken   atomic.Bool
}

// Wake brings the item to a worker.
func (w *waiter) Wake(...watchKey) {
	w.woken.Store(true)
	w.all.queue(w.key)
}

// await begins to watch objects for an item, in place of others, as they were at a time.
func (ws *waiters) await(item *v1alpha1.DeployItem, objects []Watched, since time.Time) *waiter {
	w := &waiter{all: ws, key: client.ObjectKeyFromObject(item), uid: item.UID, job: item.Status.JobID}
	for _, one := range objects {
		if one.Name != "" {
			w.watched = append(w.watched, one)
		}
	}
	ws.mu.Lock()
	former := ws.of[w.key]
	if ws.of == nil {
		ws.of = map[types.NamespacedName]*waiter{}
	}
	ws.of[w.key] = w
	ws.mu.Unlock()
	ws.watches.Follow(w, w.watched, since)
	if former != nil {
		ws.watches.Release(former)
	}
	return w
}

// end ends the watch for an item.
func (ws *waiters) end(key types.NamespacedName) {
	ws.mu.Lock()
	w := ws.of[key]
	delete(ws.of, key)
	ws.mu.Unlock()
	if w != nil {
		ws.watches.Release(w)
	}
}

func (ws *waiters) at(key types.NamespacedName) *waiter {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	return ws.of[key]
}

// woken reports whether something has changed that an item waits for.
func (ws *waiters) woken(item *v1alpha1.DeployItem) bool {
	w := ws.at(client.ObjectKeyFromObject(item))
	return w != nil && w.woken.Load()
}

// isForgotten reports whether the last job of an item was an uninstall whose time was over, for which nothing is watched because an earlier process did that.
func (r *reconciler) isForgotten(item *v1alpha1.DeployItem) bool {
	last := item.Status.LastError
	return r.keeper != nil && isDeleting(item) && item.Job().IsIdle() && item.Status.Phase == v1alpha1.PhaseDeleteFailed && last != nil &&
		slices.Contains(last.Codes, v1alpha1.ErrorTimeout) && r.waiters.at(client.ObjectKeyFromObject(item)) == nil
}

// recall watches what held a late uninstall of an earlier process: of what the status records, that which is in deletion where its Target leads. Where all
// of it is gone, nothing holds the uninstall any more.
func (r *reconciler) recall(ctx context.Context, item *v1alpha1.DeployItem) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	since, isLeft := time.Now(), false
	var holding []Watched
	sites, isKnown := r.keeper.Sites(item)
	for _, site := range sites {
		cluster, err := r.options.Clients.Open(ctx, r.client, r.live, item.Namespace, site.Cluster.Target, target.ActorOf(item))
		if err != nil || len(site.Releases) > 0 {
			isLeft = true
		}
		for i := 0; err == nil && i < len(site.Resources); i++ {
			ref := &site.Resources[i].Resource
			one := Watched{Cluster: cluster, APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
			found, readErr := objectOf(ctx, one)
			isLeft = isLeft || found != nil || readErr != nil
			if found != nil && found.DeletionTimestamp != nil {
				holding = append(holding, one)
			}
		}
	}
	r.waiters.await(item, holding, since).woken.Store(isKnown && len(sites) > 0 && !isLeft)
}

// resumeUninstall begins the uninstall of an item again when all is gone that held it. What is watched for an item that has got another job ends.
func (r *reconciler) resumeUninstall(ctx context.Context, s *scope) error {
	if r.isForgotten(s.item) {
		r.recall(ctx, s.item)
	}
	w := r.waiters.at(s.key())
	switch {
	case w == nil, s.item.Status.JobID == w.job && !s.item.Job().IsIdle(): // the end of the job is being written
		return nil
	case s.item.Status.JobID != w.job, s.item.UID != w.uid:
		r.waiters.end(s.key())
		return nil
	case !s.deleting(), !w.woken.Swap(false):
		return nil
	}
	for _, one := range w.watched {
		found, err := objectOf(ctx, one)
		if err != nil {
			w.woken.Store(true)
			return stopAfter(err)
		}
		if found != nil {
			return nil
		}
	}
	r.waiters.end(s.key())
	s.begin(uuid.NewString())
	return nil
}

// objectOf asks the cluster of an object for it; nil where there is none.
func objectOf(ctx context.Context, one Watched) (*metav1.PartialObjectMetadata, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(one.APIVersion, one.Kind))
	if err := one.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: one.Namespace, Name: one.Name}, object); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return object, nil
}
