// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"fmt"
	"maps"

	"sigs.k8s.io/yaml"
)

// kindV3 is the kind of documents of schema v3alpha1.
const kindV3 = "ComponentVersion"

// Encode writes the descriptor as YAML in a schema, SchemaV2 or SchemaV3. Equal descriptors give equal bytes. Fields that this package
// does not know are kept on elements, and elsewhere when the schema is the one the descriptor was read in.
func (d *Descriptor) Encode(schema string) ([]byte, error) {
	tree, err := d.tree(schema)
	if err != nil {
		return nil, err
	}
	document, err := json.Marshal(tree)
	if err != nil {
		return nil, fmt.Errorf("component %s cannot be written: %w", d.Key(), err)
	}
	return yaml.JSONToYAML(document)
}

// View returns the descriptor as templates see it under cd: {meta, component} in SchemaV2, {apiVersion, kind, metadata, spec} in
// SchemaV3; any other schema gives nil. The caller may change it.
func (d *Descriptor) View(schema string) map[string]any {
	tree, err := d.tree(schema)
	if err != nil {
		return nil
	}
	return templated(tree).(map[string]any)
}

// ViewAll returns all descriptors as templates see them under components: {meta, components: [cd]} in SchemaV2, a list in SchemaV3.
// The caller may change it.
func (c *Closed) ViewAll(schema string) any {
	list := make([]any, len(c.Descriptors))
	for i, d := range c.Descriptors {
		list[i] = d.View(schema)
	}
	if schema == SchemaV3 {
		return list
	}
	return map[string]any{"meta": map[string]any{"schemaVersion": SchemaV2}, "components": list}
}

// tree returns the document with exact numbers.
func (d *Descriptor) tree(schema string) (map[string]any, error) {
	var out map[string]any
	switch schema {
	case SchemaV2:
		out = d.treeV2()
	case SchemaV3:
		out = d.treeV3()
	default:
		return nil, fmt.Errorf("schema %q of component descriptors is unknown; use %s or %s", schema, SchemaV2, SchemaV3)
	}
	putList(out, "signatures", d.Signatures, Signature.tree)
	putList(out, "nestedDigests", d.NestedDigests, NestedDigests.tree)
	return out, nil
}

func (d *Descriptor) treeV2() map[string]any {
	component := d.header(d.extras(SchemaV2, "component"))
	component["provider"] = d.Provider.textV2()
	component["repositoryContexts"] = listOf(d.RepositoryContexts, Typed.tree)
	component["resources"] = listOf(d.Resources, Resource.tree)
	component["sources"] = listOf(d.Sources, Source.tree)
	component["componentReferences"] = listOf(d.References, Reference.tree)
	meta := d.extras(SchemaV2, "meta")
	meta["schemaVersion"] = SchemaV2
	out := d.extras(SchemaV2, "")
	out["meta"], out["component"] = meta, component
	return out
}

func (d *Descriptor) treeV3() map[string]any {
	metadata := d.header(d.extras(SchemaV3, "metadata"))
	metadata["provider"] = d.Provider.tree()
	spec := d.extras(SchemaV3, "spec")
	spec["resources"] = listOf(d.Resources, Resource.tree)
	spec["sources"] = listOf(d.Sources, Source.tree)
	spec["references"] = listOf(d.References, Reference.tree)
	out := d.extras(SchemaV3, "")
	out["apiVersion"], out["kind"], out["metadata"], out["spec"] = SchemaV3, kindV3, metadata, spec
	out["repositoryContexts"] = listOf(d.RepositoryContexts, Typed.tree)
	return out
}

// extras returns a copy of the unknown fields of an object, none when the descriptor was read in another schema.
func (d *Descriptor) extras(schema, place string) map[string]any {
	if schema != d.Schema {
		return map[string]any{}
	}
	return extend(d.unknown[place])
}

func extend(fields map[string]any) map[string]any {
	out := make(map[string]any, len(fields)+8)
	maps.Copy(out, fields)
	return out
}

