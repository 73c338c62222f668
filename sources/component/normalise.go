// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf16"
)

// Algorithms that bring descriptors into the form that is hashed.
const (
	// NormalisationV1 keeps the structure of the descriptor's schema.
	NormalisationV1 = "jsonNormalisation/v1"
	// NormalisationV2 is NormalisationV3 with the versions of resources that share an identity.
	NormalisationV2 = "jsonNormalisation/v2"
	// NormalisationV3 has one structure for all schemas, in canonical JSON (RFC 8785).
	NormalisationV3 = "jsonNormalisation/v3"
	// NormalisationV4 is NormalisationV3, as the second generation of the OCM tools names it.
	NormalisationV4 = "jsonNormalisation/v4alpha1"
)

// Normalise returns the bytes that are hashed for a signature, the same ones as the OCM tools make.
//
// What counts: name, version, provider and creation time of the component; of resources name, version, type, relation, extra identity and
// digest; of sources name, version, type and extra identity; of references name, version, component name, extra identity and digest;
// everywhere the labels for signing, with name, value, version and signing. What does not: accesses, repository contexts, source
// references, signatures, nested digests, fields that the schemas do not have. A resource of access type none counts without digest.
//
// NormalisationV2 and the later ones have one object component with name, version, creationTime, provider {name, labels}, labels,
// resources, sources and componentReferences, in canonical JSON after RFC 8785. All labels of references count. Empty lists of
// resources, sources and references stay, empty labels and extra identities do not.
//
// NormalisationV1 keeps the structure of the schema that the descriptor was read in, with its version, and writes every object as a list
// of objects with one field each, sorted by name, with escapes for HTML. In schema v2 sources do not count, and an empty extra identity is
// null. In schema v3alpha1 all labels of the provider count, and empty lists do not stay.
//
// NormalisationV1 and NormalisationV2 add the version to the extra identities of resources that share name and extra identity.
func (d *Descriptor) Normalise(algorithm string) ([]byte, error) {
	switch algorithm {
	case NormalisationV1:
		return json.Marshal(entries(plain(d.normalV1())))
	case NormalisationV2:
		return canonical(plain(d.normal(versioned(d.Resources)))), nil
	case NormalisationV3, NormalisationV4:
		return canonical(plain(d.normal(d.Resources))), nil
	}
	return nil, fmt.Errorf("normalisation algorithm %q is not supported; sign with %s", algorithm, NormalisationV3)
}

// versioned returns the resources with the version in the extra identities of those that share name and extra identity.
func versioned(resources []Resource) []Resource {
	alike := map[string]int{}
	for i := range resources {
		alike[resources[i].identityID()]++
	}
	out := slices.Clone(resources)
	for i := range out {
		if alike[resources[i].identityID()] > 1 {
			out[i].ExtraIdentity = maps.Clone(out[i].ExtraIdentity)
			if out[i].ExtraIdentity == nil {
				out[i].ExtraIdentity = map[string]string{}
			}
			out[i].ExtraIdentity["version"] = out[i].Version
		}
	}
	return out
}

func (d *Descriptor) normal(resources []Resource) any {
	counting := d.counting(resources)
	for i := range d.References {
		counting.References[i].Labels = normalLabels(d.References[i].Labels)
	}
	return written(counting, func(d *Descriptor, o object) {
		c := o.child("component")
		d.header(c)
		d.Provider.fields(c.child("provider"))
		list(c, "resources", &d.Resources, (*Resource).fields)
		list(c, "sources", &d.Sources, (*Source).fields)
		list(c, "componentReferences", &d.References, (*Reference).fields)
	})
}

func (d *Descriptor) normalV1() any {
	counting := d.counting(versioned(d.Resources))
	if d.Schema == SchemaV3 {
		counting.Provider.Labels = normalLabels(d.Provider.Labels)
		return written(counting, (*Descriptor).normalV1OfV3)
	}
	return written(counting, func(counting *Descriptor, o object) {
		schema := SchemaV2
		o.child("meta").text("schemaVersion", &schema)
		c := o.child("component")
		counting.header(c)
		c.fields["provider"] = d.Provider.Name
		if len(d.Provider.Labels) > 0 {
			counting.Provider.fields(c.child("provider"))
		}
		list(c, "resources", &counting.Resources, func(r *Resource, o object) { r.fields(o); nullIdentity(o) })
		list(c, "componentReferences", &counting.References, func(r *Reference, o object) { r.fields(o); nullIdentity(o) })
	})
}

