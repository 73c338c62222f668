// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/items"
)

// SourceWatch makes items follow the sources that they name: an item gets a job of its own when a source offers something else than the last
// job of the item used, once for each thing offered, however that job ends. While a source offers nothing, its items stay as they are. All
// fields are required.
type SourceWatch struct {
	// Kinds are empty objects of the kinds of sources, which are watched with the cache of the manager.
	Kinds []client.Object
	// News passes the events of a source after which it may offer something else.
	News predicate.Predicate
	// KeyOf identifies a source. KeysOf identifies in the same way those that an item names; it is called often and only looks at the item.
	KeyOf  func(source client.Object) string
	KeysOf func(item *v1alpha1.DeployItem) []string
	// Offered returns what the sources of an item offer, as the cache knows them; nothing while one of them offers nothing.
	Offered func(ctx context.Context, item *v1alpha1.DeployItem) ([]v1alpha1.SourceStatus, error)
}

// gives reports whether sources may give an item jobs. A nil SourceWatch gives none.
func (w *SourceWatch) gives(item *v1alpha1.DeployItem) bool {
	return w != nil && len(w.KeysOf(item)) > 0
}

// offered returns what the sources of an item offer; nothing where it names none.
func (w *SourceWatch) offered(ctx context.Context, item *v1alpha1.DeployItem) ([]v1alpha1.SourceStatus, error) {
	if !w.gives(item) {
		return nil, nil
	}
	return w.Offered(ctx, item)
}

// hasNews reports whether a source of an item offers something else than its last job used.
func (w *SourceWatch) hasNews(ctx context.Context, item *v1alpha1.DeployItem) (bool, error) {
	offered, err := w.offered(ctx, item)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(offered, func(one v1alpha1.SourceStatus) bool {
		return !slices.ContainsFunc(item.Status.Sources, func(used v1alpha1.SourceStatus) bool { return isSameArtifact(used, one) })
	}), nil
}

// isUsed reports whether the last job of an item used what its sources offer now.
func (w *SourceWatch) isUsed(ctx context.Context, item *v1alpha1.DeployItem) bool {
	isNew, err := w.hasNews(ctx, item)
	return err == nil && !isNew
}

func isSameArtifact(a, b v1alpha1.SourceStatus) bool {
	return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name && a.Revision == b.Revision && a.Digest == b.Digest
}

// note writes into the status what a job that begins finds offered, so that a job that fails before it comes to its sources is not
// followed by another one for the same. The deployer makes it what the job has used.
func (w *SourceWatch) note(ctx context.Context, item *v1alpha1.DeployItem) error {
	if !w.gives(item) || items.IsDeleting(item) {
		return nil
	}
	offered, err := w.offered(ctx, item)
	if err == nil {
		item.Status.Sources = offered
	}
	return err
}
