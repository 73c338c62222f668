// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"
)

// A replaced object keeps what others have put on it: values that controllers and admission wrote and that the manifest says nothing about.
// Who wrote what stands in metadata.managedFields. Values that this package wrote for an earlier manifest go, and so does what people
// changed by hand with kubectl: the manifest is the truth about those.

// Manager is the name under which this package owns fields.
const FieldManager = "landscaper-deployer"

// ownership says who wrote the fields of an object.
type ownership struct {
	// ours are the fields of this package and of kubectl, theirs those of everybody else.
	ours, theirs *fieldpath.Set
	// elsewhere are the fields that others wrote through a subresource such as scale: they win over the manifest.
	elsewhere *fieldpath.Set
	// written says that this package has written the object before.
	written bool
}

// ownershipOf reads the managed fields of an object; those that cannot be read count as none.
func ownershipOf(live *unstructured.Unstructured) ownership {
	o := ownership{ours: &fieldpath.Set{}, theirs: &fieldpath.Set{}, elsewhere: &fieldpath.Set{}}
	for _, entry := range live.GetManagedFields() {
		fields, err := fieldsIn(entry)
		if err != nil {
			fields = &fieldpath.Set{}
		}
		isByHand := strings.HasPrefix(entry.Manager, "kubectl")
		switch {
		case entry.Manager == FieldManager && entry.Subresource == "":
			o.written = true
			o.ours = o.ours.Union(fields)
		case isByHand && entry.Subresource == "":
			o.ours = o.ours.Union(fields)
		default:
			o.theirs = o.theirs.Union(fields)
			if !isByHand && entry.Subresource != "" {
				o.elsewhere = o.elsewhere.Union(fields)
			}
		}
	}
	return o
}

// everybodys returns the ownership of an object of which nothing counts as ours.
func everybodys(live *unstructured.Unstructured) ownership {
	o := ownershipOf(live)
	return ownership{ours: &fieldpath.Set{}, theirs: o.theirs.Union(o.ours), elsewhere: o.elsewhere}
}

// IsWritten reports whether this package has written an object before.
func isWritten(live *unstructured.Unstructured) bool { return ownershipOf(live).written }

// fieldsIn reads the fields of one entry.
func fieldsIn(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	fields := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return fields, nil
	}
	if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("cannot read the managed fields of %s: %w", entry.Manager, err)
	}
	return fields, nil
}

// named is the field of a map in a set.
func named(name string) fieldpath.PathElement { return fieldpath.FieldNameElement(name) }

// below returns the part of a set below a field or an item.
func below(set *fieldpath.Set, at fieldpath.PathElement) *fieldpath.Set {
	if inside, found := set.Children.Get(at); found {
		return inside
	}
	return &fieldpath.Set{}
}

// has reports whether a set has a field, or something below it.
func has(set *fieldpath.Set, at fieldpath.PathElement) bool {
	return set.Members.Has(at) || !below(set, at).Empty()
}

// below returns the ownership of what is below a field or an item.
func (o ownership) below(at fieldpath.PathElement) ownership {
	return ownership{ours: below(o.ours, at), theirs: below(o.theirs, at), elsewhere: below(o.elsewhere, at)}
}

// isOurs reports whether a value that the manifest does not have has to go: this package or kubectl wrote it and nobody else.
func (o ownership) isOurs(at fieldpath.PathElement) bool {
	return has(o.ours, at) && !has(o.theirs, at)
}

// keepFields adds to next, which may be changed, the fields of live that are to be kept.
func (o ownership) keepFields(next, live map[string]any) {
	for name, value := range live {
		at := named(name)
		wanted, isWanted := next[name]
		switch {
		case !isWanted && !o.isOurs(at):
			if kept := o.below(at).without(value); kept != nil {
				next[name] = kept
			}
		case isWanted && has(o.elsewhere, at) && isPlain(value):
			next[name] = value
		case isWanted && !o.isWhole(at):
			next[name] = o.below(at).keep(wanted, value)
		}
	}
}

