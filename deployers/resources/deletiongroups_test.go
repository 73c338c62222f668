// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// fewKinds is a cluster that knows a few kinds and answers nothing else.
func fewKinds() *target.Cluster {
	mapper := meta.NewDefaultRESTMapper(nil)
	for gvk, scope := range map[schema.GroupVersionKind]meta.RESTScope{
		{Version: "v1", Kind: "ConfigMap"}:                                               meta.RESTScopeNamespace,
		{Version: "v1", Kind: "Namespace"}:                                               meta.RESTScopeRoot,
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}: meta.RESTScopeRoot,
		{Group: "example.com", Version: "v1", Kind: "Gadget"}:                            meta.RESTScopeNamespace,
		{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}:         meta.RESTScopeRoot,
	} {
		mapper.Add(gvk, scope)
	}
	return &target.Cluster{Name: "cluster", Mapper: mapper}
}

// FuzzDeletionGroups divides what is deployed among groups as they stand in configurations, and unchecked in the status: each object goes with
// the first group that takes it, once, and only where a group for this cluster says so.
func FuzzDeletionGroups(f *testing.F) {
	for _, seed := range []string{
		`[{"predefinedResourceGroup": {"type": "namespaced-resources", "forceDelete": true}}, {"predefinedResourceGroup": {"type": "crds"}}]`,
		`[{"customResourceGroup": {"resources": [{"apiVersion": "v1", "kind": "ConfigMap", "names": ["a"], "namespaces": ["one"]}], "deleteAllResources": true}}]`,
		`[{"customResourceGroup": {"targetName": "other", "resources": [{"apiVersion": "example.com/v1", "kind": "gadgets"}]}}, {}]`,
		`[{"predefinedResourceGroup": {"type": "cluster-scoped-resources"}, "customResourceGroup": {"resources": [{"apiVersion": "a/b/c", "kind": ""}]}}]`,
	} {
		f.Add(seed)
	}
	cluster := fewKinds()
	f.Fuzz(func(t *testing.T, text string) {
		var definitions []managedresource.DeletionGroupDefinition
		if json.Unmarshal([]byte(text), &definitions) != nil {
			return
		}
		var groups []*deletionGroup
		for _, definition := range definitions {
			group, err := newDeletionGroup(t.Context(), cluster, definition)
			if err != nil {
				return
			}
			groups = append(groups, group)
		}
		managed := []managedresource.ManagedResourceStatus{
			{Resource: managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "one", Name: "a"}},
			{Resource: managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "two", Name: "b"}},
			{Resource: managedresource.ResourceReference{APIVersion: "v1", Kind: "Namespace", Name: "one"}},
			{Resource: managedresource.ResourceReference{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition", Name: "gadgets.example.com"}},
			{Resource: managedresource.ResourceReference{APIVersion: "example.com/v1", Kind: "Gadget", Namespace: "one", Name: "a"}},
		}

		assign(groups, managed)

		taken := map[managedresource.ResourceReference]int{}
		for i, group := range groups {
			require.False(t, group.elsewhere && len(group.members) > 0, "group %d is for another cluster", i)
			for _, member := range group.members {
				taken[member.Resource]++
				for j := range i {
					require.False(t, groups[j].takes(member.Resource), "group %d comes before group %d", j, i)
				}
			}
			if group.everything {
				for _, one := range group.selections {
					require.NotEmpty(t, one.gvk.Kind, "group %d would delete objects of any kind", i)
				}
			}
		}
		for _, one := range managed {
			times := taken[one.Resource]
			require.LessOrEqual(t, times, 1, "%v", one.Resource)
			delete(taken, one.Resource)
		}
		require.Empty(t, taken, "nothing but what is deployed")
	})
}

func TestWhatAGroupTakes(t *testing.T) {
	resource := func(kind string, names, namespaces []string) managedresource.ResourceType {
		return managedresource.ResourceType{APIVersion: "v1", Kind: kind, Names: names, Namespaces: namespaces}
	}
	group, err := newDeletionGroup(t.Context(), fewKinds(), managedresource.DeletionGroupDefinition{
		CustomResourceGroup: &managedresource.CustomResourceGroup{Resources: []managedresource.ResourceType{
			resource("ConfigMap", []string{"a", "b"}, []string{"one", "two"}), resource("ConfigMap", []string{"c"}, nil),
			resource("ConfigMap", nil, []string{"three"}), resource("Namespace", nil, nil), resource("ConfigMap", []string{"b"}, []string{"four"}),
		}},
	})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		kind, namespace, name string
		want                  bool
	}{
		"a name and a namespace":        {"ConfigMap", "two", "a", true},
		"a name in another namespace":   {"ConfigMap", "four", "a", false},
		"a name that is selected twice": {"ConfigMap", "four", "b", true},
		"a name wherever it is":         {"ConfigMap", "four", "c", true},
		"a whole namespace":             {"ConfigMap", "three", "d", true},
		"another name":                  {"ConfigMap", "one", "d", false},
		"no name":                       {"ConfigMap", "", "", false},
		"a whole kind":                  {"Namespace", "", "d", true},
		"a kind that is not in any":     {"Secret", "one", "a", false},
	} {
		t.Run(name, func(t *testing.T) {
			ref := managedresource.ResourceReference{APIVersion: "v1", Kind: c.kind, Namespace: c.namespace, Name: c.name}
			require.Equal(t, c.want, group.takes(ref))
		})
	}
}
