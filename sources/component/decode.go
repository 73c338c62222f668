// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// MaxDescriptor is how many bytes a component descriptor may have.
const MaxDescriptor = 8 << 20

// Decode reads a component descriptor of schema v2 or ocm.software/v3alpha1, in YAML or JSON, and validates it. Errors name the fields
// and the cure.
func Decode(data []byte) (*Descriptor, error) {
	if len(data) > MaxDescriptor {
		return nil, fmt.Errorf("the component descriptor has more than %d bytes; split the component", MaxDescriptor)
	}
	document, err := decodeJSON(data)
	if err != nil {
		return nil, fmt.Errorf("the component descriptor is unreadable: %w", err)
	}
	root, ok := document.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the component descriptor must be an object, not %s", describe(document))
	}
	d, err := read(root)
	if err != nil {
		return nil, fmt.Errorf("the component descriptor is wrong: %w", err)
	}
	d.weight = memory.Size(d)
	return d, d.Validate()
}

func read(fields map[string]any) (*Descriptor, error) {
	root := object{fields: fields, problems: &problems{}}
	schema, err := root.schema()
	if err != nil {
		return nil, err
	}
	d := &Descriptor{Schema: schema}
	if schema == SchemaV2 {
		root.readV2(d)
	} else {
		root.readV3(d)
	}
	d.Signatures = each(root.list("signatures"), object.signature)
	d.NestedDigests = each(root.list("nestedDigests"), object.nestedDigests)
	d.keepUnknown("", root)
	return d, root.problems.err()
}

// schema finds out in which schema the document is written.
func (o object) schema() (string, error) {
	version, _ := o.fields["apiVersion"].(string)
	meta, _ := o.fields["meta"].(map[string]any)
	switch {
	case version == SchemaV3:
		if kind := o.fields["kind"]; kind != nil && kind != kindV3 {
			return "", fmt.Errorf("kind is %v; %s documents are of kind %s", kind, SchemaV3, kindV3)
		}
		return SchemaV3, nil
	case version != "":
		return "", fmt.Errorf("apiVersion %q is unknown; use %s, or meta.schemaVersion: %s", version, SchemaV3, SchemaV2)
	case meta["schemaVersion"] == SchemaV2, meta["schemaVersion"] == nil && o.has("component"):
		return SchemaV2, nil
	case meta["schemaVersion"] == SchemaV3:
		return "", fmt.Errorf("meta.schemaVersion is %s; documents of that schema start with apiVersion: %s", SchemaV3, SchemaV3)
	case meta["schemaVersion"] != nil:
		return "", fmt.Errorf("meta.schemaVersion %v is unknown; use %s", meta["schemaVersion"], SchemaV2)
	}
	return "", errors.New("it has neither meta.schemaVersion: v2 nor apiVersion: ocm.software/v3alpha1")
}

func (o object) readV2(d *Descriptor) {
	meta := o.object("meta")
	meta.take("schemaVersion")
	d.keepUnknown("meta", meta)
	c := o.object("component")
	c.readHeader(d)
	d.RepositoryContexts = each(c.list("repositoryContexts"), object.asTyped)
	d.Resources = each(c.list("resources"), object.resource)
	d.Sources = each(c.list("sources"), object.source)
	d.References = each(c.list("componentReferences"), object.reference)
	d.keepUnknown("component", c)
}

func (o object) readV3(d *Descriptor) {
	o.take("apiVersion")
	o.take("kind")
	metadata := o.object("metadata")
	metadata.readHeader(d)
	d.keepUnknown("metadata", metadata)
	d.RepositoryContexts = each(o.list("repositoryContexts"), object.asTyped)
	spec := o.object("spec")
	d.Resources = each(spec.list("resources"), object.resource)
	d.Sources = each(spec.list("sources"), object.source)
	d.References = each(spec.list("references"), object.reference)
	d.keepUnknown("spec", spec)
}

func (d *Descriptor) keepUnknown(place string, o object) {
	rest := o.rest()
	if rest == nil {
		return
	}
	if d.unknown == nil {
		d.unknown = map[string]map[string]any{}
	}
	d.unknown[place] = rest
}

func (o object) readHeader(d *Descriptor) {
	d.Name, d.Version = o.text("name"), o.text("version")
	d.Labels = o.labels()
	d.CreationTime = o.text("creationTime")
	d.Provider = o.provider()
}

