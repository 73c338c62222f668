// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
)

// owners are the states an object may be in before a job: how its marks are changed, absent objects are not there.
var owners = map[string]func(b *bench, object *unstructured.Unstructured){
	"absent": nil,
	"own":    func(b *bench, object *unstructured.Unstructured) { b.markAs(object, b.Owner) },
	"own before it was made anew": func(b *bench, object *unstructured.Unstructured) {
		b.markAs(object, resources.Owner{Item: b.Owner.Item, Namespace: b.Owner.Namespace, UID: "before"})
	},
	"own of Gardener Landscaper": func(b *bench, object *unstructured.Unstructured) {
		object.SetLabels(map[string]string{v1alpha1.ManifestDeployItemLabel: resources.LabelValue(b.Owner.Item)})
	},
	"foreign": func(b *bench, object *unstructured.Unstructured) {
		b.markAs(object, resources.Owner{Item: "another", Namespace: b.Owner.Namespace, UID: "another"})
	},
	"foreign of Gardener Landscaper": func(_ *bench, object *unstructured.Unstructured) {
		object.SetLabels(map[string]string{v1alpha1.ManifestDeployItemLabel: "another"})
	},
	"same name from elsewhere": func(b *bench, object *unstructured.Unstructured) {
		b.markAs(object, resources.Owner{Item: b.Owner.Item, Namespace: "elsewhere", UID: "another"})
	},
	"unlabelled": func(*bench, *unstructured.Unstructured) {},
}

func (b *bench) markAs(object *unstructured.Unstructured, owner resources.Owner) {
	owner.Mark(object, managedresource.ManagePolicy)
}

// expectation is what becomes of an object: whether it exists after the job, is changed by it, is recorded, makes the job fail, and is
// deleted with the item.
type expectation struct{ exists, changed, recorded, refused, deleted bool }

func expected(policy managedresource.ManifestPolicy, owner string) expectation {
	absent, isOwn := owner == "absent", len(owner) >= 3 && owner[:3] == "own"
	switch {
	case policy == "ignore":
		return expectation{exists: !absent}
	case absent, isOwn && policy != "immutable":
		return expectation{exists: true, changed: true, recorded: true, deleted: policy != "keep"}
	case isOwn:
		// A record of an object that another UID owns does not delete it; only writing it makes it this item's.
		return expectation{exists: true, recorded: true, deleted: owner != "own before it was made anew"}
	case policy == "fallback", policy == "immutable":
		return expectation{exists: true}
	case owner == "unlabelled":
		return expectation{exists: true, changed: true, recorded: true, deleted: policy == "manage"}
	}
	return expectation{exists: true, refused: true}
}

func TestD12PoliciesRespectOwners(t *testing.T) {
	for _, policy := range []managedresource.ManifestPolicy{"manage", "fallback", "keep", "ignore", "immutable"} {
		for _, strategy := range []managedresource.UpdateStrategy{"update", "patch", "merge", "mergeOverwrite", "apply"} {
			t.Run(fmt.Sprintf("%s by %s", policy, strategy), func(t *testing.T) {
				b := newBench(t)
				b.Owner.Namespace = "landscapes"
				for owner, mark := range owners {
					b.checkPolicy(policy, strategy, owner, mark)
				}
			})
		}
	}
}

func (b *bench) checkPolicy(policy managedresource.ManifestPolicy, strategy managedresource.UpdateStrategy, owner string,
	mark func(*bench, *unstructured.Unstructured)) {
	expect := expected(policy, owner)
	if mark != nil {
		before := b.configMap("object", "a", "old")
		mark(b, before)
		b.put(before)
	}
	object := b.configMap("object", "added", "new")
	desired := withPolicy(policy, object)
	desired.PatchAfterDeployment = &runtime.RawExtension{Raw: []byte(`{"data":{"patched":"yes"}}`)}

	applied, err := b.Apply(b.t.Context(), []resources.Desired{desired}, resources.ApplyOptions{Strategy: strategy})
	patchErr := resources.PatchAfterDeployment(b.t.Context(), b.Cluster, []resources.Desired{desired}, applied.Managed)

	assert.Equal(b.t, expect.refused, err != nil, "%s: refused: %v", owner, err)
	assert.NoError(b.t, patchErr, owner)
	assert.Equal(b.t, expect.exists, b.exists(object), "%s: exists", owner)
	assert.Equal(b.t, expect.recorded, len(applied.Managed) == 1, "%s: recorded", owner)
	if expect.exists {
		content := data(b.live(object))
		assert.Equal(b.t, expect.changed, content["added"] == "new", "%s: changed", owner)
		assert.Equal(b.t, expect.recorded, content["patched"] == "yes", "%s: patched", owner)
	}
	progress, err := b.Delete(b.t.Context(), applied.Managed, nil)
	require.NoError(b.t, err)
	assert.True(b.t, progress.Done())
	assert.Equal(b.t, expect.exists && !expect.deleted, b.exists(object), "%s: exists after the deletion", owner)
	b.clear(object)
}

