// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
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
