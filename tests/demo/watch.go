// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/sample"
)

// A change is the newest state of one object, or its end.
type change struct {
	object  client.Object
	deleted bool
}

// watched are the kinds that the tree is made of.
func watched() []client.Object {
	return []client.Object{
		&sourcev1.GitRepository{}, &sourcev1.OCIRepository{}, &kustomizev1.Kustomization{},
		&v1alpha1.Installation{}, &v1alpha1.DeployItem{},
	}
}

// watch sends every change of the landscape until ctx ends. Nothing polls.
func watch(ctx context.Context, cluster *platform.Cluster) (<-chan change, error) {
	watches, err := cache.New(cluster.RestConfig, cache.Options{
		Scheme:            cluster.Client().Scheme(),
		DefaultNamespaces: map[string]cache.Config{sample.Namespace: {}},
		DefaultTransform:  cache.TransformStripManagedFields(),
	})
	if err != nil {
		return nil, fmt.Errorf("cannot watch the landscape: %w", err)
	}
	changes := make(chan change)
	send := func(object any, deleted bool) {
		if seen, ok := object.(client.Object); ok {
			select {
			case changes <- change{object: seen, deleted: deleted}:
			case <-ctx.Done():
			}
		}
	}
	for _, kind := range watched() {
		if err := watchKind(ctx, watches, kind, send); err != nil {
			return nil, err
		}
	}
	go func() { _ = watches.Start(ctx) }() // it fails only when it is started twice
	return changes, nil
}

func watchKind(ctx context.Context, watches cache.Cache, kind client.Object, send func(object any, deleted bool)) error {
	informer, err := watches.GetInformer(ctx, kind)
	if err != nil {
		return fmt.Errorf("cannot watch %T: %w", kind, err)
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { send(object, false) },
		UpdateFunc: func(_, object any) { send(object, false) },
		DeleteFunc: func(object any) {
			if lost, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = lost.Obj
			}
			send(object, true)
		},
	})
	return err
}
