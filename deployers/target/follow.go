// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Stream names what Follow watches.
type Stream struct {
	// Kind of the objects.
	Kind schema.GroupVersionKind
	// Namespace of the objects; ignored where the kind is cluster-scoped.
	Namespace string
	// Name of the one object to watch; empty for all of the kind in the namespace.
	Name string
}

// Follow watches objects of the cluster until the watch breaks or ctx ends. It calls opened once no change goes unnoticed any more, and
// report for each change after that; bookmarks are left out. A watch that the server ends goes on in a new one; where that cannot be opened
// Follow returns at once, so that the caller paces the attempts. The error says why the watch could not be opened.
func (c *Cluster) Follow(ctx context.Context, stream Stream, opened func(), report func(object metav1.Object)) error {
	resource, err := c.resource(ctx, stream)
	if err != nil {
		return err
	}
	options := metav1.ListOptions{Limit: 1}
	if stream.Name != "" {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", stream.Name).String()
	}
	list, err := resource.List(ctx, options)
	if err != nil {
		return err
	}
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(_ context.Context, from metav1.ListOptions) (watch.Interface, error) {
			from.FieldSelector = options.FieldSelector
			opened, err := resource.Watch(ctx, from)
			if err != nil {
				giveUp(err) // the library would ask again every second, for ever
			}
			return opened, err
		},
	})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	opened()
	for event := range watcher.ResultChan() {
		if event.Type == watch.Error {
			return nil
		}
		if object, err := meta.Accessor(event.Object); err == nil && event.Type != watch.Bookmark {
			report(object)
		}
	}
	return context.Cause(ctx)
}

func (c *Cluster) resource(ctx context.Context, stream Stream) (dynamic.ResourceInterface, error) {
	mapping, err := c.MapperFor(ctx).RESTMapping(stream.Kind.GroupKind(), stream.Kind.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return c.Dynamic.Resource(mapping.Resource), nil
	}
	return c.Dynamic.Resource(mapping.Resource).Namespace(stream.Namespace), nil
}
