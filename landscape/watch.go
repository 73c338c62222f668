// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settleTime is how long changes are gathered before they are one snapshot.
const settleTime = 50 * time.Millisecond

// Watch sends a snapshot of the landscape as Read does, and another whenever something in it has changed. It closes the channel when ctx ends.
// What the reader may list and not watch is listed again and again.
func Watch(ctx context.Context, config *rest.Config, c client.Client, namespace string, kinds ...string) (<-chan *Snapshot, error) {
	first, err := Read(ctx, c, namespace, kinds...)
	if err != nil {
		return nil, err
	}
	options := cache.Options{
		Scheme: c.Scheme(), Mapper: c.RESTMapper(), DefaultTransform: cache.TransformStripManagedFields(), ByObject: map[client.Object]cache.ByObject{},
	}
	if namespace != "" {
		options.DefaultNamespaces = map[string]cache.Config{namespace: {}}
	}
	var watched []Kind
	for _, kind := range Kinds {
		if first.unread[kind.Name] {
			continue
		}
		if kind.everywhere && !first.narrowed[kind.Name] {
			options.ByObject[kind.empty] = cache.ByObject{Namespaces: map[string]cache.Config{cache.AllNamespaces: {}}}
		}
		watched = append(watched, kind)
	}
	watches, err := cache.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("watch the landscape: %w", err)
	}
	changed := make(chan struct{}, 1)
	if err := signal(ctx, watches, watched, changed); err != nil {
		return nil, err
	}
	go func() { _ = watches.Start(ctx) }() // it fails only when it is started twice
	snapshots := make(chan *Snapshot)
	go follow(ctx, watches, first, namespace, watched, changed, snapshots)
	return snapshots, nil
}

// signal fills a channel of one place when an object of a kind changes.
func signal(ctx context.Context, watches cache.Cache, kinds []Kind, changed chan<- struct{}) error {
	note := func(any) {
		select {
		case changed <- struct{}{}:
		default: // somebody has said so already
		}
	}
	for _, kind := range kinds {
		informer, err := watches.GetInformer(ctx, kind.empty, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %s: %w", kind.Plural, err)
		}
		handler := toolscache.ResourceEventHandlerFuncs{AddFunc: note, UpdateFunc: func(_, object any) { note(object) }, DeleteFunc: note}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return err
		}
	}
	return nil
}

// follow sends the first snapshot, and from then on what the cache holds after each change.
func follow(ctx context.Context, watches cache.Cache, first *Snapshot, namespace string, kinds []Kind, changed <-chan struct{}, snapshots chan<- *Snapshot) {
	defer close(snapshots)
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.Name)
	}
	send := func(snapshot *Snapshot) bool {
		select {
		case snapshots <- snapshot:
			return true
		case <-ctx.Done():
			return false
		}
	}
	if !send(first) || !watches.WaitForCacheSync(ctx) {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settleTime):
		}
		next, err := Read(ctx, watches, namespace, names...)
		if err != nil {
			return // ctx has ended: the cache knows all kinds
		}
		next.Withheld, next.unread = first.Withheld, first.unread
		if !send(next) {
			return
		}
	}
}
