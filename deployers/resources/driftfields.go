// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// Differing returns, as JSON pointers, the fields in which two objects differ, none of which need to be on a cluster.
func Differing(a, b *unstructured.Unstructured) []string {
	fields := append(differingFields(a, b, a), differingFields(b, a, b)...)
	slices.Sort(fields)
	return slices.Compact(fields)
}

// DifferingFields returns, as JSON pointers into live, the fields that wanted names and whose value in result, the object as the API server
// would store it, is not that in live. Items of lists are told apart as managedFields do; a list that these do not take apart is one value.
func differingFields(wanted, live, result *unstructured.Unstructured) []string {
	var found []string
	compareFields("", wanted.Object, live.Object, result.Object, everybodys(live), &found)
	return found
}

func compareFields(at string, wanted, live, result any, o ownership, found *[]string) {
	switch w := wanted.(type) {
	case map[string]any:
		l, isLive := live.(map[string]any)
		r, isResult := result.(map[string]any)
		if isLive && isResult {
			compareMaps(at, w, l, r, o, found)
			return
		}
	case []any:
		l, isLive := live.([]any)
		r, isResult := result.([]any)
		keys, isTold := o.itemKeys()
		if isLive && isResult && isTold {
			compareItems(at, indexItems(w, keys), l, r, o, found)
			return
		}
	}
	if !reflect.DeepEqual(live, result) {
		*found = append(*found, at)
	}
}

func compareMaps(at string, wanted, live, result map[string]any, o ownership, found *[]string) {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		stored, isStored := result[name]
		if at == "" && (name == "apiVersion" || name == "kind") || !isStored {
			continue // the API server drops what it does not know
		}
		here := at + "/" + escaped(name)
		has, isLive := live[name]
		if !isLive {
			*found = append(*found, here)
			continue
		}
		compareFields(here, wanted[name], has, stored, o.below(named(name)), found)
	}
}

func compareItems(at string, x itemIndex, live, result []any, o ownership, found *[]string) {
	stored, has := x.firstsIn(result), x.firstsIn(live)
	for i, item := range x.wanted {
		switch {
		case stored[i] < 0:
		case has[i] < 0:
			*found = append(*found, at+"/"+strconv.Itoa(stored[i]))
		default:
			l := live[has[i]]
			compareFields(at+"/"+strconv.Itoa(has[i]), item, l, result[stored[i]], o.below(x.keys.element(l)), found)
		}
	}
}

// Corrected returns live with the fields that are wanted. What others have written through a subresource stays.
func corrected(wanted, live *unstructured.Unstructured) *unstructured.Unstructured {
	next := wanted.DeepCopy()
	next.SetResourceVersion(live.GetResourceVersion())
	everybodys(live).keepFields(next.Object, withoutServerFields(live))
	return next
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func escaped(name string) string { return pointerEscapes.Replace(name) }

// IgnoredFields is a rule that says which fields do not count.
type ignoredFields struct {
	selects managedresource.Selects
	paths   [][]string
}

// CompileRules reads rules about fields that do not count. The error names the rule by its index.
func compileRules(rules []managedresource.IgnoreRule) ([]ignoredFields, error) {
	var compiled []ignoredFields
	for i, rule := range rules {
		selects, err := rule.Target.Compile(fmt.Sprintf("driftDetection.ignore[%d].target", i))
		if err != nil {
			return nil, err
		}
		ignored := ignoredFields{selects: selects}
		for _, path := range rule.Paths {
			var names []string
			for _, name := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
				names = append(names, strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~"))
			}
			ignored.paths = append(ignored.paths, names)
		}
		compiled = append(compiled, ignored)
	}
	return compiled, nil
}

// Pardon makes the fields of an object that rules ignore those of live.
func pardon(rules []ignoredFields, wanted, live *unstructured.Unstructured) {
	for _, rule := range rules {
		if !rule.selects(live.GroupVersionKind(), live) {
			continue
		}
		for _, path := range rule.paths {
			pardonField(wanted.Object, live.Object, path, everybodys(live))
		}
	}
}

func pardonField(wanted, live any, path []string, o ownership) {
	name := path[0]
	switch w := wanted.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		has, found := l[name]
		switch {
		case len(path) > 1 && w[name] != nil:
			pardonField(w[name], has, path[1:], o.below(named(name)))
		case len(path) > 1:
		case found:
			w[name] = has
		default:
			delete(w, name)
		}
	case []any:
		l, _ := live.([]any)
		at, err := strconv.Atoi(name)
		if err != nil || at < 0 || at >= len(l) {
			return
		}
		keys, isTold := o.itemKeys()
		mine := at
		if isTold {
			mine = indexItems(w, keys).placeOf(l[at])
		}
		switch {
		case mine < 0 || mine >= len(w):
		case len(path) > 1:
			pardonField(w[mine], l[at], path[1:], o.below(keys.element(l[at])))
		default:
			w[mine] = l[at]
		}
	}
}

// OwnsAll reports whether a manager has written every field that is wanted into the object itself. What identifies an object is nobody's.
func ownsAll(wanted map[string]any, live *unstructured.Unstructured, manager string) bool {
	owned := &fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != manager || entry.Subresource != "" {
			continue
		}
		if fields, err := fieldsIn(entry); err == nil {
			owned = owned.Union(fields)
		}
	}
	metadata := below(owned, named("metadata"))
	for name, value := range wanted {
		switch name {
		case "apiVersion", "kind":
		case "metadata":
			fields, _ := value.(map[string]any)
			for _, part := range []string{"labels", "annotations"} {
				if fields[part] != nil && !ownsField(metadata, part, fields[part]) {
					return false
				}
			}
		default:
			if !ownsField(owned, name, value) {
				return false
			}
		}
	}
	return true
}

func ownsField(owned *fieldpath.Set, name string, value any) bool {
	return has(owned, named(name)) && ownsValue(value, below(owned, named(name)))
}

func ownsValue(value any, owned *fieldpath.Set) bool {
	if owned.Empty() { // one value for who wrote it, or a map of which nothing is left
		fields, isMap := value.(map[string]any)
		return !isMap || len(fields) == 0
	}
	switch v := value.(type) {
	case map[string]any:
		for name, inside := range v {
			if !ownsField(owned, name, inside) {
				return false
			}
		}
	case []any:
		keys, isTold := ownership{ours: owned, theirs: &fieldpath.Set{}}.itemKeys()
		for _, item := range v {
			at := keys.element(item)
			if !isTold || !has(owned, at) || !ownsValue(item, below(owned, at)) {
				return false
			}
		}
	}
	return true
}
