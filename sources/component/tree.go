// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"fmt"
	"strings"
)

// maxProblems is how many problems of a document are listed.
const maxProblems = 20

// problems collects what is wrong with a document.
type problems struct {
	list []string
	more int
}

func (p *problems) add(path, format string, args ...any) {
	if len(p.list) == maxProblems {
		p.more++
		return
	}
	p.list = append(p.list, path+" "+fmt.Sprintf(format, args...))
}

// err returns all problems as one error, nil when there are none.
func (p *problems) err() error {
	switch {
	case len(p.list) == 0:
		return nil
	case p.more > 0:
		return fmt.Errorf("%s; and %d more problems", strings.Join(p.list, "; "), p.more)
	}
	return errors.New(strings.Join(p.list, "; "))
}

// object is a JSON object being read. What is taken is removed, so that unknown fields remain. A field with null counts as absent.
type object struct {
	path     string
	fields   map[string]any
	problems *problems
}

func (o object) at(key string) string {
	if o.path == "" {
		return key
	}
	return o.path + "." + key
}

func (o object) take(key string) any {
	value := o.fields[key]
	delete(o.fields, key)
	return value
}

func (o object) has(key string) bool { return o.fields[key] != nil }

// text takes a text; a missing one is empty.
func (o object) text(key string) string {
	switch value := o.take(key).(type) {
	case nil:
		return ""
	case string:
		return value
	case map[string]any, []any:
		o.problems.add(o.at(key), "must be a text, not %s", describe(value))
	default:
		o.problems.add(o.at(key), "must be a text, but YAML reads it as %v; put it into quotes", value)
	}
	return ""
}

// flag takes a boolean; a missing one is false.
func (o object) flag(key string) bool {
	value := o.take(key)
	out, ok := value.(bool)
	if !ok && value != nil {
		o.problems.add(o.at(key), "must be true or false, not %s", describe(value))
	}
	return out
}

// object takes an object; a missing one is empty.
func (o object) object(key string) object {
	return o.child(o.at(key), o.take(key))
}

func (o object) child(path string, value any) object {
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		o.problems.add(path, "must be an object, not %s", describe(value))
	}
	if fields == nil {
		fields = map[string]any{}
	}
	return object{path: path, fields: fields, problems: o.problems}
}

// list takes a list of objects.
func (o object) list(key string) []object {
	path, value := o.at(key), o.take(key)
	items, ok := value.([]any)
	if !ok && value != nil {
		o.problems.add(path, "must be a list, not %s", describe(value))
	}
	var out []object
	for i, item := range items {
		out = append(out, o.child(fmt.Sprintf("%s[%d]", path, i), item))
	}
	return out
}

// texts takes an object whose values are texts.
func (o object) texts(key string) map[string]string {
	entries := o.object(key)
	var out map[string]string
	for name := range entries.fields {
		if out == nil {
			out = make(map[string]string, len(entries.fields))
		}
		out[name] = entries.text(name)
	}
	return out
}

// typed takes an object with a field type; a missing one is zero.
func (o object) typed(key string) Typed {
	if !o.has(key) {
		delete(o.fields, key)
		return Typed{}
	}
	return o.object(key).asTyped()
}

func (o object) asTyped() Typed {
	t, err := NewTyped(o.fields)
	if err != nil {
		o.problems.add(o.path, "is unusable: %v", err)
	}
	return t
}

// rest returns the fields that nobody took.
func (o object) rest() map[string]any {
	for key, value := range o.fields {
		if value == nil {
			delete(o.fields, key)
		}
	}
	if len(o.fields) == 0 {
		return nil
	}
	return o.fields
}

// describe names the kind of a JSON value.
func describe(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a text"
	case bool:
		return "true or false"
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	}
	return "a number"
}
