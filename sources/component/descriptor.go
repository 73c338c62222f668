// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package component knows the Open Component Model: component descriptors (schemas v2 and ocm.software/v3alpha1), identities, access
// and repository specifications, references, closures of references, overwrites, the layout of component versions in OCI registries and
// in archives, and signatures.
//
// It is pure: bytes and fs.FS come in, values go out. Who holds a network connection implements Resolver and Repository.
package component

import (
	"crypto"
	_ "crypto/sha256" // registers SHA-256
	_ "crypto/sha512" // registers SHA-512
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Schemas of component descriptors.
const (
	// SchemaV2 is the schema of documents with meta.schemaVersion: v2.
	SchemaV2 = "v2"
	// SchemaV3 is the schema of documents with apiVersion: ocm.software/v3alpha1.
	SchemaV3 = "ocm.software/v3alpha1"
)

// Relations of a resource to its component.
const (
	// RelationLocal says that the resource is made together with the component and shares its version.
	RelationLocal = "local"
	// RelationExternal says that the resource comes from elsewhere.
	RelationExternal = "external"
)

// Key names one component version.
type Key struct {
	// Name of the component, such as example.com/shop.
	Name string
	// Version of the component, such as 1.2.0.
	Version string
}

// String returns name:version.
func (k Key) String() string { return k.Name + ":" + k.Version }

// Descriptor describes one component version, whatever schema it was written in. Treat it as read-only once it is shared.
type Descriptor struct {
	// Schema it was read in: SchemaV2 or SchemaV3. Encode and View take a schema of their own.
	Schema string
	// Name and Version of the component.
	Name, Version string
	// Provider of the component.
	Provider Provider
	// Labels of the component.
	Labels []Label
	// CreationTime as RFC 3339 text, as it was written; may be empty.
	CreationTime string
	// RepositoryContexts are the repositories that the component went through; the last one is the effective one.
	RepositoryContexts []Typed
	// Resources that belong to the component.
	Resources []Resource
	// Sources that the component was made of.
	Sources []Source
	// References to other component versions.
	References []Reference
	// Signatures of the component.
	Signatures []Signature
	// NestedDigests are digests for components behind the references, kept here when the component was signed with them.
	NestedDigests []NestedDigests

	// unknown holds fields that the model does not know, by the object they were found in; Encode puts them back in the same schema.
	unknown map[string]map[string]any
	// weight is about how many bytes the descriptor takes in memory.
	weight int64
}

// Key returns name and version.
func (d *Descriptor) Key() Key { return Key{d.Name, d.Version} }

// Repository returns the effective repository context, which is the last one.
func (d *Descriptor) Repository() (Typed, error) {
	if len(d.RepositoryContexts) == 0 {
		return Typed{}, fmt.Errorf("component %s has no repository context; add the repository it was published to to repositoryContexts", d.Key())
	}
	return d.RepositoryContexts[len(d.RepositoryContexts)-1], nil
}

// Provider is who provides a component.
type Provider struct {
	// Name of the provider.
	Name string
	// Labels of the provider.
	Labels []Label
	// Extra holds further fields.
	Extra map[string]any
}

// Label is a named value.
type Label struct {
	// Name of the label.
	Name string
	// Value is JSON data: maps with text keys, slices, texts, booleans, nil, and numbers as json.Number.
	Value any
	// Version of the label's format; may be empty.
	Version string
	// Signing says that signatures cover the label.
	Signing bool
	// Extra holds further fields, such as merge.
	Extra map[string]any
}

// Element is what resources, sources and references have in common.
type Element struct {
	// Name of the element; with ExtraIdentity its identity.
	Name string
	// Version of the element; of a Reference, the version of the component.
	Version string
	// ExtraIdentity distinguishes elements of one name.
	ExtraIdentity map[string]string
	// Labels of the element.
	Labels []Label
	// Extra holds further fields of the element.
	Extra map[string]any
}

// Resource is content that belongs to a component.
type Resource struct {
	Element
	// Type of the content, such as helmChart.
	Type string
	// Relation is RelationLocal or RelationExternal.
	Relation string
	// SourceRefs name the sources that the resource was made of.
	SourceRefs []SourceRef
	// Access says where the content is; see ParseAccess.
	Access Typed
	// Digest of the content; nil when there is none.
	Digest *DigestSpec
}

// Source is something that a component was made of.
type Source struct {
	Element
	// Type of the source, such as git.
	Type string
	// Access says where the source is; see ParseAccess.
	Access Typed
}

// SourceRef selects sources.
type SourceRef struct {
	// IdentitySelector are parts of the identity of the source.
	IdentitySelector map[string]string
	// Labels of the reference.
	Labels []Label
}

// Reference names another component version.
type Reference struct {
	Element
	// ComponentName of the component that is referred to.
	ComponentName string
	// Digest of the normalised descriptor that is referred to; nil when there is none.
	Digest *DigestSpec
}

// Key returns name and version of the component that is referred to.
func (r *Reference) Key() Key { return Key{r.ComponentName, r.Version} }

// DigestSpec is a digest and how it was made.
type DigestSpec struct {
	// HashAlgorithm is HashSHA256, HashSHA512, or NoDigest.
	HashAlgorithm string `json:"hashAlgorithm"`
	// NormalisationAlgorithm says what was hashed.
	NormalisationAlgorithm string `json:"normalisationAlgorithm"`
	// Value is the digest in hexadecimal digits.
	Value string `json:"value"`
}

// Signature signs the digest of a normalised descriptor.
type Signature struct {
	// Name of the signature.
	Name string
	// Digest that was signed.
	Digest DigestSpec
	// Signature is the proof.
	Signature SignatureSpec
	// Extra holds further fields, such as timestamp.
	Extra map[string]any
}

// SignatureSpec is the proof of a signature.
type SignatureSpec struct {
	// Algorithm is AlgorithmPKCS1v15 or AlgorithmPSS.
	Algorithm string `json:"algorithm"`
	// Value is the signature in the form MediaType says.
	Value string `json:"value"`
	// MediaType is MediaTypeRSA, MediaTypePSS or MediaTypePEM.
	MediaType string `json:"mediaType"`
	// Issuer is the distinguished name of the signer; may be empty.
	Issuer string `json:"issuer,omitempty"`
}

// NestedDigests are digests of one component version behind the references of a component.
type NestedDigests struct {
	// Name and Version of the component.
	Name, Version string
	// Digest of its normalised descriptor; may be nil.
	Digest *DigestSpec
	// Resources are the digests of its resources.
	Resources []NestedResourceDigest
}

// NestedResourceDigest is the digest of one resource of a component version.
type NestedResourceDigest struct {
	// Name, Version and ExtraIdentity name the resource.
	Name, Version string
	// ExtraIdentity distinguishes resources of one name.
	ExtraIdentity map[string]string
	// Digest of the content.
	Digest DigestSpec
}

// Weight is about how many bytes the descriptor takes in memory, which may be twenty times its text; zero if it was read from no document.
func (d *Descriptor) Weight() int64 { return d.weight }

// Algorithms of digests.
const (
	// HashSHA256 is SHA-256.
	HashSHA256 = "SHA-256"
	// HashSHA512 is SHA-512.
	HashSHA512 = "SHA-512"
	// NoDigest stands for the digest of content that signatures do not cover.
	NoDigest = "NO-DIGEST"
	// ExcludeFromSignature is the normalisation algorithm of NoDigest.
	ExcludeFromSignature = "EXCLUDE-FROM-SIGNATURE"
	// GenericBlobDigest hashes the bytes of the blob.
	GenericBlobDigest = "genericBlobDigest/v1"
	// OCIArtifactDigest hashes the bytes of the manifest of an OCI artifact.
	OCIArtifactDigest = "ociArtifactDigest/v1"
)

// hashes by their names without dash in upper case.
var hashes = map[string]crypto.Hash{"SHA256": crypto.SHA256, "SHA512": crypto.SHA512}

// HashOf returns the function for an algorithm, written as SHA-256 or sha256.
func HashOf(algorithm string) (crypto.Hash, error) {
	if h, known := hashes[strings.ReplaceAll(strings.ToUpper(algorithm), "-", "")]; known {
		return h, nil
	}
	return 0, fmt.Errorf("hash algorithm %q is not supported; use %s or %s", algorithm, HashSHA256, HashSHA512)
}

// Covered reports whether there is a digest to compare with: d is not nil and does not stand for excluded content.
func (d *DigestSpec) Covered() bool { return d != nil && d.HashAlgorithm != NoDigest }

// NewDigest returns a digest with SHA-256 under a normalisation algorithm, GenericBlobDigest or OCIArtifactDigest; value is in hexadecimal digits.
func NewDigest(normalisation, value string) *DigestSpec {
	return &DigestSpec{HashAlgorithm: HashSHA256, NormalisationAlgorithm: normalisation, Value: value}
}

// LabelEmbedded is the label of a reference that carries the descriptor of the component that is referred to.
const LabelEmbedded = "landscaper.gardener.cloud/component-descriptor"

// Identity returns the name under "name" and the extra identity. The version is no part of it.
func (e *Element) Identity() map[string]string {
	out := maps.Clone(e.ExtraIdentity)
	if out == nil {
		out = map[string]string{}
	}
	out["name"] = e.Name
	return out
}

// Matches reports whether the identity contains all wanted pairs. A wanted version is compared with the version of the element, unless the
// extra identity has one: the version joins the identity where that is needed to be unique.
func (e *Element) Matches(wanted map[string]string) bool {
	for key, value := range wanted {
		found, ok := e.ExtraIdentity[key]
		switch {
		case key == "name":
			found, ok = e.Name, true
		case key == "version" && !ok:
			found, ok = e.Version, true
		}
		if !ok || found != value {
			return false
		}
	}
	return true
}

// identityID is the identity as one text.
func (e *Element) identityID() string {
	id, _ := json.Marshal([]any{e.Name, e.ExtraIdentity})
	return string(id)
}

// uniqueID is the identity and the version as one text.
func (e *Element) uniqueID() string {
	id, _ := json.Marshal([]any{e.Name, e.Version, e.ExtraIdentity})
	return string(id)
}

// FindResource returns the first resource whose identity contains the wanted pairs, for example name. The error wraps ErrNotFound.
func (d *Descriptor) FindResource(wanted map[string]string) (*Resource, error) {
	return find[Resource](d, "resource", d.Resources, wanted)
}

// FindReference returns the first reference whose identity contains the wanted pairs, for example name. The error wraps ErrNotFound.
func (d *Descriptor) FindReference(wanted map[string]string) (*Reference, error) {
	return find(d, "reference", d.References, wanted)
}

func find[T any, P named[T]](d *Descriptor, what string, elements []T, wanted map[string]string) (P, error) {
	for i := range elements {
		if P(&elements[i]).element().Matches(wanted) {
			return &elements[i], nil
		}
	}
	return nil, fmt.Errorf("component %s has no %s with %s; it has: %s: %w",
		d.Key(), what, showIdentity(wanted), namesOf[T, P](elements), ErrNotFound)
}

// showIdentity writes an identity with sorted keys.
func showIdentity(identity map[string]string) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(identity)) {
		parts = append(parts, fmt.Sprintf("%s %q", key, identity[key]))
	}
	return strings.Join(parts, ", ")
}

