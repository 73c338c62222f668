// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/soak/bench/rig"
)

const (
	// elsewhereUnits is how many units BenchmarkElsewhere takes through their life.
	elsewhereUnits = 100
	// elsewhereObjects is how many objects of our kinds other namespaces have, and elsewhereNamespaces how many these are.
	elsewhereObjects, elsewhereNamespaces = 20_000, 20
)

// BenchmarkElsewhere is BenchmarkLeaf with a few units in their namespace, and many objects of our kinds in others.
func BenchmarkElsewhere(b *testing.B) {
	for range b.N {
		liveOnce(b, fmt.Sprintf("elsewhere/%d", elsewhereUnits), true, elsewhereUnits, fillElsewhere)
	}
}

// fillElsewhere makes suspended Installations, DataObjects and Targets in other namespaces.
func fillElsewhere(r *run) {
	ctx := r.b.Context()
	c, err := rig.NewClient(r.Cluster, writerUser)
	r.must("make a client", err)
	r.must("create namespaces", rig.Parallel(ctx, options.workers, elsewhereNamespaces, func(ctx context.Context, i int) error {
		return c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: elsewhere(i)}})
	}))
	r.must("fill namespaces", rig.Parallel(ctx, options.workers, elsewhereObjects, func(ctx context.Context, i int) error {
		return c.Create(ctx, r.objectElsewhere(i))
	}))
}

func elsewhere(i int) string { return fmt.Sprintf("elsewhere-%02d", i%elsewhereNamespaces) }

// objectElsewhere returns one of the objects: every second is an Installation.
func (r *run) objectElsewhere(i int) client.Object {
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("unit-%05d", i), Namespace: elsewhere(i / 4)}
	switch i % 4 {
	case 0:
		data := &v1alpha1.DataObject{ObjectMeta: meta}
		data.Data = rig.Encode(map[string]string{"region": "elsewhere"})
		return data
	case 1:
		target := &v1alpha1.Target{ObjectMeta: meta}
		target.Spec.Type = "landscaper.gardener.cloud/mock"
		return target
	}
	inst := r.units.Installation(i, "v1")
	inst.ObjectMeta, inst.Spec.Suspend = meta, true
	return inst
}