// nullIdentity writes null in place of a missing extra identity.
func nullIdentity(o object) {
	if !o.has("extraIdentity") {
		o.fields["extraIdentity"] = nil
	}
}

func (d *Descriptor) normalV1OfV3(o object) {
	version, kind := SchemaV3, kindV3
	o.text("apiVersion", &version)
	o.text("kind", &kind)
	metadata := o.child("metadata")
	d.header(metadata)
	d.Provider.fields(metadata.child("provider"))
	spec := o.child("spec")
	optionalList(spec, "resources", &d.Resources, (*Resource).fields)
	optionalList(spec, "sources", &d.Sources, (*Source).fields)
	optionalList(spec, "references", &d.References, (*Reference).fields)
}

// kindNone is the access type of resources without content.
const kindNone = "none"

// HasContent reports whether there is content to read; signatures cover no other.
func (r *Resource) HasContent() bool { return kindOf(r.Access.Type) != kindNone }

// counting returns a copy of the descriptor, with these resources, that has only what counts for signatures. A time has no fractions of a second.
func (d *Descriptor) counting(resources []Resource) *Descriptor {
	out := &Descriptor{Name: d.Name, Version: d.Version, CreationTime: d.CreationTime, Labels: signedLabels(d.Labels),
		Provider: Provider{Name: d.Provider.Name, Labels: signedLabels(d.Provider.Labels)}}
	if parsed, err := time.Parse(time.RFC3339, d.CreationTime); err == nil {
		out.CreationTime = parsed.Format(time.RFC3339)
	}
	for _, r := range resources {
		counting := Resource{Element: r.counting(), Type: r.Type, Relation: r.Relation}
		if r.HasContent() {
			counting.Digest = r.Digest
		}
		out.Resources = append(out.Resources, counting)
	}
	for _, s := range d.Sources {
		out.Sources = append(out.Sources, Source{Element: s.counting(), Type: s.Type})
	}
	for _, r := range d.References {
		out.References = append(out.References, Reference{Element: r.counting(), ComponentName: r.ComponentName, Digest: r.Digest})
	}
	return out
}

func (e *Element) counting() Element {
	return Element{Name: e.Name, Version: e.Version, ExtraIdentity: e.ExtraIdentity, Labels: signedLabels(e.Labels)}
}

// signedLabels are the labels that signatures cover.
func signedLabels(labels []Label) []Label {
	var signed []Label
	for _, l := range labels {
		if l.Signing {
			signed = append(signed, Label{Name: l.Name, Value: l.Value, Version: l.Version, Signing: true})
		}
	}
	return signed
}

// normalLabels are all labels, with merge of the further fields, which the schemas have.
func normalLabels(labels []Label) []Label {
	normal := slices.Clone(labels)
	for i, l := range labels {
		normal[i].Extra = nil
		if merge, found := l.Extra["merge"]; found {
			normal[i].Extra = map[string]any{"merge": merge}
		}
	}
	return normal
}

// entries turns every object into a list of objects with one field each, sorted by name.
func entries(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := []any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out = append(out, map[string]any{key: entries(v[key])})
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = entries(item)
		}
		return out
	}
	return value
}

// canonical writes JSON-like data after RFC 8785: fields sorted by UTF-16 code units, no spaces, the shortest numbers, texts with as few
// escapes as possible. Numbers are float64.
func canonical(value any) []byte { return appendCanonical(nil, value) }

func appendCanonical(out []byte, value any) []byte {
	switch v := value.(type) {
	case map[string]any:
		return appendObject(out, v)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCanonical(out, item)
		}
		return append(out, ']')
	case string:
		return appendText(out, v)
	case float64:
		return appendNumber(out, v)
	case bool:
		return fmt.Append(out, v)
	}
	return append(out, "null"...)
}

func appendObject(out []byte, fields map[string]any) []byte {
	keys := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	out = append(out, '{')
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, key), ':')
		out = appendCanonical(out, fields[key])
	}
	return append(out, '}')
}

// appendNumber writes as ECMAScript does, which encoding/json follows but for the negative zero.
func appendNumber(out []byte, number float64) []byte {
	if number == 0 {
		return append(out, '0')
	}
	text, _ := json.Marshal(number)
	return append(out, text...)
}

// shortEscapes are the escapes that have a letter.
var shortEscapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}

func appendText(out []byte, text string) []byte {
	out = append(out, '"')
	for _, r := range text {
		switch escape, short := shortEscapes[r]; {
		case short:
			out = append(out, escape...)
		case r < 0x20:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, string(r)...)
		}
	}
	return append(out, '"')
}
