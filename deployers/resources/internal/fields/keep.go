// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// A replaced object keeps what others have put on it: values that controllers and admission wrote and that the manifest says nothing about.
// Who wrote what stands in metadata.managedFields. Values that this package wrote for an earlier manifest go, and so does what people
// changed by hand with kubectl: the manifest is the truth about those.

// Manager is the name under which this package owns fields.
const Manager = "landscaper-deployer"

// fieldSet is the tree of the fields of one or more managers, as FieldsV1 encodes it: "f:name" is a field of a map, "k:{…}" an item of a
// list by its key, "v:…" an item of a set.
type fieldSet map[string]any

// ownership says who wrote the fields of an object.
type ownership struct {
	// ours are the fields of this package and of kubectl, theirs those of everybody else.
	ours, theirs fieldSet
	// elsewhere are the fields that others wrote through a subresource such as scale: they win over the manifest.
	elsewhere fieldSet
	// written says that this package has written the object before.
	written bool
}

// ownershipOf reads the managed fields of an object.
func ownershipOf(live *unstructured.Unstructured) ownership {
	o := ownership{ours: fieldSet{}, theirs: fieldSet{}, elsewhere: fieldSet{}}
	for _, entry := range live.GetManagedFields() {
		fields := fieldsIn(entry)
		switch {
		case entry.Manager == Manager && entry.Subresource == "":
			o.written = true
			o.ours.add(fields)
		case strings.HasPrefix(entry.Manager, "kubectl") && entry.Subresource == "":
			o.ours.add(fields)
		default:
			o.theirs.add(fields)
			if !strings.HasPrefix(entry.Manager, "kubectl") && entry.Subresource != "" {
				o.elsewhere.add(fields)
			}
		}
	}
	return o
}

// IsWritten reports whether this package has written an object before.
func IsWritten(live *unstructured.Unstructured) bool { return ownershipOf(live).written }

// fieldsIn reads the fields of one entry; fields that cannot be read count as none.
func fieldsIn(entry metav1.ManagedFieldsEntry) fieldSet {
	fields := map[string]any{}
	if entry.FieldsV1 != nil && json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
		return nil
	}
	return fields
}

// add adds the fields of another set.
func (f fieldSet) add(other fieldSet) {
	for key, value := range other {
		below, _ := value.(map[string]any)
		known, isKnown := f[key].(map[string]any)
		if !isKnown {
			known = map[string]any{}
			f[key] = known
		}
		fieldSet(known).add(below)
	}
}

// at returns the part of a set below a key; nil when the set has nothing there.
func (f fieldSet) at(key string) fieldSet {
	below, _ := f[key].(map[string]any)
	return below
}

// has reports whether the set has a field or something below it.
func (f fieldSet) has(key string) bool {
	_, found := f[key]
	return found
}

// below returns the ownership of what is below a key.
func (o ownership) below(key string) ownership {
	return ownership{ours: o.ours.at(key), theirs: o.theirs.at(key), elsewhere: o.elsewhere.at(key)}
}

// isOurs reports whether a value that the manifest does not have has to go: this package or kubectl wrote it and nobody else.
func (o ownership) isOurs(key string) bool { return o.ours.has(key) && !o.theirs.has(key) }

// keepFields adds to next, which may be changed, the fields of live that are to be kept.
func (o ownership) keepFields(next, live map[string]any) {
	for name, value := range live {
		key := "f:" + name
		wanted, isWanted := next[name]
		switch {
		case !isWanted && !o.isOurs(key):
			if kept := o.below(key).without(value); kept != nil {
				next[name] = kept
			}
		case isWanted && o.elsewhere.has(key) && isPlain(value):
			next[name] = value
		case isWanted && !o.isWhole(key):
			next[name] = o.below(key).keep(wanted, value)
		}
	}
}

// isWhole reports whether a map or list is one value for those who wrote it, so that it is wanted as a whole.
func (o ownership) isWhole(key string) bool {
	return (o.ours.has(key) || o.theirs.has(key)) && len(o.ours.at(key)) == 0 && len(o.theirs.at(key)) == 0
}