func TestForeignObjectAsWantedCountsOnlyWherePolicyNeverDeletes(t *testing.T) {
	for policy, refused := range map[managedresource.ManifestPolicy]bool{"manage": true, "keep": false, "fallback": false, "immutable": false} {
		t.Run(string(policy), func(t *testing.T) {
			b := newBench(t)
			shared := b.configMap("shared", "a", "1")
			b.markAs(shared, resources.Owner{Item: "another", Namespace: "elsewhere", UID: "another"})
			before := b.put(shared)

			applied, err := b.Apply(t.Context(), []resources.Desired{withPolicy(policy, b.configMap("shared", "a", "1"))}, resources.ApplyOptions{})

			assert.Equal(t, refused, err != nil, "%v", err)
			assert.Empty(t, applied.Managed)
			assert.Equal(t, refused, len(applied.Subjects) == 0, "readiness looks at what counts")
			assert.Equal(t, before.GetResourceVersion(), b.live(shared).GetResourceVersion())
		})
	}
}

func TestRefusalNamesTheOwner(t *testing.T) {
	b := newBench(t)
	shared := b.configMap("shared", "a", "1")
	b.markAs(shared, resources.Owner{Item: "another", Namespace: "elsewhere", UID: "another"})
	b.put(shared)

	_, err := b.Apply(t.Context(), []resources.Desired{manage(b.configMap("shared", "a", "2"))}, resources.ApplyOptions{})

	assert.ErrorContains(t, err, "belongs to DeployItem another of namespace elsewhere; remove it there")
}

func TestD09IgnoredObjectIsReleased(t *testing.T) {
	b := newBench(t)
	known := b.apply("", nil, manage(b.configMap("one", "a", "1"))).Managed

	applied := b.apply("", known, withPolicy("ignore", b.configMap("one", "a", "2")))

	assert.Empty(t, applied.Orphans(known))
	assert.Empty(t, applied.Union(known))
	assert.Equal(t, map[string]string{"a": "1"}, data(b.live(b.configMap("one", "a", "1"))))
}

// clear removes an object behind the back of the session.
func (b *bench) clear(object *unstructured.Unstructured) {
	b.t.Helper()
	if b.exists(object) {
		require.NoError(b.t, b.Cluster.Client.Delete(b.t.Context(), object.DeepCopy()))
	}
}

func TestC22PoliciesAndStrategies(t *testing.T) {
	contents := map[managedresource.UpdateStrategy]map[string]string{
		"update":         {"a": "new", "added": "1"},
		"patch":          {"a": "new", "added": "1"},
		"merge":          {"a": "old", "gone": "1", "added": "1"},
		"mergeOverwrite": {"a": "new", "gone": "1", "added": "1"},
		"apply":          {"a": "new", "added": "1"},
	}
	for policy, does := range map[managedresource.ManifestPolicy]struct{ updates, deletes bool }{
		"manage": {true, true}, "fallback": {true, true}, "keep": {true, false}, "immutable": {false, true}, "ignore": {false, false},
	} {
		for strategy, content := range contents {
			t.Run(fmt.Sprintf("%s by %s", policy, strategy), func(t *testing.T) {
				b := newBench(t)
				text := "{apiVersion: v1, kind: ConfigMap, metadata: {name: one, namespace: %[1]s}, data: VERSION}"
				object := b.version(text, "{a: new, added: '1'}")
				known := b.apply(strategy, nil, manage(b.version(text, "{a: old, gone: '1'}"))).Managed

				applied := b.apply(strategy, known, withPolicy(policy, object))

				if !does.updates {
					content = map[string]string{"a": "old", "gone": "1"}
				}
				assert.Equal(t, content, data(b.live(object)))
				_, err := b.Delete(t.Context(), applied.Union(known), nil)
				require.NoError(t, err)
				assert.Equal(t, !does.deletes, b.exists(object), "stays")
				fresh := b.configMap("fresh", "a", "1")
				b.apply(strategy, nil, withPolicy(policy, fresh))
				assert.Equal(t, policy != "ignore", b.exists(fresh), "created")
			})
		}
	}
}
