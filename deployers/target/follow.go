// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"fmt"
	"time"

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
// report for each change after that; bookmarks are left out. A watch that the server ends goes on in a new one; where that cannot be opened, or the
// server wants it to be opened much later, Follow returns, so that the caller paces the attempts. The error says why the watch was not opened.
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
	open := func(ctx context.Context, from metav1.ListOptions) (watch.Interface, error) {
		from.FieldSelector = options.FieldSelector
		return resource.Watch(ctx, from)
	}
	return watchFrom(ctx, list.GetResourceVersion(), open, opened, func(event watch.Event) {
		if object, err := meta.Accessor(event.Object); err == nil {
			report(object)
		}
	})
}

// maxPause is how long a watch may be left unopened after the server has ended it, as it is allowed to ask for.
const maxPause = 10 * time.Second

var errPaused = fmt.Errorf("the server wants its watch to be opened again later than in %s", maxPause)

// paused is a watch after whose end the time until the next one is measured.
type paused struct {
	watch.Interface
	pause *time.Timer
}

// Stop ends the watch.
func (p paused) Stop() {
	p.Interface.Stop()
	p.pause.Reset(maxPause)
}

// openWatch opens a watch that ends with ctx.
type openWatch func(ctx context.Context, from metav1.ListOptions) (watch.Interface, error)

// watchFrom hands over what happens after a version, bookmarks left out, until the watch breaks, cannot be opened again, or ctx ends. It calls
// opened before the first event.
func watchFrom(ctx context.Context, version string, open openWatch, opened func(), handle func(watch.Event)) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	pause := time.AfterFunc(maxPause, func() { giveUp(errPaused) })
	defer pause.Stop()
	watcher, err := watchtools.NewRetryWatcherWithContext(ctx, version, &cache.ListWatch{
		WatchFuncWithContext: func(_ context.Context, from metav1.ListOptions) (watch.Interface, error) {
			pause.Stop()
			events, err := open(ctx, from)
			if err != nil {
				giveUp(err) // the library would ask again every second, for ever
				return nil, err
			}
			return paused{Interface: events, pause: pause}, nil // the library waits as long as the server says
		},
	})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	opened()
	for event := range watcher.ResultChan() {
		switch event.Type {
		case watch.Error:
			return nil
		case watch.Bookmark:
		default:
			handle(event)
		}
	}
	return context.Cause(ctx)
}

func (c *Cluster) resource(ctx context.Context, stream Stream) (dynamic.ResourceInterface, error) {
	resource, isNamespaced, err := c.resourceOf(ctx, stream.Kind)
	if err != nil {
		return nil, err
	}
	if !isNamespaced {
		return c.Dynamic.Resource(resource), nil
	}
	return c.Dynamic.Resource(resource).Namespace(stream.Namespace), nil
}

// resourceOf returns how the cluster calls a kind, and whether objects of the kind have a namespace.
func (c *Cluster) resourceOf(ctx context.Context, kind schema.GroupVersionKind) (schema.GroupVersionResource, bool, error) {
	mapping, err := c.MapperFor(ctx).RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return schema.GroupVersionResource{}, false, err
	}
	return mapping.Resource, mapping.Scope.Name() != meta.RESTScopeNameRoot, nil
}
