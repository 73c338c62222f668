// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	kjson "sigs.k8s.io/json"
)

// Misfit is a value of a document that the Go type of its place does not take.
type Misfit struct {
	// Path of the value, like exports[0].key; empty for the whole.
	Path  string
	Type  reflect.Type
	Value any
}

// Fit takes out of a decoded document what a type does not take, and tells of it. It returns what is left, and changes objects and lists in place.
func Fit(t reflect.Type, value any, told func(Misfit)) any { return fit(told).value(t, value, "") }

// First returns the first value that a type does not take, nil where it takes all.
func First(t reflect.Type, value any) *Misfit {
	var first *Misfit
	Fit(t, value, func(m Misfit) {
		if first == nil {
			first = &m
		}
	})
	return first
}

// fit is told of what does not fit.
type fit func(Misfit)

func (f fit) value(t reflect.Type, value any, path string) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	object, isObject := value.(map[string]any)
	if isObject && t.Kind() == reflect.Struct && !decodesItself(t) { // its fields are looked at alone: at each level the whole would be decoded again
		f.fields(t, object, path)
		return object
	}
	if value == nil || takes(t, value) == nil {
		return value
	}
	list, isList := value.([]any)
	switch {
	case decodesItself(t):
	case isObject && t.Kind() == reflect.Map:
		for _, key := range slices.Sorted(maps.Keys(object)) {
			object[key] = f.value(t.Elem(), object[key], path+"["+key+"]")
		}
		return object
	case isList && t.Kind() == reflect.Slice:
		for i := range list {
			list[i] = f.value(t.Elem(), list[i], fmt.Sprintf("%s[%d]", path, i))
		}
		return list
	}
	f(Misfit{path, t, value})
	return nil
}

// fields looks at the fields of a struct, those of embedded structs included.
func (f fit) fields(t reflect.Type, object map[string]any, path string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value, has := object[name]
		switch {
		case name == "" && field.Anonymous:
			f.fields(field.Type, object, path)
		case has:
			object[name] = f.value(field.Type, value, join(path, name))
			if object[name] == nil {
				delete(object, name) // some types, metav1.Duration among them, do not take null
			}
		}
	}
}

// takes returns why a type does not take a value.
func takes(t reflect.Type, value any) error {
	raw, err := json.Marshal(value)
	if err == nil {
		err = kjson.UnmarshalCaseSensitivePreserveInts(raw, reflect.New(t).Interface())
	}
	return err
}

// decodesItself reports whether a type reads its JSON by itself, so that only all of it can be left out.
func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(readsItself) || t == reflect.TypeFor[[]byte]()
}
