// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package targetsync makes Targets for the clusters that another cluster knows, the source: from Secrets with kubeconfigs, or from Gardener
// Shoots. Whatever it makes carries a label; nothing without that label is changed or deleted. It promises nothing to others.
package targetsync

import (
	"context"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// passTime bounds one sync: a source that answers slowly costs no more than that of a worker's time.
const passTime = 2 * time.Minute

// Reconciler brings the Targets of a namespace to what the source cluster of its TargetSync says.
type Reconciler struct {
	// Client reads from caches and writes to the API server.
	client.Client
	// Live reads from the API server.
	Live client.Reader
	// Recorder writes events.
	Recorder record.EventRecorder
	// Clusters opens source clusters.
	Clusters *target.Clients
	// Shard selects the TargetSyncs that this process brings on.
	Shard kit.Shard
	// Backoff says when to try again after a failure.
	Backoff *kit.Backoff
	// Now is the clock.
	Now func() time.Time

	// metadata reads Secrets from the cache of metadata.
	metadata client.Reader
	sources  sources
	copies   copies
	// queue is that of the controller.
	queue requestQueue
}

// scope is one sync.
type scope struct {
	sync      *v1alpha1.TargetSync
	persisted *v1alpha1.TargetSyncStatus
	now       time.Time
	// pattern selects the names to sync; nil selects none.
	pattern *regexp.Regexp
	// secret holds the access to the source, which is opened as source.
	source *target.Cluster
	access access
	// wanted are the clusters that the source knows, by the name of their Target.
	wanted map[string]*wanted
	// bytes is what the Secrets in wanted hold.
	bytes int
	// unusable counts the Secrets of the source that match and hold no kubeconfig, and names the first of them.
	unusable      int
	unusableNames []string
	// problems are why single Targets could not be synced; the others are.
	problems []error
	// changes says what the sync has done.
	changes changes
	// requeue is when the next kubeconfig or token has to be renewed; zero is never.
	requeue time.Duration
}

// Reconcile syncs the Targets of one TargetSync, or wakes all of a namespace.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if req.Name == "" {
		return ctrl.Result{}, r.wakeAll(ctx, req.Namespace)
	}
	sync := &v1alpha1.TargetSync{}
	if err := r.Get(ctx, req.NamespacedName, sync); err != nil {
		r.leave(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.Shard.Has(sync) || sync.Annotations[v1alpha1.IgnoreAnnotation] == "true" {
		r.leave(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	s := &scope{sync: sync, persisted: sync.Status.DeepCopy(), now: r.Now(), wanted: map[string]*wanted{}}
	bounded, cancel := context.WithTimeout(ctx, passTime)
	defer cancel()
	err := kit.Run(bounded, s, []kit.Step[*scope]{
		r.uninstall, r.checkAlone, r.checkSuspended, checkSpec, r.protect, r.openSource, r.rotateToken, r.follow,
		gatherSecrets, r.gatherShoots, r.skipUninstalls, gatherSource, writer{r.Client, r.Live, r.metadata, &r.copies}.write, r.prune,
	})
	return r.settle(ctx, s, err)
}

// leave ends what the process does for a TargetSync.
func (r *Reconciler) leave(key types.NamespacedName) {
	r.sources.leave(key)
	r.copies.forget(key)
	r.Backoff.Forget(key)
}