func (d *Descriptor) header(out map[string]any) map[string]any {
	out["name"], out["version"] = d.Name, d.Version
	putText(out, "creationTime", d.CreationTime)
	putList(out, "labels", d.Labels, Label.tree)
	return out
}

func (p Provider) tree() any {
	out := extend(p.Extra)
	out["name"] = p.Name
	putList(out, "labels", p.Labels, Label.tree)
	return out
}

// textV2 is the name. A provider with labels, and a name that would be taken for one, is written as an object in a JSON text.
func (p Provider) textV2() string {
	if len(p.Labels) == 0 && len(p.Extra) == 0 && (p.Name == "" || p.Name[0] != '{') {
		return p.Name
	}
	text, _ := json.Marshal(p.tree())
	return string(text)
}

func (l Label) tree() any {
	out := extend(l.Extra)
	out["name"], out["value"] = l.Name, l.Value
	putText(out, "version", l.Version)
	if l.Signing {
		out["signing"] = true
	}
	return out
}

func (e Element) tree() map[string]any {
	out := extend(e.Extra)
	out["name"], out["version"] = e.Name, e.Version
	putTexts(out, "extraIdentity", e.ExtraIdentity)
	putList(out, "labels", e.Labels, Label.tree)
	return out
}

func (r Resource) tree() any {
	out := r.Element.tree()
	out["type"] = r.Type
	putText(out, "relation", r.Relation)
	putTyped(out, "access", r.Access)
	putDigest(out, r.Digest)
	putList(out, "srcRefs", r.SourceRefs, SourceRef.tree)
	return out
}

func (s Source) tree() any {
	out := s.Element.tree()
	out["type"] = s.Type
	putTyped(out, "access", s.Access)
	return out
}

func (r Reference) tree() any {
	out := r.Element.tree()
	out["componentName"] = r.ComponentName
	putDigest(out, r.Digest)
	return out
}

func (s SourceRef) tree() any {
	out := map[string]any{}
	putTexts(out, "identitySelector", s.IdentitySelector)
	putList(out, "labels", s.Labels, Label.tree)
	return out
}

func (d DigestSpec) tree() any {
	return map[string]any{
		"hashAlgorithm": d.HashAlgorithm, "normalisationAlgorithm": d.NormalisationAlgorithm, "value": d.Value,
	}
}

func (s Signature) tree() any {
	proof := map[string]any{"algorithm": s.Signature.Algorithm, "value": s.Signature.Value, "mediaType": s.Signature.MediaType}
	putText(proof, "issuer", s.Signature.Issuer)
	out := extend(s.Extra)
	out["name"], out["digest"], out["signature"] = s.Name, s.Digest.tree(), proof
	return out
}

func (n NestedDigests) tree() any {
	out := map[string]any{"name": n.Name, "version": n.Version}
	putDigest(out, n.Digest)
	out["resourceDigests"] = listOf(n.Resources, func(r NestedResourceDigest) any {
		entry := map[string]any{"name": r.Name, "version": r.Version, "digest": r.Digest.tree()}
		putTexts(entry, "extraIdentity", r.ExtraIdentity)
		return entry
	})
	return out
}

func (t Typed) tree() any { return t.Fields() }

func listOf[T any](items []T, tree func(T) any) []any {
	out := make([]any, len(items))
	for i, item := range items {
		out[i] = tree(item)
	}
	return out
}

func putList[T any](out map[string]any, key string, items []T, tree func(T) any) {
	if len(items) > 0 {
		out[key] = listOf(items, tree)
	}
}

func putText(out map[string]any, key, value string) {
	if value != "" {
		out[key] = value
	}
}

func putTexts(out map[string]any, key string, values map[string]string) {
	if len(values) == 0 {
		return
	}
	texts := make(map[string]any, len(values))
	for name, value := range values {
		texts[name] = value
	}
	out[key] = texts
}

func putTyped(out map[string]any, key string, t Typed) {
	if !t.IsZero() {
		out[key] = t.Fields()
	}
}

func putDigest(out map[string]any, d *DigestSpec) {
	if d != nil {
		out["digest"] = d.tree()
	}
}
