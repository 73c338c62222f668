// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
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

// followsSources reports whether sources may give an item jobs.
func (r *reconciler) followsSources(item *v1alpha1.DeployItem) bool {
	return r.options.Sources != nil && len(r.options.Sources.KeysOf(item)) > 0
}

// offered returns what the sources of an item offer; nothing where it names none.
func (r *reconciler) offered(ctx context.Context, item *v1alpha1.DeployItem) ([]v1alpha1.SourceStatus, error) {
	if !r.followsSources(item) {
		return nil, nil
	}
	return r.options.Sources.Offered(ctx, item)
}

// hasNewSources reports whether a source of an item offers something else than its last job used.
func (r *reconciler) hasNewSources(ctx context.Context, item *v1alpha1.DeployItem) (bool, error) {
	offered, err := r.offered(ctx, item)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(offered, func(one v1alpha1.SourceStatus) bool {
		return !slices.ContainsFunc(item.Status.Sources, func(used v1alpha1.SourceStatus) bool { return isSameArtifact(used, one) })
	}), nil
}

// usesWhatIsOffered reports whether the last job of an item used what its sources offer now.
func (r *reconciler) usesWhatIsOffered(ctx context.Context, item *v1alpha1.DeployItem) bool {
	isNew, err := r.hasNewSources(ctx, item)
	return err == nil && !isNew
}

func isSameArtifact(a, b v1alpha1.SourceStatus) bool {
	return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name && a.Revision == b.Revision && a.Digest == b.Digest
}

// rollForward is the hook that lets sources start jobs.
func (r *reconciler) rollForward(ctx context.Context, call HookCall) (*HookResult, error) {
	isNew, err := r.hasNewSources(ctx, call.DeployItem)
	if err != nil || !isNew {
		return nil, err
	}
	return &HookResult{}, nil
}

// noteSources writes into the status what a job that begins finds offered, so that a job that fails before it comes to its sources is not
// followed by another one for the same. The deployer makes it what the job has used.
func (r *reconciler) noteSources(ctx context.Context, item *v1alpha1.DeployItem) error {
	if !r.followsSources(item) || isDeleting(item) {
		return nil
	}
	offered, err := r.offered(ctx, item)
	if err == nil {
		item.Status.Sources = offered
	}
	return err
}

// recordSources writes into the status what a job has used; nil leaves it as it is.
func recordSources(item *v1alpha1.DeployItem, used []v1alpha1.SourceStatus) {
	if used == nil || slices.Equal(used, item.Status.Sources) {
		return
	}
	item.Status.Sources = slices.Clone(used)
	if len(used) == 0 {
		item.Status.Sources = nil
	}
}

// followersOf returns the items to look at after an event of a source. One with a job is looked at when that ends.
func (r *reconciler) followersOf(ctx context.Context, source client.Object) []ctrl.Request {
	var followers v1alpha1.DeployItemList
	if err := r.client.List(ctx, &followers, client.MatchingFields{r.itemsBySource: r.options.Sources.KeyOf(source)}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list followers", "namespace", source.GetNamespace(), "name", source.GetName())
		return nil
	}
	var requests []ctrl.Request
	for i := range followers.Items {
		if item := &followers.Items[i]; item.Job().IsIdle() && r.concerns(item) {
			requests = append(requests, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(item)})
		}
	}
	return requests
}

// indexBySource lets followersOf find items.
func (r *reconciler) indexBySource(indexer client.FieldIndexer) error {
	if r.options.Sources == nil {
		return nil
	}
	keys := func(obj client.Object) []string { return r.options.Sources.KeysOf(obj.(*v1alpha1.DeployItem)) }
	if err := indexer.IndexField(context.Background(), &v1alpha1.DeployItem{}, r.itemsBySource, keys); err != nil {
		return fmt.Errorf("index DeployItems by source: %w", err)
	}
	return nil
}

// obstacle is an owner that keeps an item from a job of its own; the zero value is one that is gone.
type obstacle struct{ kind, name string }

// heldItems are the items that wait for an obstacle, each with a job that stands for the wait at watches. It is safe for concurrent use.
type heldItems struct {
	mu    sync.Mutex
	waits map[types.NamespacedName]*job
}

// of returns what stands for the wait of an item.
func (h *heldItems) of(key types.NamespacedName) *job {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.waits[key]
	if known == nil {
		known = &job{key: key}
		if h.waits == nil {
			h.waits = map[types.NamespacedName]*job{}
		}
		h.waits[key] = known
	}
	return known
}

// take forgets the wait of an item and returns what stood for it, nil when it did not wait.
func (h *heldItems) take(key types.NamespacedName) *job {
	h.mu.Lock()
	defer h.mu.Unlock()
	known := h.waits[key]
	delete(h.waits, key)
	return known
}

// awaitObstacle brings an item back once an obstacle that was seen at a time changes, if sources are why it is to have a job: the clock comes
// back by itself.
func (r *reconciler) awaitObstacle(ctx context.Context, item *v1alpha1.DeployItem, by *obstacle, since time.Time) error {
	isNew, err := r.hasNewSources(ctx, item)
	if err != nil {
		return err
	}
	if !isNew || by.kind == "" {
		r.releaseHeld(client.ObjectKeyFromObject(item))
		return nil
	}
	r.watches.follow(r.held.of(client.ObjectKeyFromObject(item)), []Watched{{
		Cluster: r.landscaper, APIVersion: v1alpha1.GroupVersion.String(), Kind: by.kind, Namespace: item.Namespace, Name: by.name,
	}}, since)
	return nil
}

// releaseHeld ends the wait of an item for an obstacle.
func (r *reconciler) releaseHeld(key types.NamespacedName) {
	if known := r.held.take(key); known != nil {
		r.watches.release(known)
	}
}
