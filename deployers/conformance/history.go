// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// history holds every version of the items of a run, as the API server announced them. It is safe for concurrent use.
type history struct {
	mu       sync.Mutex
	versions map[string][]*v1alpha1.DeployItem
	gone     map[string]bool
	// own are the resource versions that this process has written.
	own map[string]bool
	// changed is closed and replaced at every event.
	changed chan struct{}
	err     error
}

// watch follows the items with the labels until the context ends.
func watch(ctx context.Context, c client.WithWatch, namespace string, labels client.MatchingLabels) (*history, error) {
	list := &v1alpha1.DeployItemList{}
	if err := c.List(ctx, list, client.InNamespace(namespace), labels); err != nil {
		return nil, fmt.Errorf("cannot list the DeployItems of namespace %q: %w", namespace, err)
	}
	open := func(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
		return c.Watch(ctx, &v1alpha1.DeployItemList{}, client.InNamespace(namespace), labels, &client.ListOptions{Raw: &options})
	}
	events, err := watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{WatchFuncWithContext: open})
	if err != nil {
		return nil, fmt.Errorf("cannot watch the DeployItems of namespace %q: %w", namespace, err)
	}
	h := &history{
		versions: map[string][]*v1alpha1.DeployItem{}, gone: map[string]bool{}, own: map[string]bool{}, changed: make(chan struct{}),
	}
	go h.follow(events)
	return h, nil
}

func (h *history) follow(events apiwatch.Interface) {
	for event := range events.ResultChan() {
		h.note(event)
	}
	h.note(apiwatch.Event{Type: apiwatch.Error})
}

func (h *history) note(event apiwatch.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	item, isItem := event.Object.(*v1alpha1.DeployItem)
	switch {
	case event.Type == apiwatch.Bookmark:
		return
	case !isItem:
		h.err = fmt.Errorf("the watch of DeployItems has ended")
	case event.Type == apiwatch.Deleted:
		h.gone[item.Name] = true
	default:
		h.versions[item.Name] = append(h.versions[item.Name], item)
	}
	close(h.changed)
	h.changed = make(chan struct{})
}

// wrote notes a version that this process has written.
func (h *history) wrote(item *v1alpha1.DeployItem) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.own[item.ResourceVersion] = true
}

// of returns the versions of an item so far, whether it is gone, and a channel that closes at the next event.
func (h *history) of(name string) (versions []*v1alpha1.DeployItem, gone bool, next <-chan struct{}, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.versions[name]), h.gone[name], h.changed, h.err
}

// foreign returns the versions after the given one that somebody else has written. Before the given one has come there are none.
func (h *history) foreign(name, after string) []*v1alpha1.DeployItem {
	h.mu.Lock()
	defer h.mu.Unlock()
	versions := h.versions[name]
	i := slices.IndexFunc(versions, func(item *v1alpha1.DeployItem) bool { return item.ResourceVersion == after })
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(versions[i+1:]), func(item *v1alpha1.DeployItem) bool { return h.own[item.ResourceVersion] })
}

// await waits until something holds for the versions of an item.
func (h *history) await(ctx context.Context, name string, holds func(versions []*v1alpha1.DeployItem, gone bool) bool) error {
	for {
		versions, gone, next, err := h.of(name)
		if holds(versions, gone) {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
