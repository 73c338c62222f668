// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

func custom(names, namespaces []string) managedresource.DeletionGroupDefinition {
	return managedresource.DeletionGroupDefinition{CustomResourceGroup: &managedresource.CustomResourceGroup{
		Resources: []managedresource.ResourceType{{APIVersion: "v1", Kind: "ConfigMap", Names: names, Namespaces: namespaces}},
	}}
}

func groupsOf(t *testing.T, definitions ...managedresource.DeletionGroupDefinition) (groups []*deletionGroup) {
	t.Helper()
	for _, definition := range definitions {
		group, err := newDeletionGroup(t.Context(), fewKinds(), definition)
		require.NoError(t, err)
		groups = append(groups, group)
	}
	return groups
}

func TestTheFirstGroupThatTakesAResourceHasIt(t *testing.T) {
	elsewhere := custom(nil, nil)
	elsewhere.CustomResourceGroup.TargetName = new("other")
	ref := managedresource.ResourceReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "one", Name: "a"}
	for name, tc := range map[string]struct {
		definitions []managedresource.DeletionGroupDefinition
		want        int
	}{
		"by name":                          {[]managedresource.DeletionGroupDefinition{custom([]string{"a"}, nil), custom(nil, nil)}, 0},
		"by namespace":                     {[]managedresource.DeletionGroupDefinition{custom([]string{"b"}, nil), custom(nil, []string{"one"}), custom([]string{"a"}, nil)}, 1},
		"by kind":                          {[]managedresource.DeletionGroupDefinition{custom(nil, nil), custom(nil, []string{"one"}), custom([]string{"a"}, nil)}, 0},
		"by name in the namespace":         {[]managedresource.DeletionGroupDefinition{custom([]string{"a"}, []string{"two"}), custom([]string{"a"}, []string{"one"})}, 1},
		"predefined before":                {[]managedresource.DeletionGroupDefinition{predefined(managedresource.NamespacedResources), custom([]string{"a"}, nil)}, 0},
		"predefined after":                 {[]managedresource.DeletionGroupDefinition{custom([]string{"a"}, nil), predefined(managedresource.NamespacedResources)}, 0},
		"predefined of others before":      {[]managedresource.DeletionGroupDefinition{predefined(managedresource.CRDs), custom([]string{"a"}, nil)}, 1},
		"of another target before":         {[]managedresource.DeletionGroupDefinition{elsewhere, custom(nil, nil)}, 1},
		"nobody takes it":                  {[]managedresource.DeletionGroupDefinition{elsewhere, predefined(managedresource.CRDs), custom([]string{"b"}, nil)}, -1},
		"of two in one list of namespaces": {[]managedresource.DeletionGroupDefinition{custom(nil, []string{"two", "one"}), custom(nil, []string{"one"})}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			groups := groupsOf(t, tc.definitions...)
			assign(groups, []managedresource.ManagedResourceStatus{{Resource: ref}})
			assert.Equal(t, tc.want, slices.IndexFunc(groups, func(g *deletionGroup) bool { return len(g.members) == 1 }))
		})
	}
}

// listed is a cluster that lists ConfigMaps, and remembers of which namespaces; all is "".
type listed struct {
	dynamic.NamespaceableResourceInterface
	namespace  string
	namespaces *[]string
}

func (l listed) Resource(schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return l
}

func (l listed) Namespace(namespace string) dynamic.ResourceInterface {
	l.namespace = namespace
	return l
}

func (l listed) List(context.Context, metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	*l.namespaces = append(*l.namespaces, l.namespace)
	list := &unstructured.UnstructuredList{}
	for _, namespace := range []string{"one", "two"} {
		for _, name := range []string{"a", "b"} {
			object := unstructured.Unstructured{}
			object.SetGroupVersionKind(configMapKind)
			object.SetNamespace(namespace)
			object.SetName(name)
			if l.namespace == "" || l.namespace == namespace {
				list.Items = append(list.Items, object)
			}
		}
	}
	return list, nil
}

func TestAKindIsListedOnceForAllOfItsSelections(t *testing.T) {
	resource := func(names, namespaces []string) managedresource.ResourceType {
		return managedresource.ResourceType{APIVersion: "v1", Kind: "ConfigMap", Names: names, Namespaces: namespaces}
	}
	for name, tc := range map[string]struct {
		types          []managedresource.ResourceType
		listed, others []string
	}{
		"by name": {[]managedresource.ResourceType{resource([]string{"a"}, nil), resource([]string{"b"}, nil)}, []string{""}, []string{"one/a", "one/b", "two/a", "two/b"}},
		"twice":   {[]managedresource.ResourceType{resource([]string{"a"}, nil), resource([]string{"a"}, []string{"one"})}, []string{""}, []string{"one/a", "two/a"}},
		"in single namespaces": {
			[]managedresource.ResourceType{resource([]string{"a"}, []string{"two"}), resource([]string{"b"}, []string{"two"}), resource(nil, []string{"one"})},
			[]string{"two", "one"}, []string{"two/a", "two/b", "one/a", "one/b"},
		},
		"in several": {[]managedresource.ResourceType{resource([]string{"a"}, []string{"one", "three"})}, []string{""}, []string{"one/a"}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, namespaces := fewKinds(), []string{}
			cluster.Dynamic = listed{namespaces: &namespaces}
			group, err := newDeletionGroup(t.Context(), cluster, managedresource.DeletionGroupDefinition{
				CustomResourceGroup: &managedresource.CustomResourceGroup{Resources: tc.types, DeleteAllResources: true},
			})
			require.NoError(t, err)
			removals, err := everyOther(t.Context(), &Served{}, group)
			require.NoError(t, err)
			var others []string
			for _, one := range removals {
				others = append(others, one.Resource.Namespace+"/"+one.Resource.Name)
			}
			assert.Equal(t, tc.listed, namespaces)
			assert.Equal(t, tc.others, others)
		})
	}
}
