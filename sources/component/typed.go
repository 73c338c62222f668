// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Typed is a JSON object with a field type, kept as it was written: an access or a repository.
type Typed struct {
	// Type as written, with its version suffix.
	Type string
	// Raw is the whole object as compact JSON with sorted keys.
	Raw json.RawMessage
}

// ParseTyped reads YAML or JSON of an object with a field type.
func ParseTyped(text []byte) (Typed, error) {
	document, err := decodeJSON(text)
	if err != nil {
		return Typed{}, err
	}
	fields, ok := document.(map[string]any)
	if !ok {
		return Typed{}, errors.New("an object with a field type is needed")
	}
	return NewTyped(fields)
}

// NewTyped makes a Typed of JSON-like data with a field type.
func NewTyped(fields map[string]any) (Typed, error) {
	name, ok := fields["type"].(string)
	if !ok || name == "" {
		return Typed{}, errors.New("field type is missing; name the type, for example OCIRegistry")
	}
	raw, err := json.Marshal(fields)
	if err != nil {
		return Typed{}, fmt.Errorf("object of type %s is not JSON data: %w", name, err)
	}
	return Typed{Type: name, Raw: raw}, nil
}

// IsZero reports whether there is no object.
func (t Typed) IsZero() bool { return t.Type == "" && len(t.Raw) == 0 }

// Equal reports whether both are the same object; aliases and versions of a type count as the same.
func (t Typed) Equal(other Typed) bool {
	return bytes.Equal(t.Raw, other.Raw) || t.Folded() == other.Folded()
}

// Folded returns the text that all objects share that are Equal; it is empty when there is no object.
func (t Typed) Folded() string {
	if t.IsZero() {
		return ""
	}
	fields := t.Fields()
	fields["type"] = kindOf(t.Type)
	text, _ := json.Marshal(fields)
	return string(text)
}

// String returns the object as JSON.
func (t Typed) String() string { return string(t.Raw) }

// MarshalJSON returns the object.
func (t Typed) MarshalJSON() ([]byte, error) {
	if len(t.Raw) == 0 {
		return []byte("null"), nil
	}
	return t.Raw, nil
}

// UnmarshalJSON reads an object with a field type.
func (t *Typed) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		*t = Typed{}
		return nil
	}
	parsed, err := ParseTyped(text)
	*t = parsed
	return err
}

// Fields returns a fresh copy of the object with exact numbers.
func (t Typed) Fields() map[string]any {
	out := map[string]any{}
	decoder := json.NewDecoder(bytes.NewReader(t.Raw))
	decoder.UseNumber()
	_ = decoder.Decode(&out)
	return out
}

// versionSuffix is the version at the end of the name of a type.
var versionSuffix = regexp.MustCompile(`/v[0-9]+([a-z]+[0-9]+)?$`)

// Kinds of repository types that have aliases.
const (
	kindOCIRegistry = "ociregistry"
	kindCTF         = "commontransportformat"
)

// aliases of kinds.
var aliases = map[string]string{"oci": kindOCIRegistry, "ocirepository": kindOCIRegistry, "ctf": kindCTF}

// kindOf returns the name of a type in lower case, without version; of an alias what it stands for.
func kindOf(name string) string {
	kind := strings.ToLower(versionSuffix.ReplaceAllString(name, ""))
	return cmp.Or(aliases[kind], kind)
}

// into reads the object into a Go value; the required fields must be there and not be empty.
func (t Typed) into(what string, value any, required ...string) error {
	fields := t.Fields()
	for _, name := range required {
		if found := fold(fields, name); found == nil || found == "" {
			return fmt.Errorf("%s of type %q has no %s; set it", what, t.Type, name)
		}
	}
	if err := json.Unmarshal(t.Raw, value); err != nil {
		return fmt.Errorf("%s of type %q is wrong: %w", what, t.Type, err)
	}
	return nil
}

