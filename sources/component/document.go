// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// MaxDescriptor is how many bytes a component descriptor may have.
const MaxDescriptor = 8 << 20

// kindV3 is the kind of documents of schema v3alpha1.
const kindV3 = "ComponentVersion"

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
	fields, ok := document.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the component descriptor must be an object, not %s", describe(document))
	}
	root := object{fields: fields, problems: &problems{}}
	d := &Descriptor{}
	if d.Schema, err = root.schema(); err == nil {
		d.fields(root, d.Schema)
		err = root.problems.err()
	}
	if err != nil {
		return nil, fmt.Errorf("the component descriptor is wrong: %w", err)
	}
	d.weight = memory.Size(d)
	return d, d.Validate()
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
	if schema != SchemaV2 && schema != SchemaV3 {
		return nil, fmt.Errorf("schema %q of component descriptors is unknown; use %s or %s", schema, SchemaV2, SchemaV3)
	}
	return written(d, func(d *Descriptor, o object) { d.fields(o, schema) }), nil
}

// fields reads or writes the descriptor in a schema.
func (d *Descriptor) fields(o object, schema string) {
	if schema == SchemaV2 {
		d.fieldsV2(o)
	} else {
		d.fieldsV3(o)
	}
	optionalList(o, "signatures", &d.Signatures, (*Signature).fields)
	optionalList(o, "nestedDigests", &d.NestedDigests, (*NestedDigests).fields)
	d.keepUnknown("", o, schema)
}

func (d *Descriptor) fieldsV2(o object) {
	meta, schema := o.child("meta"), SchemaV2
	meta.text("schemaVersion", &schema)
	d.keepUnknown("meta", meta, SchemaV2)
	c := o.child("component")
	d.header(c)
	if c.writing {
		c.fields["provider"] = d.Provider.textV2()
	} else {
		d.Provider.read(c)
	}
	list(c, "repositoryContexts", &d.RepositoryContexts, (*Typed).all)
	list(c, "resources", &d.Resources, (*Resource).fields)
	list(c, "sources", &d.Sources, (*Source).fields)
	list(c, "componentReferences", &d.References, (*Reference).fields)
	d.keepUnknown("component", c, SchemaV2)
}

func (d *Descriptor) fieldsV3(o object) {
	version, kind := SchemaV3, kindV3
	o.text("apiVersion", &version)
	o.text("kind", &kind)
	metadata := o.child("metadata")
	d.header(metadata)
	if metadata.writing {
		d.Provider.fields(metadata.child("provider"))
	} else {
		d.Provider.read(metadata)
	}
	d.keepUnknown("metadata", metadata, SchemaV3)
	list(o, "repositoryContexts", &d.RepositoryContexts, (*Typed).all)
	spec := o.child("spec")
	list(spec, "resources", &d.Resources, (*Resource).fields)
	list(spec, "sources", &d.Sources, (*Source).fields)
	list(spec, "references", &d.References, (*Reference).fields)
	d.keepUnknown("spec", spec, SchemaV3)
}

// keepUnknown keeps the fields that nothing else has read, and writes them again in the schema that they were read in.
func (d *Descriptor) keepUnknown(place string, o object, schema string) {
	rest := d.unknown[place]
	switch {
	case !o.writing:
		o.rest(&rest)
		if rest == nil {
			return
		}
		if d.unknown == nil {
			d.unknown = map[string]map[string]any{}
		}
		d.unknown[place] = rest
	case schema == d.Schema:
		o.rest(&rest)
	}
}

func (d *Descriptor) header(o object) {
	o.text("name", &d.Name)
	o.text("version", &d.Version)
	labels(o, &d.Labels)
	o.optional("creationTime", &d.CreationTime)
}

// read reads a provider that is an object, the name, or the object as a JSON text: schema v2 writes a provider with labels that way.
func (p *Provider) read(o object) {
	text, ok := o.fields["provider"].(string)
	if !ok {
		p.fields(o.child("provider"))
		return
	}
	o.take("provider")
	p.Name = text
	if !strings.HasPrefix(text, "{") {
		return
	}
	if fields, err := decodeJSON([]byte(text)); err == nil {
		if _, isObject := fields.(map[string]any); isObject {
			p.fields(o.below(o.at("provider"), fields))
		}
	}
}

// textV2 is the name. A provider with labels, and a name that would be taken for one, is written as an object in a JSON text.
func (p *Provider) textV2() string {
	if len(p.Labels) == 0 && len(p.Extra) == 0 && (p.Name == "" || p.Name[0] != '{') {
		return p.Name
	}
	text, _ := json.Marshal(written(p, (*Provider).fields))
	return string(text)
}

func (p *Provider) fields(o object) {
	o.text("name", &p.Name)
	labels(o, &p.Labels)
	o.rest(&p.Extra)
}

func labels(o object, all *[]Label) { optionalList(o, "labels", all, (*Label).fields) }

