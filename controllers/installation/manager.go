// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/children"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/force"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/order"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/plan"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/publishing"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/watching"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/writing"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/fairqueue"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// SetupWithManager registers indexes, watches and the controller. Kinds of Flux sources that the cluster does not serve are not
// watched.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, concurrency int) error {
	r.furnish(mgr.GetCache())
	if err := watching.Index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	found := watching.Finder{
		Reader: r.Client, Related: r.related, Unwatched: r.UnwatchedSources, Seen: r.seen, Siblings: &watching.Siblings{},
		Namespaces: r.Following.Namespaces,
	}
	watches, err := found.Watch(mgr)
	if err != nil {
		return err
	}
	return watches.WithOptions(fairqueue.Options(concurrency, 0)).Complete(found.Waking(r))
}

// furnish makes the parts that the steps work with. Metadata reads Secrets from the cache of metadata; Client would ask the API server.
func (r *Reconciler) furnish(metadata client.Reader) {
	r.Inputs.Metadata = metadata
	r.related = &relations.Finder{Reader: r.Client, Live: r.Live}
	r.writer = &writing.Writer{
		Client: r.Client, Live: r.Live, Recorder: r.Recorder, Related: r.related, Written: &r.installations, Restored: kit.NewRestorations(),
	}
	r.order = &order.Order{Reader: r.Client, Related: r.related, Inputs: &r.Inputs, Installations: &r.installations}
	r.plans = &plan.Maker{Client: r.Client, Live: r.Live, Metadata: metadata, Inputs: &r.Inputs}
	r.children = &children.Keeper{Client: r.Client, Live: r.Live, Installations: &r.installations, Executions: &r.executions}
	r.publisher = &publishing.Publisher{Client: r.Client, Live: r.Live, Related: r.related}
	r.force = &force.Deletion{
		Client: r.Client, Live: r.Live, Recorder: r.Recorder, Installations: &r.installations, Executions: &r.executions,
	}
}

// seen notes that the cache shows an object by now, or does not show it any more.
func (r *Reconciler) seen(kind string, object client.Object) {
	r.plans.Seen(kind, object)
	r.publisher.Seen(kind, object)
}

// UnwatchableSources returns the kinds of Flux sources that the cluster serves and that this process may not list or watch, in a namespace
// or with "" in all, and logs what is missing. A forbidden watch would keep every other kind from being served: clients have to read
// these kinds live, and the Reconciler must not watch them. It fails when the API server does not answer.
func UnwatchableSources(ctx context.Context, c client.Client, namespace string) ([]client.Object, error) {
	kinds, err := flux.Available(c.RESTMapper())
	if err != nil {
		return nil, fmt.Errorf("find the kinds of Flux sources: %w", err)
	}
	found, err := flux.FindUnwatchable(ctx, c, kinds, namespace)
	var refused []client.Object
	for _, one := range found {
		refused = append(refused, one.Kind)
		ctrl.Log.WithName("installation").Error(nil, "the controller may not "+one.Missing+": Installations do not notice by themselves when "+
			"sources of this kind change; all other kinds work. Grant get, list and watch and restart the controller")
	}
	return refused, err
}