// fold returns the field of a name, or else of one that differs in upper and lower case only, as encoding/json reads structs.
func fold(fields map[string]any, name string) any {
	if found, ok := fields[name]; ok {
		return found
	}
	for key, value := range fields {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return nil
}

// decodeJSON reads YAML or JSON with exact numbers.
func decodeJSON(text []byte) (any, error) {
	document, err := foreign.CoreToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("the document %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		return nil, fmt.Errorf("neither YAML nor JSON: %w", err)
	}
	return out, nil
}

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

// object is a JSON object that is read into Go values, or written out of them: a type names its fields once for both. What is read is taken out
// of fields, so that those remain which the type does not know. A field with null counts as absent.
type object struct {
	path     string
	fields   map[string]any
	problems *problems
	writing  bool
}

// written returns what a value writes.
func written[T any](value *T, fields func(*T, object)) map[string]any {
	o := object{fields: map[string]any{}, problems: &problems{}, writing: true}
	fields(value, o)
	return o.fields
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

// text is a text; a missing one is empty, and an empty one is written.
func (o object) text(key string, value *string) {
	if o.writing {
		o.fields[key] = *value
		return
	}
	*value = ""
	switch found := o.take(key).(type) {
	case nil:
	case string:
		*value = found
	case map[string]any, []any:
		o.problems.add(o.at(key), "must be a text, not %s", describe(found))
	default:
		o.problems.add(o.at(key), "must be a text, but YAML reads it as %v; put it into quotes", found)
	}
}

// optional is a text that is left out when it is empty.
func (o object) optional(key string, value *string) {
	if !o.writing || *value != "" {
		o.text(key, value)
	}
}

// value is JSON data.
func (o object) value(key string, value *any) {
	if o.writing {
		o.fields[key] = *value
		return
	}
	*value = o.take(key)
}

// child is an object inside this one. A missing one is read as an empty one.
func (o object) child(key string) object {
	if o.writing {
		below := object{fields: map[string]any{}, problems: o.problems, writing: true}
		o.fields[key] = below.fields
		return below
	}
	return o.below(o.at(key), o.take(key))
}

func (o object) below(path string, value any) object {
	fields, ok := value.(map[string]any)
	if !ok && value != nil {
		o.problems.add(path, "must be an object, not %s", describe(value))
	}
	if fields == nil {
		fields = map[string]any{}
	}
	return object{path: path, fields: fields, problems: o.problems}
}

// list is a list of objects, which is written even when it is empty.
func list[T any](o object, key string, items *[]T, fields func(*T, object)) {
	if o.writing {
		out := make([]any, len(*items))
		for i := range *items {
			out[i] = written(&(*items)[i], fields)
		}
		o.fields[key] = out
		return
	}
	path, value := o.at(key), o.take(key)
	found, ok := value.([]any)
	if !ok && value != nil {
		o.problems.add(path, "must be a list, not %s", describe(value))
	}
	for i, item := range found {
		var read T
		fields(&read, o.below(fmt.Sprintf("%s[%d]", path, i), item))
		*items = append(*items, read)
	}
}

// optionalList is a list that is left out when it is empty.
func optionalList[T any](o object, key string, items *[]T, fields func(*T, object)) {
	if !o.writing || len(*items) > 0 {
		list(o, key, items, fields)
	}
}

// texts is an object whose values are texts; an empty one is left out.
func (o object) texts(key string, value *map[string]string) {
	if o.writing && len(*value) == 0 {
		return
	}
	entries := o.child(key)
	if o.writing {
		for name, text := range *value {
			entries.fields[name] = text
		}
		return
	}
	for name := range entries.fields {
		if *value == nil {
			*value = make(map[string]string, len(entries.fields))
		}
		var text string
		entries.text(name, &text)
		(*value)[name] = text
	}
}

// typed is an object with a field type; a missing one is zero and left out.
func (o object) typed(key string, t *Typed) {
	switch {
	case o.writing && !t.IsZero():
		o.fields[key] = t.Fields()
	case o.has(key):
		t.all(o.child(key))
	default:
		delete(o.fields, key)
	}
}

// all takes all fields as those of t.
func (t *Typed) all(o object) {
	if o.writing {
		maps.Copy(o.fields, t.Fields())
		return
	}
	var err error
	if *t, err = NewTyped(o.fields); err != nil {
		o.problems.add(o.path, "is unusable: %v", err)
	}
}

// rest are the fields that the type does not know.
func (o object) rest(extra *map[string]any) {
	if o.writing {
		for key, value := range *extra {
			if _, known := o.fields[key]; !known {
				o.fields[key] = value
			}
		}
		return
	}
	maps.DeleteFunc(o.fields, func(_ string, value any) bool { return value == nil })
	if len(o.fields) > 0 {
		*extra = o.fields
	}
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