func isPlain(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// keep returns the wanted value together with what is to be kept of the live one.
func (o ownership) keep(wanted, live any) any {
	switch w := wanted.(type) {
	case map[string]any:
		if l, ok := live.(map[string]any); ok {
			o.keepFields(w, l)
		}
	case []any:
		if l, ok := live.([]any); ok {
			return o.keepItems(w, l)
		}
	}
	return wanted
}

// without returns a live value that the manifest does not have without what is ours inside; nil when nothing is left.
func (o ownership) without(live any) any {
	if len(o.ours) == 0 {
		return live
	}
	switch l := live.(type) {
	case map[string]any:
		kept := map[string]any{}
		o.keepFields(kept, l)
		if len(kept) > 0 {
			return kept
		}
		return nil
	case []any:
		if kept := o.keepItems(nil, l); len(kept) > 0 {
			return kept
		}
		return nil
	}
	return live
}

// keepItems returns the items of a list that are wanted or to be kept. Items are told apart as the managed fields do; a list that they do
// not take apart is one value.
func (o ownership) keepItems(wanted, live []any) []any {
	names, isSet := o.itemKeys()
	index, isTold := indexItems(wanted, names)
	if names == nil && !isSet || !isTold {
		return wanted
	}
	next := slices.Clone(wanted)
	keys := make([]string, len(live))
	for i, item := range live {
		keys[i] = itemKey(item, names)
	}
	var order []int
	for i, at := range index.pair(wanted, live, func(i int) bool { return o.ours.has(keys[i]) }) {
		switch {
		case at >= 0:
			next[at] = o.below(keys[i]).keep(next[at], live[i])
		case at == isOther && !o.isOurs(keys[i]):
			at = len(next)
			next = append(next, live[i])
		default:
			continue
		}
		order = append(order, at)
	}
	return inLiveOrder(next, len(wanted), order)
}

// inLiveOrder puts items in the order of the live object, given by their places, when the wanted items have the same order there; then the
// new ones. The API server compares some lists with their order.
func inLiveOrder(items []any, wanted int, order []int) []any {
	last := -1
	for _, place := range order {
		if place < wanted {
			if place < last {
				return items
			}
			last = place
		}
	}
	sorted := make([]any, 0, len(items))
	placed := make([]bool, len(items))
	for _, place := range order {
		sorted = append(sorted, items[place])
		placed[place] = true
	}
	for place, item := range items {
		if !placed[place] {
			sorted = append(sorted, item)
		}
	}
	return sorted
}

// itemKeys returns the fields that tell the items of a list apart, or that the list is a set of values. Neither is so for lists that are one
// value.
func (o ownership) itemKeys() (names []string, isSet bool) {
	for _, set := range []fieldSet{o.ours, o.theirs} {
		for key := range set {
			if example, ok := strings.CutPrefix(key, "k:"); ok {
				fields := map[string]any{}
				_ = json.Unmarshal([]byte(example), &fields)
				if len(fields) > maxKeyFields {
					return nil, false
				}
				return slices.Sorted(maps.Keys(fields)), false
			}
			if strings.HasPrefix(key, "v:") {
				return nil, true
			}
		}
	}
	return nil, false
}

// itemKey returns the key of an item of a list as the managed fields write it.
func itemKey(item any, names []string) string {
	if names == nil {
		return "v:" + encoded(item)
	}
	values, _ := item.(map[string]any)
	key := map[string]any{}
	for _, name := range names {
		if value, found := values[name]; found {
			key[name] = value
		}
	}
	return "k:" + encoded(key)
}

// encoded returns a value as the managed fields write it.
func encoded(value any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return ""
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// KeepAll returns next with every field of live that next does not have. It serves objects that others made and whose fields the API server
// does not let go of.
func KeepAll(next, live *unstructured.Unstructured) *unstructured.Unstructured {
	completed := next.DeepCopy()
	o := ownershipOf(live)
	o.theirs.add(o.ours)
	ownership{theirs: o.theirs}.keepFields(completed.Object, withoutServerFields(live))
	return completed
}

// keepOfOthers adds to next what others have put on live. An object that this package writes for the first time is not completed: what was on
// it before belongs to whoever made it.
func keepOfOthers(next, live *unstructured.Unstructured) {
	if o := ownershipOf(live); o.written {
		o.keepFields(next.Object, withoutServerFields(live))
	}
}

// withoutServerFields returns a copy of the content of live without what only the API server and status writers set.
func withoutServerFields(live *unstructured.Unstructured) map[string]any {
	content := live.DeepCopy().Object
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, name := range ServerMetadata {
			delete(metadata, name)
		}
	}
	return content
}
