// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/drift"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

const (
	watchedObjects = 10_000
	watchedOwners  = 1_000
	// maxWatchedMemory is what 10,000 watched objects may take.
	maxWatchedMemory = 50 << 20
)

// BenchmarkWatchedObjects tells what 10,000 watched objects of 1,000 DeployItems take of the heap, and how many requests they cost when nothing
// happens.
func BenchmarkWatchedObjects(b *testing.B) {
	p := platform.Shared(b)
	namespace := p.Namespace(b)
	var making errgroup.Group
	making.SetLimit(resources.Parallel)
	for i := range watchedObjects {
		making.Go(func() error { return p.Client().Create(b.Context(), watchedObject(namespace, i)) })
	}
	require.NoError(b, making.Wait())
	cluster := &bench{namespace: namespace}
	opened := cluster.openFor(b, p.RestConfig)
	for b.Loop() {
		before := heap()
		watches := drift.New(func(types.NamespacedName) {})
		ctx, stop := context.WithCancel(b.Context())
		for owner := range watchedOwners {
			var objects []drift.Object
			for i := owner; i < watchedObjects; i += watchedOwners {
				objects = append(objects, drift.Object{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: namespace, Name: fmt.Sprintf("object-%d", i)})
			}
			key := types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("item-%d", owner)}
			watches.Follow(key, drift.Deployed{Cluster: opened, Selector: v1alpha1.ManifestDeployItemLabel, Managers: []string{resources.FieldManager}, Objects: objects})
		}
		require.Eventually(b, func() bool {
			return watches.IsWatched(types.NamespacedName{Namespace: namespace, Name: "item-0"})
		}, time.Minute, 10*time.Millisecond)
		cluster.sent()
		taken := heap() - before
		<-time.After(5 * time.Second)
		b.ReportMetric(float64(len(cluster.sent())), "requests/idle")
		b.ReportMetric(float64(taken)/(1<<20), "MiB/10000")
		b.ReportMetric(float64(taken)/watchedObjects, "B/object")
		require.Less(b, taken, int64(maxWatchedMemory))
		go func() { _ = watches.Run(ctx) }()
		stop()
		runtime.KeepAlive(watches)
	}
}

func watchedObject(namespace string, i int) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"})
	object.SetNamespace(namespace)
	object.SetName(fmt.Sprintf("object-%d", i))
	object.SetLabels(map[string]string{v1alpha1.ManifestDeployItemLabel: fmt.Sprintf("item-%d", i%watchedOwners)})
	object.SetAnnotations(map[string]string{resources.OwnerNamespaceAnnotation: namespace, resources.OwnerUIDAnnotation: "0ebb204c-3591-4be9-a8e2-1a943e2d4881"})
	object.Object["data"] = map[string]any{"a": "1", "b": "2"}
	return object
}

// heap returns how many bytes are in use.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