// provider is an object, the name, or the object as a JSON text: schema v2 writes a provider with labels that way.
func (o object) provider() Provider {
	text, ok := o.fields["provider"].(string)
	if !ok {
		p := o.object("provider")
		return Provider{Name: p.text("name"), Labels: p.labels(), Extra: p.rest()}
	}
	o.take("provider")
	if !strings.HasPrefix(text, "{") {
		return Provider{Name: text}
	}
	fields, err := decodeJSON([]byte(text))
	if _, isObject := fields.(map[string]any); err != nil || !isObject {
		return Provider{Name: text}
	}
	return object{path: o.path, fields: map[string]any{"provider": fields}, problems: o.problems}.provider()
}

func (o object) labels() []Label {
	return each(o.list("labels"), func(l object) Label {
		return Label{Name: l.text("name"), Value: l.take("value"), Version: l.text("version"), Signing: l.signing(), Extra: l.rest()}
	})
}

// signing is a boolean; the first writers of schema v2 put it as a text.
func (o object) signing() bool {
	switch o.fields["signing"] {
	case "true", "signing":
		o.take("signing")
		return true
	case "", "false":
		o.take("signing")
	}
	return o.flag("signing")
}

func (o object) element() Element {
	return Element{Name: o.text("name"), Version: o.text("version"), ExtraIdentity: o.texts("extraIdentity"), Labels: o.labels()}
}

func (o object) resource() Resource {
	r := Resource{
		Element: o.element(), Type: o.text("type"), Relation: o.text("relation"), Access: o.typed("access"), Digest: o.digest(),
		SourceRefs: append(each(o.list("srcRef"), object.sourceRef), each(o.list("srcRefs"), object.sourceRef)...),
	}
	r.Extra = o.rest()
	return r
}

func (o object) sourceRef() SourceRef {
	return SourceRef{IdentitySelector: o.texts("identitySelector"), Labels: o.labels()}
}

func (o object) source() Source {
	s := Source{Element: o.element(), Type: o.text("type"), Access: o.typed("access")}
	s.Extra = o.rest()
	return s
}

func (o object) reference() Reference {
	r := Reference{Element: o.element(), ComponentName: o.text("componentName"), Digest: o.digest()}
	r.Extra = o.rest()
	return r
}

// digest takes an optional digest.
func (o object) digest() *DigestSpec {
	if !o.has("digest") {
		delete(o.fields, "digest")
		return nil
	}
	d := o.object("digest").digestSpec()
	return &d
}

func (o object) digestSpec() DigestSpec {
	return DigestSpec{HashAlgorithm: o.text("hashAlgorithm"), NormalisationAlgorithm: o.text("normalisationAlgorithm"), Value: o.text("value")}
}

func (o object) signature() Signature {
	proof := o.object("signature")
	s := Signature{
		Name: o.text("name"), Digest: o.object("digest").digestSpec(),
		Signature: SignatureSpec{
			Algorithm: proof.text("algorithm"), Value: proof.text("value"), MediaType: proof.text("mediaType"), Issuer: proof.text("issuer"),
		},
	}
	s.Extra = o.rest()
	return s
}

func (o object) nestedDigests() NestedDigests {
	return NestedDigests{Name: o.text("name"), Version: o.text("version"), Digest: o.digest(),
		Resources: each(o.list("resourceDigests"), func(r object) NestedResourceDigest {
			return NestedResourceDigest{
				Name: r.text("name"), Version: r.text("version"), ExtraIdentity: r.texts("extraIdentity"), Digest: r.object("digest").digestSpec(),
			}
		})}
}

// each makes a list of what objects hold; no objects give nil.
func each[T any](objects []object, read func(object) T) []T {
	var out []T
	for _, o := range objects {
		out = append(out, read(o))
	}
	return out
}

// plain turns the exact numbers of JSON-like data into float64, in a copy. That is how digests see all numbers.
func plain(value any) any {
	return withNumbers(value, func(exact json.Number) any { number, _ := exact.Float64(); return number })
}

// templated turns the exact numbers of JSON-like data into int64 where they are whole, in a copy. That is how templates see all numbers.
func templated(value any) any {
	return withNumbers(value, func(exact json.Number) any {
		if whole, err := exact.Int64(); err == nil {
			return whole
		}
		return plain(exact)
	})
}

func withNumbers(value any, number func(json.Number) any) any {
	switch v := value.(type) {
	case json.Number:
		return number(v)
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, item := range v {
			out[key] = withNumbers(item, number)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withNumbers(item, number)
		}
		return out
	}
	return value
}
