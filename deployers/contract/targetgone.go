// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// SiteKeeper is a Planner whose status says on which clusters there is what. Only with one a deletion gives up by spec.onDelete.targetGone.
type SiteKeeper interface {
	Planner
	// Sites returns what jobs of an item have put, or set out to put, on which cluster; false where the status does not say where all of it is. It
	// only looks at the item.
	Sites(item *v1alpha1.DeployItem) ([]managedresource.Site, bool)
}

const (
	// goneLook is how often a deletion looks whether a cluster that was gone is back.
	goneLook = time.Minute
	// goneGrace is how much longer than targetGone.after a deletion may take.
	goneGrace = 5 * time.Minute
)

// reasonTargetGone is the reason of the event about what a deletion has left behind.
const reasonTargetGone = "TargetGone"

// leaveGone lets an item go whose clusters have been gone for long enough, and lets its deletion wait for that. Since when they have been is
// recorded once, and forgotten once when one is back.
func (r *reconciler) leaveGone(ctx context.Context, s *scope) error {
	after := goneAfter(s.item)
	if after <= 0 || r.keeper == nil || s.err == nil && s.outcome.Done {
		return nil
	}
	sites, isKnown := r.keeper.Sites(s.item)
	if !isKnown || len(sites) == 0 {
		return nil
	}
	state, now := clusterGone, time.Now()
	looking, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	for _, site := range sites {
		state = min(state, r.presenceAt(looking, s.item, site.Cluster))
	}
	switch since := s.item.Status.TargetGoneSince; {
	case state == clusterGone && (since == nil || protocol.IsAhead(since.Time, now)):
		if err := r.noteGone(ctx, s, &metav1.Time{Time: now}); err != nil {
			return err
		}
	case state == clusterGone && !now.Before(since.Add(after)):
		r.options.Recorder.Event(s.item, corev1.EventTypeWarning, reasonTargetGone, protocol.Message(s.inWords(leftBehind(sites, since.Time))))
		return stopAfter(r.letGo(ctx, s))
	case state == clusterSeen && since != nil:
		s.job.Began = now // the uninstall has all its time again
		return r.noteGone(ctx, s, nil)
	}
	if s.item.Status.TargetGoneSince == nil || s.isLate(now) {
		return nil
	}
	return stopAfter(r.awaitGone(ctx, s, s.item.Status.TargetGoneSince.Add(after)))
}

func (r *reconciler) noteGone(ctx context.Context, s *scope, since *metav1.Time) error {
	return r.update(ctx, s, func(item *v1alpha1.DeployItem) { item.Status.TargetGoneSince = since })
}

// awaitGone leaves the job until the next look, at the latest until the item may be given up.
func (r *reconciler) awaitGone(ctx context.Context, s *scope, due time.Time) error {
	now := time.Now()
	s.job.RetryAt = now.Add(max(min(due.Sub(now), goneLook), time.Second))
	s.job.Attempts, s.job.Waits, s.job.Failure = 0, reasonTargetGone, nil
	s.job.Cause = fmt.Sprintf("The cluster of Target %q has been gone since %s; at %s the item is deleted without uninstall, as spec.onDelete.targetGone says",
		s.inWords(targetName(s.item)), s.item.Status.TargetGoneSince.UTC().Format(time.RFC3339), due.UTC().Format(time.RFC3339))
	return r.suspend(ctx, s)
}

const (
	// lookTime bounds one look.
	lookTime = 20 * time.Second
	// maxLeftNames is how many objects the event names.
	maxLeftNames = 20
)

// presence says whether a cluster is still there. The smaller one counts of two.
type presence int

const (
	// clusterSeen is that of a cluster that answers, or whose host does.
	clusterSeen presence = iota
	// clusterUnknown proves nothing.
	clusterUnknown
	// clusterGone is that of a cluster in whose place there is another one, or whose name does not exist any more.
	clusterGone
)

// presenceAt looks after one cluster by the Target that led there, and by others of the namespace that lead to its address. Others count only
// where something answers: the copies that Installations make of the Targets that they import still lead to what is gone.
func (r *reconciler) presenceAt(ctx context.Context, item *v1alpha1.DeployItem, there managedresource.ClusterReference) presence {
	clients, actor := r.options.Clients, target.ActorOf(item)
	own, err := clients.Open(ctx, r.client, r.live, item.Namespace, there.Target, actor)
	if err != nil {
		return clusterUnknown
	}
	state, _ := askCluster(ctx, own, there)
	if state != clusterGone || there.Address == "" {
		return state
	}
	others, err := clients.Leading(ctx, r.client, r.live, item.Namespace, there.Address, actor)
	if err != nil {
		return clusterUnknown
	}
	for _, other := range others {
		if other.Config == own.Config {
			continue
		}
		if seen, answered := askCluster(ctx, other, there); answered {
			state = min(state, seen)
		}
	}
	return state
}

// askCluster asks a cluster whether it is the one that is looked for, and reports whether it answered.
func askCluster(ctx context.Context, cluster *target.Cluster, there managedresource.ClusterReference) (seen presence, answered bool) {
	found, err := cluster.IdentityNow(ctx)
	var answer apierrors.APIStatus
	switch {
	case err == nil && there.UID != "" && found.UID != "" && found.UID != there.UID:
		return clusterGone, true
	case err == nil || errors.As(err, &answer):
		return clusterSeen, true
	case utilnet.IsConnectionRefused(err):
		return clusterSeen, false
	case cluster.HasNoHost(err) && (there.Address == cluster.Address() || there.Address == "" && !target.IsUnusable(err)):
		return clusterGone, false
	}
	return clusterUnknown, false
}

// leftBehind tells what a deletion leaves on clusters that are gone. It names some and counts all.
func leftBehind(sites []managedresource.Site, since time.Time) string {
	var names []string
	for _, site := range sites {
		for _, release := range site.Releases {
			names = append(names, fmt.Sprintf("Helm release %s/%s", release.Namespace, release.Name))
		}
		for _, resource := range site.Resources {
			names = append(names, resource.Resource.String())
		}
	}
	shown := names[:min(len(names), maxLeftNames)]
	text := fmt.Sprintf("%s has been gone since %s: the DeployItem is deleted without uninstall, as spec.onDelete.targetGone says; %d objects were there: %s",
		sites[0].Cluster, since.UTC().Format(time.RFC3339), len(names), strings.Join(shown, ", "))
	if more := len(names) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
