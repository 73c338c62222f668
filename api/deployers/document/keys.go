// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Key is a key of a document that its type does not have.
type Key struct {
	// Path of the key, like exports[0].kye.
	Path string
	// Meant is the known key that the author has probably meant; empty where none is near.
	Meant string
	// Published says that manifests which were published for Gardener Landscaper have the key, which never had an effect.
	Published bool
}

// Problem says what to do about the key.
func (k Key) Problem() string {
	if k.Meant == "" {
		return "the key is unknown and has no effect; check its spelling or remove it"
	}
	return fmt.Sprintf("the key is unknown; did you mean %s?", k.Meant)
}

// String returns path and problem.
func (k Key) String() string { return k.Path + ": " + k.Problem() }

// List joins what is to be said of several keys.
func List(keys []Key) string {
	var all []string
	for _, key := range keys {
		all = append(all, key.String())
	}
	return strings.Join(all, "; ")
}

// published are the keys that Key.Published is about.
var published = []string{"example", "jsonSchema", "stubs", "subTypes"}

// Keys returns the keys of a JSON document that are unknown where they stand, in the order of their paths. The type of like is that of the document.
// Nothing is unknown in free-form values, and in a document that cannot be read.
func Keys(raw []byte, like any) []Key {
	var tree any
	if kjson.UnmarshalCaseSensitivePreserveInts(raw, &tree) != nil {
		return nil
	}
	return KeysOf(tree, like, false)
}

// KeysInAnyCase is Keys for a document whose keys may be written in upper and lower case.
func KeysInAnyCase(raw []byte, like any) []Key {
	var tree any
	if json.Unmarshal(raw, &tree) != nil {
		return nil
	}
	return KeysOf(tree, like, true)
}

// KeysOf is Keys or KeysInAnyCase for a decoded document.
func KeysOf(tree any, like any, anyCase bool) []Key {
	w := &keyWalk{root: reflect.TypeOf(like), anyCase: anyCase}
	w.value(tree, w.root, "")
	return w.unknown
}

// Elsewhere fills in Meant of unknown keys that documents of another type, that of like, have on their first level. as returns where such a key belongs, or ""
// where the author cannot have meant it.
func Elsewhere(keys []Key, like any, as func(path string) string) []Key {
	known := fieldsOf(reflect.TypeOf(like))
	for i := range keys {
		name := keys[i].Path[strings.LastIndex(keys[i].Path, ".")+1:]
		if _, has := known[name]; has && keys[i].Meant == "" && name != "apiVersion" && name != "kind" {
			keys[i].Meant = as(keys[i].Path)
		}
	}
	return keys
}

// BesideConfig fills in Meant of unknown keys in the configuration of a deploy item that belong into the deploy item itself. item has the type of deploy items.
func BesideConfig(keys []Key, item any) []Key {
	return Elsewhere(keys, item, func(path string) string {
		if strings.ContainsAny(path, ".[") {
			return ""
		}
		return path + " of the deploy item, beside config"
	})
}

// Near returns the keys that are near to a known one, so that their author has probably meant it, and the others.
func Near(keys []Key) (near, others []Key) {
	for _, key := range keys {
		if key.Meant == "" {
			others = append(others, key)
		} else {
			near = append(near, key)
		}
	}
	return near, others
}

type keyWalk struct {
	root reflect.Type
	// places are the paths of the known keys by name, the shortest where there are several; nil until a key is unknown.
	places  map[string]string
	anyCase bool
	unknown []Key
}

// learn finds the keys that a type has on all levels.
func (w *keyWalk) learn(of reflect.Type, path string, above map[reflect.Type]bool) {
	of, suffix := element(of)
	if above[of] || path != "" && isOpaque(of) {
		return
	}
	above[of] = true
	defer delete(above, of)
	for name, field := range fieldsOf(of) {
		at := join(path+suffix, name)
		if has, ok := w.places[name]; !ok || cmp.Or(cmp.Compare(strings.Count(at, "."), strings.Count(has, ".")), cmp.Compare(at, has)) < 0 {
			w.places[name] = at
		}
		w.learn(field, at, above)
	}
}

