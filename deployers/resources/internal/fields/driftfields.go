// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// DifferingFields returns, as JSON pointers into live, the fields that wanted names and whose value in result, the object as the API server
// would store it, is not that in live. Items of lists are told apart as managedFields do; a list that these do not take apart is one value. Of many fields
// it returns the first ones alone, and of a long pointer the beginning.
func DifferingFields(wanted, live, result *unstructured.Unstructured) []string {
	found := &differing{}
	compareFields(nil, wanted.Object, live.Object, result.Object, everybodysFields(live), found)
	return found.pointers
}

const (
	// maxPointer is how many bytes of a pointer are kept, maxPointers of all of an object.
	maxPointer  = 1 << 10
	maxPointers = 64 << 10
)

// differing gathers pointers.
type differing struct {
	pointers []string
	size     int
}

func (d *differing) add(at *place) {
	if d.size >= maxPointers {
		return
	}
	pointer := at.pointer()
	d.pointers, d.size = append(d.pointers, pointer), d.size+len(pointer)
}

// place is a value in an object; nil is the object itself. Its pointer is made where it is needed: those of all places above one another may be
// larger than the object many times over.
type place struct {
	above *place
	name  string
}

func (p *place) pointer() string {
	var names []string
	for ; p != nil; p = p.above {
		names = append(names, p.name)
	}
	var pointer strings.Builder
	for _, name := range slices.Backward(names) {
		pointer.WriteByte('/')
		pointer.WriteString(escaped(name))
		if pointer.Len() > maxPointer {
			break
		}
	}
	return beginning.Of(pointer.String(), maxPointer)
}

func everybodysFields(live *unstructured.Unstructured) ownership {
	o := ownershipOf(live)
	o.theirs.add(o.ours)
	return ownership{theirs: o.theirs}
}

func compareFields(at *place, wanted, live, result any, o ownership, found *differing) {
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
		names, isSet := o.itemKeys()
		index, isTold := indexItems(w, names)
		if isLive && isResult && isTold && (names != nil || isSet) {
			compareItems(at, index, w, l, r, o, found)
			return
		}
	}
	if !reflect.DeepEqual(live, result) {
		found.add(at)
	}
}

func compareMaps(at *place, wanted, live, result map[string]any, o ownership, found *differing) {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		stored, isStored := result[name]
		if at == nil && (name == "apiVersion" || name == "kind") || !isStored {
			continue // the API server drops what it does not know
		}
		here := &place{at, name}
		has, isLive := live[name]
		if !isLive {
			found.add(here)
			continue
		}
		compareFields(here, wanted[name], has, stored, o.below("f:"+name), found)
	}
}

func compareItems(at *place, index itemIndex, wanted, live, result []any, o ownership, found *differing) {
	stored, has := index.firstsIn(result), index.firstsIn(live)
	for i, item := range wanted {
		switch {
		case stored[i] < 0:
		case has[i] < 0:
			found.add(&place{at, strconv.Itoa(stored[i])})
		default:
			l := live[has[i]]
			compareFields(&place{at, strconv.Itoa(has[i])}, item, l, result[stored[i]], o.below(itemKey(l, index.names)), found)
		}
	}
}

// Corrected returns live with the fields that are wanted. What others have written through a subresource stays.
func Corrected(wanted, live *unstructured.Unstructured) *unstructured.Unstructured {
	next := wanted.DeepCopy()
	next.SetResourceVersion(live.GetResourceVersion())
	o := ownershipOf(live)
	o.theirs.add(o.ours)
	ownership{theirs: o.theirs, elsewhere: o.elsewhere}.keepFields(next.Object, withoutServerFields(live))
	return next
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

func escaped(name string) string { return pointerEscapes.Replace(name) }

// IgnoredFields is a rule that says which fields do not count.
type IgnoredFields struct {
	selects managedresource.Selects
	paths   [][]string
}

// CompileRules reads rules about fields that do not count. The error names the rule by its index.
func CompileRules(rules []managedresource.IgnoreRule) ([]IgnoredFields, error) {
	var compiled []IgnoredFields
	for i, rule := range rules {
		selects, err := rule.Target.Compile(fmt.Sprintf("driftDetection.ignore[%d].target", i))
		if err != nil {
			return nil, err
		}
		ignored := IgnoredFields{selects: selects}
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

// Pardon makes the fields of an object that rules ignore those of live. It ends with the context.
func Pardon(ctx context.Context, rules []IgnoredFields, wanted, live *unstructured.Unstructured) error {
	if len(rules) == 0 {
		return nil
	}
	o := everybodysFields(live)
	for _, rule := range rules {
		if !rule.selects(live.GroupVersionKind(), live) {
			continue
		}
		for _, path := range rule.paths {
			if err := ctx.Err(); err != nil {
				return err
			}
			pardonField(wanted.Object, live.Object, path, o)
		}
	}
	return nil
}

func pardonField(wanted, live any, path []string, o ownership) {
	name := path[0]
	switch w := wanted.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		has, found := l[name]
		switch {
		case len(path) > 1 && w[name] != nil:
			pardonField(w[name], has, path[1:], o.below("f:"+name))
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
		names, isSet := o.itemKeys()
		mine := at
		if index, isTold := indexItems(w, names); isTold && (names != nil || isSet) {
			mine = index.placeOf(l[at])
		}
		switch {
		case mine < 0 || mine >= len(w):
		case len(path) > 1:
			pardonField(w[mine], l[at], path[1:], o.below(itemKey(l[at], names)))
		default:
			w[mine] = l[at]
		}
	}
}

// OwnedBy returns the fields of one manager that it has written into the object itself.
func OwnedBy(live *unstructured.Unstructured, manager string) fieldSet {
	owned := fieldSet{}
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == manager && entry.Subresource == "" {
			owned.add(fieldsIn(entry))
		}
	}
	return owned
}

// OwnsAll reports whether a set of fields has every field that is wanted. What identifies an object is nobody's.
func OwnsAll(wanted map[string]any, owned fieldSet) bool {
	for name, value := range wanted {
		switch name {
		case "apiVersion", "kind":
			continue
		case "metadata":
			fields, _ := value.(map[string]any)
			for _, part := range []string{"labels", "annotations"} {
				in := owned.at("f:metadata")
				if fields[part] != nil && (!in.has("f:"+part) || !ownsValue(fields[part], in.at("f:"+part))) {
					return false
				}
			}
		default:
			if !owned.has("f:"+name) || !ownsValue(value, owned.at("f:"+name)) {
				return false
			}
		}
	}
	return true
}

func ownsValue(value any, owned fieldSet) bool {
	if len(owned) == 0 { // one value for who wrote it, or a map of which nothing is left
		fields, isMap := value.(map[string]any)
		return !isMap || len(fields) == 0
	}
	switch v := value.(type) {
	case map[string]any:
		for name, below := range v {
			if !owned.has("f:"+name) || !ownsValue(below, owned.at("f:"+name)) {
				return false
			}
		}
	case []any:
		names, isSet := ownership{ours: owned}.itemKeys()
		for _, item := range v {
			key := itemKey(item, names)
			if names == nil && !isSet || !owned.has(key) || !ownsValue(item, owned.at(key)) {
				return false
			}
		}
	}
	return true
}
