// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"context"
	"errors"
	"fmt"
	"slices"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// AwaitSource returns the outcome of a job that waits for the source whose change will end an error, instead of trying again and again. It
// reports false for every other error, and where nothing can be watched.
func (a *Access) AwaitSource(err error) (contract.Outcome, bool) {
	var problem *flux.Error
	if a.Landscaper == nil || !errors.As(err, &problem) || !problem.Waiting {
		return contract.Outcome{}, false
	}
	return contract.Outcome{Waiting: err.Error(), Watch: []contract.Watched{{
		Cluster: a.Landscaper, APIVersion: sourcev1.GroupVersion.String(),
		Kind: problem.Kind, Namespace: problem.Namespace, Name: problem.Name,
	}}}, true
}

// Follow makes items follow the sources that of finds in them, which only looks at an item. It watches every kind that the cluster serves and
// that the process may watch in a namespace, or with "" in all, and logs which it may not. It fails when the API server does not answer.
func (a *Access) Follow(
	ctx context.Context, mgr ctrl.Manager, namespace string, of func(*v1alpha1.DeployItem) []v1alpha1.SourceReference,
) (*contract.SourceWatch, error) {
	kinds, _, err := flux.Watchable(ctx, mgr.GetClient(), namespace, "deployer", "DeployItems")
	if err != nil {
		return nil, err
	}
	f := &follower{reader: mgr.GetClient(), policy: a.SourcePolicy, of: of, watched: map[string]bool{}}
	for _, kind := range kinds {
		gvk, err := apiutil.GVKForObject(kind, mgr.GetScheme())
		if err != nil {
			return nil, fmt.Errorf("find the kind of a source: %w", err)
		}
		f.watched[gvk.Kind] = true
	}
	return &contract.SourceWatch{Kinds: kinds, News: flux.RevisionChanged(), KeyOf: flux.KeyOf, KeysOf: f.keysOf, Offered: f.offered}, nil
}

// follower finds out what the sources of items offer, from the cache of the manager.
type follower struct {
	reader client.Reader
	policy flux.Policy
	of     func(*v1alpha1.DeployItem) []v1alpha1.SourceReference
	// watched are the kinds that the cache holds; to read another one would make it ask for that in vain.
	watched map[string]bool
}

func (f *follower) references(item *v1alpha1.DeployItem) []v1alpha1.SourceReference {
	return slices.DeleteFunc(f.of(item), func(ref v1alpha1.SourceReference) bool { return !f.watched[ref.Kind] })
}

func (f *follower) keysOf(item *v1alpha1.DeployItem) []string {
	var keys []string
	for _, ref := range f.references(item) {
		keys = append(keys, flux.KeyFor(item.Namespace, ref))
	}
	return keys
}

// offered returns nothing for sources that a job could not use, among them those that are not verified where the Context of the item wants that.
func (f *follower) offered(ctx context.Context, item *v1alpha1.DeployItem) ([]v1alpha1.SourceStatus, error) {
	verified, err := f.wantsVerified(ctx, item)
	if err != nil {
		return nil, err
	}
	policy := f.policy
	policy.RequireVerified = policy.RequireVerified || verified
	var found []v1alpha1.SourceStatus
	for _, ref := range f.references(item) {
		source, err := flux.Lookup(ctx, f.reader, item.Namespace, ref, policy)
		if _, ok := errors.AsType[*flux.Error](err); ok {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		found = append(found, source.Status())
	}
	return found, nil
}

// wantsVerified reports what the Context of an item says. Without Context the job of the item fails.
func (f *follower) wantsVerified(ctx context.Context, item *v1alpha1.DeployItem) (bool, error) {
	found := &v1alpha1.Context{}
	err := f.reader.Get(ctx, client.ObjectKey{Namespace: item.Namespace, Name: item.ContextName()}, found)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return found.RequireVerifiedSources, nil
}