// element goes through pointers, lists and maps.
func element(of reflect.Type) (reflect.Type, string) {
	suffix := ""
	for {
		if isOpaque(of) {
			return of, suffix
		}
		switch of.Kind() {
		case reflect.Slice, reflect.Array:
			suffix += "[]"
		case reflect.Map:
			suffix += ".*"
		case reflect.Pointer:
		default:
			return of, suffix
		}
		of = of.Elem()
	}
}

func (w *keyWalk) value(value any, of reflect.Type, path string) {
	for of.Kind() == reflect.Pointer && !isOpaque(of) {
		of = of.Elem()
	}
	if path != "" && isOpaque(of) { // a whole object may read itself
		return
	}
	switch value := value.(type) {
	case []any:
		if of.Kind() != reflect.Slice && of.Kind() != reflect.Array {
			return
		}
		for i := range value {
			w.value(value[i], of.Elem(), fmt.Sprintf("%s[%d]", path, i))
		}
	case map[string]any:
		w.object(value, of, path)
	}
}

func (w *keyWalk) object(object map[string]any, of reflect.Type, path string) {
	var fields map[string]reflect.Type
	switch of.Kind() {
	case reflect.Struct:
		fields = fieldsOf(of)
	case reflect.Map:
	default:
		return
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		at := join(path, name)
		field, known := w.field(fields, name)
		switch {
		case known:
			w.value(object[name], field, at)
		case fields == nil:
			w.value(object[name], of.Elem(), at)
		default:
			key := Key{Path: at, Published: slices.Contains(published, name)}
			if !key.Published {
				key.Meant = w.meant(name, path, fields)
			}
			w.unknown = append(w.unknown, key)
		}
	}
}

func (w *keyWalk) field(fields map[string]reflect.Type, name string) (reflect.Type, bool) {
	if field, known := fields[name]; known || !w.anyCase {
		return field, known
	}
	for known, field := range fields {
		if strings.EqualFold(known, name) {
			return field, true
		}
	}
	return nil, false
}

// meant returns the known key to which a name is near: the same letters in another case, few other letters, or the same name on another level.
func (w *keyWalk) meant(name, path string, fields map[string]reflect.Type) string {
	if near := Nearest(name, slices.Collect(maps.Keys(fields))); near != "" {
		return join(path, near)
	}
	if w.places == nil {
		w.places = map[string]string{}
		w.learn(w.root, "", map[reflect.Type]bool{})
	}
	return w.places[name]
}

var (
	readsItself = reflect.TypeFor[json.Unmarshaler]()
	readsText   = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isOpaque reports whether the values of a type are no objects with known keys.
func isOpaque(of reflect.Type) bool {
	pointer := reflect.PointerTo(of)
	return of.Kind() == reflect.Interface || pointer.Implements(readsItself) || pointer.Implements(readsText)
}

// fieldsOf returns the fields of a struct by their keys in JSON.
func fieldsOf(of reflect.Type) map[string]reflect.Type {
	fields := map[string]reflect.Type{}
	if of.Kind() != reflect.Struct {
		return fields
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous:
			inner, _ := element(field.Type)
			for key, deeper := range fieldsOf(inner) {
				if _, hidden := fields[key]; !hidden {
					fields[key] = deeper
				}
			}
		case field.IsExported():
			fields[cmp.Or(name, field.Name)] = field.Type
		}
	}
	return fields
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Nearest returns the known name that the author of another one has probably meant: the same letters in another case, or at most two letters and less
// than half of them added, removed, replaced, or exchanged with the next one; empty where none is near.
func Nearest(name string, known []string) string {
	best, distance := "", 3
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if strings.EqualFold(name, candidate) {
			return candidate
		}
		if d := edits(name, candidate); d < distance && 2*d < max(len(name), len(candidate)) {
			best, distance = candidate, d
		}
	}
	return best
}

// edits returns how many letters have to be added, removed, replaced, or exchanged with the next one to make one word of the other (optimal string
// alignment).
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = min(last[j+1]+1, row[j]+1)
			if a[i] == b[j] {
				row[j+1] = min(row[j+1], last[j])
			} else {
				row[j+1] = min(row[j+1], last[j]+1)
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