// maxNames is how many names a message lists.
const maxNames = 20

func namesOf[T any, P named[T]](elements []T) string {
	var names []string
	for i := range elements {
		if i == maxNames {
			names = append(names, "…")
			break
		}
		names = append(names, P(&elements[i]).element().Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// FindLabel returns the value of a label; false when there is no label of that name.
func FindLabel(labels []Label, name string) (any, bool) {
	for _, label := range labels {
		if label.Name == name {
			return label.Value, true
		}
	}
	return nil, false
}

// Embedded returns the descriptor that the reference carries in its label LabelEmbedded, as an object or as a text; nil when it carries
// none.
func (r *Reference) Embedded() (*Descriptor, error) {
	value, found := FindLabel(r.Labels, LabelEmbedded)
	if !found {
		return nil, nil
	}
	document, isText := value.(string)
	if !isText {
		raw, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("label %s of reference %q: %w", LabelEmbedded, r.Name, err)
		}
		document = string(raw)
	}
	d, err := Decode([]byte(document))
	if err != nil {
		return nil, fmt.Errorf("label %s of reference %q: %w", LabelEmbedded, r.Name, err)
	}
	if d.Key() != r.Key() {
		return nil, fmt.Errorf("label %s of reference %q holds component %s, but the reference is to %s", LabelEmbedded, r.Name, d.Key(), r.Key())
	}
	return d, nil
}
