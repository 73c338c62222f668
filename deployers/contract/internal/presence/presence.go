// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package presence looks whether clusters are still there on which a deletion has something to uninstall. It decides nothing about the deletion.
package presence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// lookTime bounds one look.
	lookTime = 20 * time.Second
	// maxLeftNames is how many objects the event names.
	maxLeftNames = 20
)

// Presence says whether a cluster is still there. The smaller one counts of two.
type Presence int

const (
	// Seen is that of a cluster that answers, or whose host does.
	Seen Presence = iota
	// Unknown proves nothing.
	Unknown
	// Gone is that of a cluster in whose place there is another one, or whose name does not exist any more.
	Gone
)

// Looker looks after clusters.
type Looker struct {
	Clients *target.Clients
	// Client reads Targets from the cache, Live without.
	Client client.Client
	Live   client.Reader
}

// Of looks after all clusters that an item was deployed to.
func (l *Looker) Of(ctx context.Context, item *v1alpha1.DeployItem, sites []managedresource.Site) Presence {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	state := Gone
	for _, site := range sites {
		state = min(state, l.at(ctx, item, site.Cluster))
	}
	return state
}

// at looks after one cluster by the Target that led there, and by others of the namespace that lead to its address. Others count only
// where something answers: the copies that Installations make of the Targets that they import still lead to what is gone.
func (l *Looker) at(ctx context.Context, item *v1alpha1.DeployItem, there managedresource.ClusterReference) Presence {
	clients, actor := l.Clients, target.ActorOf(item)
	own, err := clients.Open(ctx, l.Client, l.Live, item.Namespace, there.Target, actor)
	if err != nil {
		return Unknown
	}
	state, _ := Ask(ctx, own, there)
	if state != Gone || there.Address == "" {
		return state
	}
	others, err := clients.Leading(ctx, l.Client, l.Live, item.Namespace, there.Address, actor)
	if err != nil {
		return Unknown
	}
	for _, other := range others {
		if other.Config == own.Config {
			continue
		}
		if seen, answered := Ask(ctx, other, there); answered {
			state = min(state, seen)
		}
	}
	return state
}

// Ask asks a cluster whether it is the one that is looked for, and reports whether it answered.
func Ask(ctx context.Context, cluster *target.Cluster, there managedresource.ClusterReference) (seen Presence, answered bool) {
	found, err := cluster.IdentityNow(ctx)
	var answer apierrors.APIStatus
	switch {
	case err == nil && there.UID != "" && found.UID != "" && found.UID != there.UID:
		return Gone, true
	case err == nil || errors.As(err, &answer):
		return Seen, true
	case utilnet.IsConnectionRefused(err):
		return Seen, false
	case cluster.HasNoHost(err) && (there.Address == cluster.Address() || there.Address == "" && !target.IsUnusable(err)):
		return Gone, false
	}
	return Unknown, false
}

// LeftBehind tells what a deletion leaves on clusters that are gone. It names some and counts all.
func LeftBehind(sites []managedresource.Site, since time.Time) string {
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
