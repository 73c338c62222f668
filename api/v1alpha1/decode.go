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

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
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
	var problems Undecoded
	kept, err := json.Marshal(document.Fit(object.Type(), tree, func(m document.Misfit) { problems = problems.with(m) }))
	if err != nil {
		return err
	}
	object.SetZero()
	err = utiljson.Unmarshal(kept, into)
	*undecoded = problems
	return err
}

// with adds a problem, unless it is in the status: whoever writes that writes it anew.
func (u Undecoded) with(m document.Misfit) Undecoded {
	if strings.HasPrefix(m.Path, "status") || len(u) == maxUndecoded {
		return u
	}
	given := ""
	if text, ok := m.Value.(string); ok && m.Type == reflect.TypeFor[Duration]() {
		given = fmt.Sprintf("%.40q is given; ", text)
	}
	return append(u, fmt.Sprintf("%s cannot be read: %swrite %s", m.Path, given, wanted(m.Type)))
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