// isWhole reports whether a map or list is one value for those who wrote it, so that it is wanted as a whole.
func (o ownership) isWhole(at fieldpath.PathElement) bool {
	inside := o.below(at)
	return inside.ours.Empty() && inside.theirs.Empty() && (has(o.ours, at) || has(o.theirs, at))
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
	if o.ours.Empty() {
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
	keys, isTold := o.itemKeys()
	if !isTold {
		return wanted
	}
	next := slices.Clone(wanted)
	var order []int
	for i, place := range o.pair(indexItems(wanted, keys), live) {
		at := keys.element(live[i])
		switch {
		case place >= 0:
			next[place] = o.below(at).keep(next[place], live[i])
		case place == isOther && !o.isOurs(at):
			place = len(next)
			next = append(next, live[i])
		default:
			continue
		}
		order = append(order, place)
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

// itemKeys are the fields that tell the items of a list apart; none for a set of values.
type itemKeys []string

// itemKeys returns what tells the items of a list apart, and whether anything does: else the list is one value.
func (o ownership) itemKeys() (keys itemKeys, isTold bool) {
	see := func(at fieldpath.PathElement) {
		if at.Key != nil && !isTold {
			for _, field := range *at.Key {
				keys = append(keys, field.Name)
			}
		}
		isTold = isTold || at.Key != nil || at.Value != nil
	}
	for _, set := range []*fieldpath.Set{o.ours, o.theirs} {
		set.Members.Iterate(see)
		set.Children.Iterate(see)
	}
	return keys, isTold
}

// element returns what managed fields call an item.
func (k itemKeys) element(item any) fieldpath.PathElement {
	if k == nil {
		return fieldpath.ValueElement(value.NewValueInterface(item))
	}
	var fields []value.Field
	values, _ := item.(map[string]any)
	for _, name := range k {
		if one, found := values[name]; found {
			fields = append(fields, value.Field{Name: name, Value: value.NewValueInterface(one)})
		}
	}
	return fieldpath.KeyElement(fields...)
}

// text returns what is the same for items that are the same in all of the key, and whether an item has all of it. Numbers are the same where their texts
// are.
func (k itemKeys) text(item any) (string, bool) {
	if k == nil {
		return encoded(item), true
	}
	values, _ := item.(map[string]any)
	parts, isWhole := make([]any, len(k)), true
	for i, name := range k {
		one, found := values[name]
		parts[i], isWhole = one, isWhole && found
	}
	return encoded(parts), isWhole
}

// agree returns how many fields of the key a wanted item has, 0 where another item differs in one of them.
func (k itemKeys) agree(wanted, other any) (count int) {
	w, _ := wanted.(map[string]any)
	o, _ := other.(map[string]any)
	for _, name := range k {
		one, isWanted := w[name]
		there, found := o[name]
		if isWanted && (!found || !reflect.DeepEqual(one, there) && encoded(one) != encoded(there)) {
			return 0
		}
		if isWanted {
			count++
		}
	}
	return count
}

func encoded(value any) string {
	text, _ := json.Marshal(value) // it was JSON before
	return string(text)
}

// itemIndex finds the items of a wanted list that others mean. Key fields that a manifest leaves to the defaults of the API server count as equal.
type itemIndex struct {
	keys   itemKeys
	wanted []any
	// whole are the places of those with all of the key, parts of the others.
	whole map[string]int
	parts []int
}

// indexItems returns the index of a list. Of items with the same key it has the first.
func indexItems(wanted []any, keys itemKeys) itemIndex {
	x := itemIndex{keys: keys, wanted: wanted, whole: map[string]int{}}
	for place, item := range wanted {
		text, isWhole := keys.text(item)
		if _, isKnown := x.whole[text]; isWhole && !isKnown {
			x.whole[text] = place
		} else if !isWhole {
			x.parts = append(x.parts, place)
		}
	}
	return x
}

// placeOf returns the place of the wanted item that another item is; -1 for none. Of several it is the one that has most of the key fields: a port without
// protocol is not the one whose protocol another item names.
func (x itemIndex) placeOf(item any) int {
	if text, isWhole := x.keys.text(item); isWhole {
		if place, found := x.whole[text]; found {
			return place
		}
	}
	found, most := -1, 0
	for _, place := range x.parts {
		if count := x.keys.agree(x.wanted[place], item); count > most {
			found, most = place, count
		}
	}
	return found
}

const (
	// isOther is an item that is not wanted, isAgain one that a wanted item with all of the key is, too.
	isOther = -1
	isAgain = -2
)

// pair returns for each live item the place of the wanted item that it is, each once, else isOther or isAgain. A wanted item that leaves keys to their
// defaults is the one that was written for it before: what somebody else has added beside that is another one.
func (o ownership) pair(x itemIndex, live []any) []int {
	places := slices.Repeat([]int{isOther}, len(live))
	taken := make([]bool, len(x.wanted))
	for _, ours := range []bool{true, false} {
		for i, item := range live {
			if has(o.ours, x.keys.element(item)) != ours {
				continue
			}
			at := x.placeOf(item)
			switch {
			case at >= 0 && !taken[at]:
				places[i], taken[at] = at, true
			case at >= 0 && !slices.Contains(x.parts, at):
				places[i] = isAgain
			}
		}
	}
	return places
}

// firstsIn returns for each wanted item where in another list the first is that it means; -1 for none, and for those that are wanted twice.
func (x itemIndex) firstsIn(others []any) []int {
	firsts := slices.Repeat([]int{-1}, len(x.wanted))
	for i, other := range others {
		if place := x.placeOf(other); place >= 0 && firsts[place] < 0 {
			firsts[place] = i
		}
	}
	return firsts
}

// KeepAll returns next with every field of live that next does not have. It serves objects that others made and whose fields the API server
// does not let go of.
func keepAll(next, live *unstructured.Unstructured) *unstructured.Unstructured {
	completed := next.DeepCopy()
	o := everybodys(live)
	o.elsewhere = &fieldpath.Set{}
	o.keepFields(completed.Object, withoutServerFields(live))
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
		for _, name := range serverMetadata {
			delete(metadata, name)
		}
	}
	return content
}
