// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Algorithms that bring descriptors into the form that is hashed.
const (
	// NormalisationV1 keeps the structure of the descriptor's schema.
	NormalisationV1 = "jsonNormalisation/v1"
	// NormalisationV2 has one structure for all schemas.
	NormalisationV2 = "jsonNormalisation/v2"
	// NormalisationV3 is the structure of NormalisationV2 in canonical JSON (RFC 8785).
	NormalisationV3 = "jsonNormalisation/v3"
	// NormalisationV4 is the structure of NormalisationV2 in canonical JSON (RFC 8785), as the second generation of the OCM tools
	// names it.
	NormalisationV4 = "jsonNormalisation/v4alpha1"
)

// Normalise returns the bytes that are hashed for a signature.
//
// What counts: name, version and provider of the component; of resources name, version, type, relation, extra identity and digest; of
// sources name, version, type and extra identity; of references name, version, component name, extra identity and digest; everywhere
// the labels for signing, with name, value, version and signing. What does not: accesses, repository contexts, source references,
// creation time, signatures, nested digests, fields that the schemas do not have. A resource of access type none counts without digest;
// a source of access type none does not count. Empty lists of resources, sources and references stay, empty labels and extra
// identities do not.
//
// NormalisationV1 keeps this in the structure of the schema that the descriptor was read in, with its version. The others have one
// object component with name, version, provider {name, labels}, labels, resources, sources and componentReferences.
//
// NormalisationV1 and NormalisationV2 write every object as a list of objects with one field each, sorted by name, without spaces and
// without escapes for HTML. The others write canonical JSON after RFC 8785.
func (d *Descriptor) Normalise(algorithm string) ([]byte, error) {
	switch algorithm {
	case NormalisationV1:
		return writeEntries(d.normalV1())
	case NormalisationV2:
		return writeEntries(d.normal())
	case NormalisationV3, NormalisationV4:
		return canonical(plain(d.normal())), nil
	}
	return nil, fmt.Errorf("normalisation algorithm %q is not supported; sign with %s", algorithm, NormalisationV2)
}

func (d *Descriptor) normal() any {
	out := d.normalHeader()
	out["provider"] = d.Provider.normal()
	out["resources"], out["sources"], out["componentReferences"] = d.normalLists()
	return map[string]any{"component": out}
}

func (d *Descriptor) normalV1() any {
	header := d.normalHeader()
	resources, sources, references := d.normalLists()
	if d.Schema != SchemaV3 {
		header["provider"] = d.Provider.textV2()
		header["resources"], header["sources"], header["componentReferences"] = resources, sources, references
		return map[string]any{"meta": map[string]any{"schemaVersion": SchemaV2}, "component": header}
	}
	header["provider"] = d.Provider.normal()
	spec := map[string]any{}
	for name, list := range map[string][]any{"resources": resources, "sources": sources, "references": references} {
		if len(list) > 0 {
			spec[name] = list
		}
	}
	return map[string]any{"apiVersion": SchemaV3, "kind": kindV3, "metadata": header, "spec": spec}
}

func (d *Descriptor) normalHeader() map[string]any {
	out := map[string]any{"name": d.Name, "version": d.Version}
	putSigned(out, d.Labels)
	return out
}

func (d *Descriptor) normalLists() (resources, sources, references []any) {
	resources, references, sources = listOf(d.Resources, Resource.normal), listOf(d.References, Reference.normal), []any{}
	for _, s := range d.Sources {
		if kindOf(s.Access.Type) != kindNone {
			sources = append(sources, s.normal())
		}
	}
	return resources, sources, references
}

// kindNone is the access type of resources without content.
const kindNone = "none"

func (p Provider) normal() any {
	out := map[string]any{"name": p.Name}
	putSigned(out, p.Labels)
	return out
}

// putSigned adds the labels that signatures cover.
func putSigned(out map[string]any, labels []Label) {
	var signed []Label
	for _, l := range labels {
		if l.Signing {
			signed = append(signed, Label{Name: l.Name, Value: l.Value, Version: l.Version, Signing: true})
		}
	}
	putList(out, "labels", signed, Label.tree)
}

func (e Element) normal() map[string]any {
	out := map[string]any{"name": e.Name, "version": e.Version}
	putTexts(out, "extraIdentity", e.ExtraIdentity)
	putSigned(out, e.Labels)
	return out
}

func (r Resource) normal() any {
	out := r.Element.normal()
	out["type"] = r.Type
	putText(out, "relation", r.Relation)
	if kindOf(r.Access.Type) != kindNone {
		putDigest(out, r.Digest)
	}
	return out
}

func (s Source) normal() any {
	out := s.Element.normal()
	out["type"] = s.Type
	return out
}

func (r Reference) normal() any {
	out := r.Element.normal()
	out["componentName"] = r.ComponentName
	putDigest(out, r.Digest)
	return out
}

func writeEntries(tree any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(entries(plain(tree))); err != nil {
		return nil, err
	}
	return bytes.TrimRight(out.Bytes(), "\n"), nil
}

// entries turns every object into a list of objects with one field each, sorted by name. Fields with null are left out.
func entries(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := []any{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if v[key] != nil {
				out = append(out, map[string]any{key: entries(v[key])})
			}
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
