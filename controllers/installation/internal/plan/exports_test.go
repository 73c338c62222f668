// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture/cluster"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestWhatExportExecutionsSeeTakesLittleMemory(t *testing.T) {
	large := v1alpha1.NewAnyJSON([]byte("[{}" + strings.Repeat(",{}", 60_000) + "]"))
	var dataObjects, targets []client.Object
	for i := range 5 {
		meta := metav1.ObjectMeta{Namespace: "n", Name: "o" + strconv.Itoa(i), Labels: map[string]string{
			v1alpha1.DataObjectContextLabel: kit.InstallationScope("root"), v1alpha1.DataObjectSourceTypeLabel: v1alpha1.DataObjectSourceImport,
		}}
		dataObjects = append(dataObjects, &v1alpha1.DataObject{ObjectMeta: meta, Data: large})
		targets = append(targets, &v1alpha1.Target{ObjectMeta: meta, Spec: v1alpha1.TargetSpec{Configuration: &large}})
	}
	for name, objects := range map[string][]client.Object{"DataObject n/o": dataObjects, "Target n/o": targets} {
		t.Run(name, func(t *testing.T) {
			_, err := with(t, objects...).exportInputs(t.Context(), &Plan{Inst: fixture.Working("root", "1", "job")}, nil)
			assert.ErrorContains(t, err, "it takes more than 64 MiB of memory")
			assert.ErrorContains(t, err, name)
			assert.Equal(t, kit.Stalled, kit.AsFailure("", err).Kind)
		})
	}
}

// TestScopesAreReadForExportsWithoutCopies has objects in the scope that nobody looks for.
func TestScopesAreReadForExportsWithoutCopies(t *testing.T) {
	labels := map[string]string{
		v1alpha1.DataObjectContextLabel: kit.InstallationScope("root"), v1alpha1.DataObjectSourceTypeLabel: v1alpha1.DataObjectSourceImport,
		v1alpha1.DataObjectKeyLabel: "in",
	}
	meta := metav1.ObjectMeta{Namespace: "n", Name: "in", Labels: labels}
	target := &v1alpha1.Target{ObjectMeta: meta, Status: v1alpha1.TargetStatus{ObservedGeneration: 3}}
	m := with(t, &v1alpha1.DataObject{ObjectMeta: meta, Data: v1alpha1.NewAnyJSON([]byte("1"))}, target)
	cache, reads := cluster.Counting(m.Client.(client.WithWatch))
	m.Client = cache
	seen, err := m.exportInputs(t.Context(), &Plan{Inst: fixture.Working("root", "1", "job")}, nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]int{"*v1alpha1.DataObjectList": 1, "*v1alpha1.TargetList": 1}, reads)
	assert.Equal(t, map[string]any{"in": int64(1)}, seen.DataObjects)
	shown, _ := seen.Targets["in"].(map[string]any)
	assert.Equal(t, "Target", shown["kind"])
	assert.Equal(t, v1alpha1.GroupVersion.String(), shown["apiVersion"])
	assert.NotContains(t, shown, "status")
}
