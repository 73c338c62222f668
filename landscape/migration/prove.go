// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm"
	"github.com/flux-landscaper/flux-landscaper/deployers/manifest"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

const (
	// rehearsalTime is how long one DeployItem may take, and rehearsals how many are looked at together.
	rehearsalTime = time.Minute
	rehearsals    = 8
	// namedChanges is how many objects, and fields of each, one finding names.
	namedChanges = 5
)

// Prover rehearses the next jobs of DeployItems with the deployers of this project.
type Prover struct {
	client    client.Client
	clusters  *target.Clients
	deployers map[string]contract.Rehearser
}

// NewProver returns one for the landscaper cluster of config. Access is what charts may be got from.
func NewProver(config *rest.Config, c client.Client, access components.Access) (*Prover, error) {
	clusters, err := target.New(target.Options{Landscaper: config, LegacyTokens: true})
	if err != nil {
		return nil, err
	}
	charts, err := helm.New(helm.Options{Access: access})
	if err != nil {
		return nil, err
	}
	return &Prover{client: c, clusters: clusters, deployers: map[string]contract.Rehearser{
		v1alpha1.ManifestDeployItemType: manifest.New(), v1alpha1.HelmDeployItemType: charts.(contract.Rehearser),
	}}, nil
}

// Prove adds to the findings about DeployItems what their next jobs would change on the targets. Requests that write are dry runs.
func (p *Prover) Prove(ctx context.Context, snapshot *landscape.Snapshot, findings []*Finding) error {
	items := map[landscape.ID]*v1alpha1.DeployItem{}
	for i := range snapshot.DeployItems.Items {
		items[landscape.IDOf(&snapshot.DeployItems.Items[i])] = &snapshot.DeployItems.Items[i]
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(rehearsals)
	for _, f := range findings {
		if item := items[f.ID]; item != nil && item.DeletionTimestamp.IsZero() {
			group.Go(func() error {
				p.prove(ctx, f, item)
				return ctx.Err()
			})
		}
	}
	return group.Wait()
}

func (p *Prover) prove(ctx context.Context, f *Finding, item *v1alpha1.DeployItem) {
	deployer := p.deployers[item.Spec.Type]
	switch {
	case item.Spec.Type == v1alpha1.MockDeployItemType:
		return // it changes nothing
	case item.Spec.Type == v1alpha1.ContainerDeployItemType:
		f.say(Unproven, "Its next job runs a program of yours, which decides what it changes.")
		return
	case deployer == nil:
		f.say(Unproven, "The deployer of type %s decides what it changes, and goes on as before.", item.Spec.Type)
		return
	case item.Spec.Target == nil:
		f.say(Refused, "spec.target is missing.")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, rehearsalTime)
	defer cancel()
	cluster, err := p.clusters.Open(ctx, p.client, p.client, item.Namespace, item.Spec.Target.Name, target.ActorOf(item))
	if err != nil {
		f.say(Unproven, "Its target cannot be opened: %v", err)
		return
	}
	changes, err := contract.Rehearse(ctx, p.client, deployer, cluster, item)
	for i, change := range changes {
		if i == namedChanges {
			f.say(Changes, "and %d objects more", len(changes)-namedChanges)
			break
		}
		f.say(Changes, "%s", told(change))
		if change.Refused != nil {
			f.say(Refused, "%v", change.Refused)
		}
	}
	switch {
	case err == nil:
	case protocol.IsUnrecoverable(err):
		f.say(Refused, "%v", err)
	default:
		f.say(Unproven, "%s", target.ShownError(err))
	}
}

// told says a change in words, without values.
func told(change contract.Change) string {
	text := fmt.Sprintf("would %s %s", change.Verb, change.Resource)
	if len(change.Fields) > 0 {
		text += ": " + strings.Join(change.Fields[:min(len(change.Fields), namedChanges)], ", ")
	}
	if more := len(change.Fields) - namedChanges; more > 0 {
		text += fmt.Sprintf(" and %d fields more", more)
	}
	return text
}
