// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
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
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/watches"
)

// vigils watch what held uninstalls whose time was over, as a finalizer of others does. They end with the process; what is asked for by hand needs none.
type vigils struct {
	watches *watches.Watches
	// queue brings an item to a worker.
	queue func(types.NamespacedName)

	mu sync.Mutex
	of map[types.NamespacedName]*vigil
}

// vigil is that of one item.
type vigil struct {
	all *vigils
	key types.NamespacedName
	// uid of the item, job that failed.
	uid     types.UID
	job     string
	watched []watches.Object
	woken   atomic.Bool
}

// Tenant is the namespace of the item.
func (v *vigil) Tenant() string { return v.key.Namespace }

// Wake brings the item to a worker.
func (v *vigil) Wake(...watches.Key) {
	v.woken.Store(true)
	v.all.queue(v.key)
}

// keep begins to watch what a job waits for whose time is over.
func (vs *vigils) keep(item *v1alpha1.DeployItem, job *jobs.Job) {
	v := &vigil{all: vs, key: job.Key, uid: item.UID, job: job.ID}
	for _, one := range job.Watched {
		if one.Name != "" {
			v.watched = append(v.watched, one)
		}
	}
	vs.end(job.Key)
	if len(v.watched) == 0 {
		return
	}
	vs.mu.Lock()
	vs.of[v.key] = v
	vs.mu.Unlock()
	vs.watches.Follow(v, v.watched, time.Now())
}

// end ends the vigil of an item.
func (vs *vigils) end(key types.NamespacedName) {
	vs.mu.Lock()
	v := vs.of[key]
	delete(vs.of, key)
	vs.mu.Unlock()
	if v != nil {
		vs.watches.Release(v)
	}
}

func (vs *vigils) at(key types.NamespacedName) *vigil {
	vs.mu.Lock()
	defer vs.mu.Unlock()
	return vs.of[key]
}

// isWoken reports whether something has changed that held the uninstall of an item.
func (vs *vigils) isWoken(item *v1alpha1.DeployItem) bool {
	v := vs.at(client.ObjectKeyFromObject(item))
	return v != nil && v.woken.Load()
}

// resume begins the uninstall again when all is gone that held it. The vigil of an item that has got another job ends.
func (vs *vigils) resume(ctx context.Context, s *scope) error {
	v := vs.at(s.key())
	switch {
	case v == nil, s.item.Status.JobID == v.job && !s.item.Job().IsIdle(): // the end of the job is being written
		return nil
	case s.item.Status.JobID != v.job, s.item.UID != v.uid, !s.deleting():
		vs.end(s.key())
		return nil
	case !v.woken.Swap(false):
		return nil
	}
	for _, one := range v.watched {
		there, err := isThere(ctx, one)
		if err != nil {
			v.woken.Store(true)
		}
		if err != nil || there {
			return stopAfter(err)
		}
	}
	vs.end(s.key())
	s.own = true
	s.item.Status.JobID = uuid.NewString()
	s.item.Status.JobIDGenerationTime = &metav1.Time{Time: time.Now()}
	return nil
}

// isThere asks the cluster of an object for it.
func isThere(ctx context.Context, one watches.Object) (bool, error) {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(one.APIVersion, one.Kind))
	err := one.Cluster.Client.Get(ctx, client.ObjectKey{Namespace: one.Namespace, Name: one.Name}, object)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}
