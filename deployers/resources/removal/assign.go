// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package removal

import (
	"math"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
)

// noGroup comes after all groups.
const noGroup = math.MaxInt

// ofKind finds the first group that selects a resource of a kind: there may be as many selections, and as many groups, as a deploy item has resources.
type ofKind struct {
	all        int
	namespaces map[string]int
	named      map[string][]selected
}

// selected is a selection by name, of a group; in all namespaces where it has none.
type selected struct {
	namespaces map[string]bool
	group      int
}

func newOfKind() *ofKind {
	return &ofKind{all: noGroup, namespaces: map[string]int{}, named: map[string][]selected{}}
}

// add adds a selection of a group that comes after those of former selections, or is the same.
func (k *ofKind) add(one selection, group int) {
	names, namespaces := one.names.Names, one.names.Namespaces
	switch {
	case len(names) > 0:
		k.addNamed(names, selected{setOf(namespaces), group})
		return
	case len(namespaces) == 0:
		k.all = min(k.all, group)
	}
	for _, namespace := range namespaces {
		if _, isKnown := k.namespaces[namespace]; !isKnown {
			k.namespaces[namespace] = group
		}
	}
}

func (k *ofKind) addNamed(names []string, one selected) {
	for _, name := range names {
		k.named[name] = append(k.named[name], one)
	}
}

func setOf(texts []string) map[string]bool {
	set := make(map[string]bool, len(texts))
	for _, text := range texts {
		set[text] = true
	}
	return set
}

func (k *ofKind) takes(namespace, name string) bool { return k.first(namespace, name) != noGroup }

// first returns the first group that selects a resource, noGroup where there is none.
func (k *ofKind) first(namespace, name string) int {
	found := k.all
	if group, ok := k.namespaces[namespace]; ok {
		found = min(found, group)
	}
	for _, one := range k.named[name] {
		if one.group >= found {
			break
		}
		if len(one.namespaces) == 0 || one.namespaces[namespace] {
			return one.group
		}
	}
	return found
}

// order finds the first of many groups that takes a resource.
type order struct {
	predefined map[managedresource.PredefinedResourceGroupType]int
	byKind     map[schema.GroupVersionKind]*ofKind
}

func orderOf(groups []*deletionGroup) order {
	o := order{predefined: map[managedresource.PredefinedResourceGroupType]int{}, byKind: map[schema.GroupVersionKind]*ofKind{}}
	for i, group := range groups {
		o.add(group, i)
	}
	return o
}

func (o order) add(group *deletionGroup, at int) {
	if group.PredefinedResourceGroup != nil {
		if _, isKnown := o.predefined[group.PredefinedResourceGroup.Type]; !isKnown {
			o.predefined[group.PredefinedResourceGroup.Type] = at
		}
		return
	}
	if group.isElsewhere() {
		return
	}
	for _, one := range group.selections {
		if o.byKind[one.gvk] == nil {
			o.byKind[one.gvk] = newOfKind()
		}
		o.byKind[one.gvk].add(one, at)
	}
}

func (o order) first(gvk schema.GroupVersionKind, ref managedresource.ResourceReference) int {
	found := noGroup
	if selected := o.byKind[gvk]; selected != nil {
		found = selected.first(ref.Namespace, ref.Name)
	}
	for _, kind := range predefinedTypes {
		if at, ok := o.predefined[kind]; ok && at < found && takesPredefined(kind, gvk, ref) {
			found = at
		}
	}
	return found
}

// assign gives every managed resource to the first group that takes it. Resources that no group takes are left alone.
func assign(groups []*deletionGroup, managed []managedresource.ManagedResourceStatus) {
	order := orderOf(groups)
	for _, m := range managed {
		if at := order.first(objects.GVKOf(m.Resource), m.Resource); at != noGroup {
			groups[at].members = append(groups[at].members, m)
		}
	}
}
