// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// BenchmarkWatchedObjects tells what 10,000 watched objects of 1,000 DeployItems take of the heap.
func BenchmarkWatchedObjects(b *testing.B) {
	const objects, items, most = 10_000, 1_000, 50 << 20
	p := platform.Shared(b)
	namespace := p.Namespace(b)
	var making errgroup.Group
	making.SetLimit(16)
	deployed := make([]Deployed, items)
	for i := range objects {
		owner := i % items
		object := &corev1.ConfigMap{Data: map[string]string{"a": "1", "b": "2"}, ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: fmt.Sprintf("object-%d", i), Labels: map[string]string{v1alpha1.ManifestDeployItemLabel: fmt.Sprintf("item-%d", owner)},
		}}
		making.Go(func() error { return p.Client().Create(b.Context(), object) })
		deployed[owner].Selector = v1alpha1.ManifestDeployItemLabel
		deployed[owner].Objects = append(deployed[owner].Objects, managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Name: object.Name})
	}
	require.NoError(b, making.Wait())
	cluster := &target.Cluster{Config: p.RestConfig, Mapper: p.Client().RESTMapper()}
	heap := func() int64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return int64(stats.HeapAlloc)
	}
	for b.Loop() {
		before := heap()
		desk := deskOf(detector{}, nil, nil)
		site := desk.siteOf(driftSiteKey{namespace, "target", target.Actor{}})
		for i := range deployed {
			known := &driftItem{key: types.NamespacedName{Namespace: namespace, Name: fmt.Sprintf("item-%d", i)}, site: site}
			desk.items[known.key] = known
			desk.mu.Lock()
			desk.attach(known, cluster, deployed[i], time.Now(), false)
			desk.mu.Unlock()
		}
		require.Eventually(b, func() bool {
			desk.mu.Lock()
			defer desk.mu.Unlock()
			return desk.items[types.NamespacedName{Namespace: namespace, Name: "item-0"}].isWatched()
		}, time.Minute, 10*time.Millisecond)
		taken := heap() - before
		b.ReportMetric(float64(taken)/(1<<20), "MiB/10000")
		require.Less(b, taken, int64(most))
		for _, stream := range desk.streams {
			stream.cancel()
		}
		runtime.KeepAlive(desk)
	}
}
