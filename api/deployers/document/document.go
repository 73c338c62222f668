// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package document reads the typed documents of deployers: provider configurations, provider statuses and configuration files.
package document

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Read decodes a JSON document of the given apiVersion and kind. A missing apiVersion or kind counts as the right one, keys are
// case-sensitive, unknown keys are ignored. Errors name the field and hold no values of it.
func Read(raw []byte, want metav1.TypeMeta, into any) error {
	var header metav1.TypeMeta
	if err := Decode(raw, &header); err != nil {
		return err
	}
	if header.APIVersion != "" && header.APIVersion != want.APIVersion {
		return fmt.Errorf("apiVersion: %q is not known to the deployer, use %s", Brief(header.APIVersion), want.APIVersion)
	}
	if header.Kind != "" && header.Kind != want.Kind {
		return fmt.Errorf("kind: %q is not known to the deployer, use %s", Brief(header.Kind), want.Kind)
	}
	return Decode(raw, into)
}

// Write encodes a document for a status.
func Write(document any) (*runtime.RawExtension, error) {
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("encode the provider status: %w", err)
	}
	return &runtime.RawExtension{Raw: raw}, nil
}

// Decode reads one JSON document with case-sensitive keys; unknown keys are ignored. Errors name the field and what to correct. They show
// no value, except the beginning of one that is not the duration it should be.
func Decode(raw []byte, into any) error {
	err := kjson.UnmarshalCaseSensitivePreserveInts(raw, into)
	if err == nil {
		return nil
	}
	var tree any
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(raw, &tree)); ok {
		return fmt.Errorf("the document is not JSON: problem at byte %d", syntax.Offset)
	}
	field := "the document"
	if misfit := First(reflect.TypeOf(into).Elem(), tree); misfit != nil {
		field, err = cmp.Or(foreign.Beginning(misfit.Path, longestCause), field), takes(misfit.Type, misfit.Value)
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: is a JSON %s, which the field cannot hold; correct the type of the value", field, mismatch.Value)
	}
	return fmt.Errorf("%s: %s", field, foreign.Beginning(err.Error(), longestCause))
}

const (
	// longestValue is how many bytes of a value errors show, longestCause how many of a path, and of what a type says about its value.
	longestValue = 60
	longestCause = 300
)

// Brief returns the beginning of a value for messages.
func Brief[T ~string](value T) string { return foreign.Beginning(value, longestValue) }

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
