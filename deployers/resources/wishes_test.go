// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

func TestAnnotationsOfSingleObjects(t *testing.T) {
	const ours, flux = managedresource.Annotations, managedresource.FluxAnnotations
	all := []managedresource.UpdateStrategy{"update", "patch", "merge", "mergeOverwrite", "apply"}
	for name, test := range map[string]struct {
		annotation, value string
		strategies        []managedresource.UpdateStrategy
		// created, changed and deleted say what becomes of the object.
		created, changed, deleted bool
	}{
		"ours: not to be pruned":     {ours + "prune", "disabled", all, true, true, false},
		"ours: not to be reconciled": {ours + "reconcile", "Disabled", all, false, false, false},
		"ours: to be ignored":        {ours + "ssa", "Ignore", all, false, false, true},
		"ours: only once":            {ours + "ssa", "IfNotPresent", all, true, false, true},
		"Flux: not to be pruned":     {flux + "prune", "disabled", all, true, true, false},
		"Flux: not to be reconciled": {flux + "reconcile", "disabled", all[4:], false, false, false},
		"Flux: to be ignored":        {flux + "ssa", "ignore", all[4:], false, false, true},
		"Flux: only once":            {flux + "ssa", "IfNotPresent", all[4:], true, false, true},
		"Flux, for somebody else":    {flux + "reconcile", "disabled", all[:4], true, true, true},
		"Flux's ssa, by others":      {flux + "ssa", "Ignore", all[:4], true, true, true},
	} {
		for _, strategy := range test.strategies {
			t.Run(name+" by "+string(strategy), func(t *testing.T) {
				b := newBench(t)
				asks := map[string]string{test.annotation: test.value}
				fresh, known := b.configMap("fresh", "a", "1"), b.configMap("known", "a", "1")
				fresh.SetAnnotations(asks)

				created := b.apply(strategy, nil, manage(fresh))

				assert.Equal(t, test.created, b.exists(fresh), "created")
				assert.Len(t, created.Managed, map[bool]int{true: 1}[test.created])
				recorded := b.apply(strategy, nil, manage(known)).Managed
				changed := b.configMap("known", "added", "2")
				changed.SetAnnotations(asks)
				b.change(known, "{metadata: {annotations: {'"+test.annotation+"': '"+test.value+"'}}}")
				recorded = b.apply(strategy, recorded, manage(changed)).Managed
				assert.Equal(t, test.changed, data(b.live(known))["added"] == "2", "changed")
				require.Len(t, recorded, 1, "it stays on record")
				progress, err := b.Delete(t.Context(), recorded, nil)
				require.NoError(t, err)
				assert.True(t, progress.Done())
				assert.Equal(t, !test.deleted, b.exists(known), "deleted")
			})
		}
	}
}

func TestAnnotationsOnTheTargetCount(t *testing.T) {
	b := newBench(t)
	object := b.configMap("one", "a", "1")
	known := b.apply(serverSideApply, nil, manage(object)).Managed
	b.change(object, "{metadata: {annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}}, data: {a: by hand}}")

	applied := b.apply(serverSideApply, known, manage(object))

	assert.Equal(t, map[string]string{"a": "by hand"}, data(b.live(object)))
	assert.Empty(t, applied.Subjects, "nobody waits for it")
}

func TestLabelsAskAsAnnotationsDo(t *testing.T) {
	b := newBench(t)
	object := b.configMap("one", "a", "1")
	object.SetLabels(map[string]string{managedresource.FluxAnnotations + "prune": "disabled"})
	known := b.apply("", nil, manage(object)).Managed

	_, err := b.Delete(t.Context(), known, nil)

	require.NoError(t, err)
	assert.True(t, b.exists(object))
}

func TestGroupsThatDeleteEverythingSpareWhatIsNotToBePruned(t *testing.T) {
	b := newBench(t)
	spared := b.configMap("spared", "a", "1")
	spared.SetAnnotations(map[string]string{managedresource.PruneAnnotation: "disabled"})
	b.put(spared)
	known := b.apply("", nil, manage(b.configMap("one", "a", "1"))).Managed

	_, err := b.Delete(t.Context(), known, []managedresource.DeletionGroupDefinition{{CustomResourceGroup: &managedresource.CustomResourceGroup{
		DeleteAllResources: true, Resources: []managedresource.ResourceType{{APIVersion: "v1", Kind: "ConfigMap", Namespaces: []string{b.namespace}}},
	}}})

	require.NoError(t, err)
	assert.True(t, b.exists(spared))
	assert.False(t, b.exists(b.configMap("one", "a", "")))
}
