// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Undecoded says of an object what of it, its status left out, could not be read, each with field and cure. The object holds nothing in these
// places. What the schema of the API server lets through, or let through in earlier releases, never keeps an object from being read: a list
// with one unreadable object would be unreadable for every process.
type Undecoded []string

// Err returns the problems as one error, nil when there are none.
func (u Undecoded) Err() error {
	if len(u) == 0 {
		return nil
	}
	return errors.New(strings.Join(u, "; "))
}

// maxUndecoded is how many problems of an object are named.
const maxUndecoded = 8

// decode reads JSON into an object, which into points to, and notes what it had to leave out. Nothing of what the object held before is kept. It
// fails only on what is not a JSON object.
func decode(raw []byte, into any, undecoded *Undecoded) error {
	object := reflect.ValueOf(into).Elem()
	object.SetZero()
	err := utiljson.Unmarshal(raw, into)
	if err == nil {
		return nil
	}
	var tree map[string]any
	if utiljson.Unmarshal(raw, &tree) != nil {
		return err
	}
	pruned := &pruning{}
	kept, err := json.Marshal(pruned.value(object.Type(), tree, ""))
	if err != nil {
		return err
	}
	object.SetZero()
	err = utiljson.Unmarshal(kept, into)
	*undecoded = pruned.problems
	return err
}

// pruning takes out of a JSON value what a Go type does not take.
type pruning struct{ problems Undecoded }

// value returns what is left of a value at a path. It changes objects and lists in place.
func (p *pruning) value(t reflect.Type, value any, path string) any {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	object, isObject := value.(map[string]any)
	if isObject && t.Kind() == reflect.Struct && !decodesItself(t) { // its fields are looked at alone: at each level the whole would be decoded again
		p.fields(t, object, path)
		return object
	}
	if value == nil || takes(t, value) {
		return value
	}
	list, isList := value.([]any)
	switch {
	case decodesItself(t):
	case isObject && t.Kind() == reflect.Map:
		for key := range object {
			object[key] = p.value(t.Elem(), object[key], path+"["+key+"]")
		}
		return object
	case isList && t.Kind() == reflect.Slice:
		for i := range list {
			list[i] = p.value(t.Elem(), list[i], fmt.Sprintf("%s[%d]", path, i))
		}
		return list
	}
	p.note(t, value, path)
	return nil
}

// fields prunes the fields of a struct, those of embedded structs included.
func (p *pruning) fields(t reflect.Type, object map[string]any, path string) {
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		value, has := object[name]
		switch {
		case name == "" && field.Anonymous:
			p.fields(field.Type, object, path)
		case has:
			object[name] = p.value(field.Type, value, strings.TrimPrefix(path+"."+name, "."))
			if object[name] == nil {
				delete(object, name) // some types, metav1.Duration among them, do not take null
			}
		}
	}
}

// note records a problem, unless it is in the status: whoever writes that writes it anew.
func (p *pruning) note(t reflect.Type, value any, path string) {
	if strings.HasPrefix(path, "status") || len(p.problems) == maxUndecoded {
		return
	}
	given := ""
	if text, ok := value.(string); ok && t == reflect.TypeFor[Duration]() {
		given = fmt.Sprintf("%.40q is given; ", text)
	}
	p.problems = append(p.problems, fmt.Sprintf("%s cannot be read: %swrite %s", path, given, wanted(t)))
}

// wanted says what a type takes.
func wanted(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[Duration]():
		return "a duration like 90s or 1h30m, or none"
	case t == reflect.TypeFor[metav1.Time]():
		return "a time like 2026-01-31T12:00:00Z"
	case t == reflect.TypeFor[[]byte]():
		return "base64"
	}
	return kindNames[t.Kind()]
}

var kindNames = map[reflect.Kind]string{
	reflect.String: "a text", reflect.Bool: "true or false", reflect.Slice: "a list", reflect.Map: "an object", reflect.Struct: "an object",
	reflect.Int32: "a whole number below 2147483648", reflect.Int64: "a whole number",
}

// takes reports whether a type takes a value.
func takes(t reflect.Type, value any) bool {
	raw, err := json.Marshal(value)
	return err == nil && utiljson.Unmarshal(raw, reflect.New(t).Interface()) == nil
}

// decodesItself reports whether a type reads its JSON by itself, so that only all of it can be left out.
func decodesItself(t reflect.Type) bool {
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) || t == reflect.TypeFor[[]byte]()
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *ComponentVersionOverwrites) UnmarshalJSON(raw []byte) error {
	type plain ComponentVersionOverwrites
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *Context) UnmarshalJSON(raw []byte) error {
	type plain Context
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *CriticalProblems) UnmarshalJSON(raw []byte) error {
	type plain CriticalProblems
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *DataObject) UnmarshalJSON(raw []byte) error {
	type plain DataObject
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *DeployItem) UnmarshalJSON(raw []byte) error {
	type plain DeployItem
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *DeployerRegistration) UnmarshalJSON(raw []byte) error {
	type plain DeployerRegistration
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *Environment) UnmarshalJSON(raw []byte) error {
	type plain Environment
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *Execution) UnmarshalJSON(raw []byte) error {
	type plain Execution
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *Installation) UnmarshalJSON(raw []byte) error {
	type plain Installation
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *LsHealthCheck) UnmarshalJSON(raw []byte) error {
	type plain LsHealthCheck
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *SyncObject) UnmarshalJSON(raw []byte) error {
	type plain SyncObject
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *Target) UnmarshalJSON(raw []byte) error {
	type plain Target
	return decode(raw, (*plain)(in), &in.Undecoded)
}

// UnmarshalJSON reads the object, and leaves out what cannot be read; see Undecoded.
func (in *TargetSync) UnmarshalJSON(raw []byte) error {
	type plain TargetSync
	return decode(raw, (*plain)(in), &in.Undecoded)
}