func (l *Label) fields(o object) {
	o.text("name", &l.Name)
	o.value("value", &l.Value)
	o.optional("version", &l.Version)
	l.signing(o)
	o.rest(&l.Extra)
}

// signing is a boolean; the first writers of schema v2 put it as a text.
func (l *Label) signing(o object) {
	const key = "signing"
	if o.writing {
		if l.Signing {
			o.fields[key] = true
		}
		return
	}
	switch value := o.take(key).(type) {
	case nil:
	case bool:
		l.Signing = value
	default:
		l.Signing = value == "true" || value == key
		if !l.Signing && value != "" && value != "false" {
			o.problems.add(o.at(key), "must be true or false, not %s", describe(value))
		}
	}
}

func (e *Element) fields(o object) {
	o.text("name", &e.Name)
	o.text("version", &e.Version)
	o.texts("extraIdentity", &e.ExtraIdentity)
	labels(o, &e.Labels)
}

func (r *Resource) fields(o object) {
	r.Element.fields(o)
	o.text("type", &r.Type)
	o.optional("relation", &r.Relation)
	o.typed("access", &r.Access)
	digestOf(o, &r.Digest)
	if !o.writing { // as the first writers call them
		list(o, "srcRef", &r.SourceRefs, (*SourceRef).fields)
	}
	optionalList(o, "srcRefs", &r.SourceRefs, (*SourceRef).fields)
	o.rest(&r.Extra)
}

func (s *SourceRef) fields(o object) {
	o.texts("identitySelector", &s.IdentitySelector)
	labels(o, &s.Labels)
}

func (s *Source) fields(o object) {
	s.Element.fields(o)
	o.text("type", &s.Type)
	o.typed("access", &s.Access)
	o.rest(&s.Extra)
}

func (r *Reference) fields(o object) {
	r.Element.fields(o)
	o.text("componentName", &r.ComponentName)
	digestOf(o, &r.Digest)
	o.rest(&r.Extra)
}

// digestOf is an optional digest.
func digestOf(o object, d **DigestSpec) {
	switch {
	case o.writing && *d != nil:
		(*d).fields(o.child("digest"))
	case o.has("digest"):
		*d = &DigestSpec{}
		(*d).fields(o.child("digest"))
	default:
		delete(o.fields, "digest")
	}
}

func (d *DigestSpec) fields(o object) {
	o.text("hashAlgorithm", &d.HashAlgorithm)
	o.text("normalisationAlgorithm", &d.NormalisationAlgorithm)
	o.text("value", &d.Value)
}

func (s *Signature) fields(o object) {
	o.text("name", &s.Name)
	s.Digest.fields(o.child("digest"))
	proof := o.child("signature")
	proof.text("algorithm", &s.Signature.Algorithm)
	proof.text("value", &s.Signature.Value)
	proof.text("mediaType", &s.Signature.MediaType)
	proof.optional("issuer", &s.Signature.Issuer)
	o.rest(&s.Extra)
}

func (n *NestedDigests) fields(o object) {
	o.text("name", &n.Name)
	o.text("version", &n.Version)
	digestOf(o, &n.Digest)
	list(o, "resourceDigests", &n.Resources, (*NestedResourceDigest).fields)
}

func (r *NestedResourceDigest) fields(o object) {
	o.text("name", &r.Name)
	o.text("version", &r.Version)
	o.texts("extraIdentity", &r.ExtraIdentity)
	r.Digest.fields(o.child("digest"))
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

// PinImages adds to the image references in views of descriptors, as View and ViewAll return them, the digests that the descriptors have for them.
// A signature covers the digest and not the tag: with both, what a template deploys is what was signed. References with a digest stay.
func PinImages(views ...any) {
	for _, view := range views {
		switch v := view.(type) {
		case []any:
			PinImages(v...)
		case map[string]any:
			if list, ok := v["components"].([]any); ok {
				PinImages(list...)
			}
			for _, body := range []string{"component", "spec"} {
				if b, ok := v[body].(map[string]any); ok {
					pinResources(b["resources"])
				}
			}
		}
	}
}

func pinResources(resources any) {
	list, _ := resources.([]any)
	for _, resource := range list {
		r, _ := resource.(map[string]any)
		access, _ := r["access"].(map[string]any)
		reference, _ := access["imageReference"].(string)
		digest := manifestDigest(r["digest"])
		if reference != "" && digest != "" && !strings.Contains(reference, "@") {
			access["imageReference"] = reference + "@" + digest
		}
	}
}

// manifestDigest returns the digest of a resource where it is that of a manifest in a registry.
func manifestDigest(digest any) string {
	fields, _ := digest.(map[string]any)
	value, _ := fields["value"].(string)
	if fields["normalisationAlgorithm"] != OCIArtifactDigest || value == "" {
		return ""
	}
	switch fields["hashAlgorithm"] {
	case HashSHA256:
		return "sha256:" + strings.ToLower(value)
	case HashSHA512:
		return "sha512:" + strings.ToLower(value)
	}
	return ""
}
