// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

// Mappings of component names to OCI repositories.
const (
	// MappingURLPath puts a component at <base>/component-descriptors/<name>.
	MappingURLPath = "urlPath"
	// MappingDigest puts a component at <base>/<SHA-256 of its name>.
	MappingDigest = "sha256-digest"
)

// RepositorySpec says where component versions are. It is one of OCIRegistry, Archive, Local, Inline, FluxSource and GitRepository.
type RepositorySpec any

// OCIRegistry keeps component versions as OCI artifacts (types OCIRegistry, OCIRepository and oci).
type OCIRegistry struct {
	// BaseURL is host and path, with http:// for a registry without TLS.
	BaseURL string `json:"baseUrl"`
	// SubPath is appended to the base.
	SubPath string `json:"subPath,omitempty"`
	// Mapping is MappingURLPath (also when empty) or MappingDigest.
	Mapping string `json:"componentNameMapping,omitempty"`
}

// Archive is a directory or tar with component versions: in Common Transport Format (types CommonTransportFormat and ctf), or a component archive
// (type ComponentArchive).
type Archive struct {
	// FilePath of the directory or tar.
	FilePath string `json:"filePath"`
}

// Local is a directory of descriptors below the directory that the operator configured (type local).
type Local struct {
	// FilePath below that directory.
	FilePath string `json:"filePath"`
}

// Inline is a repository inside the specification (type inline).
type Inline struct {
	// FileSystem holds the component descriptors, as a YAML file system.
	FileSystem json.RawMessage `json:"fileSystem,omitempty"`
	// DescriptorPath is the directory of the descriptors in FileSystem; empty means its root.
	DescriptorPath string `json:"compDescDirPath,omitempty"`
	// BlobFileSystem holds the blobs, as a YAML file system; absent means FileSystem.
	BlobFileSystem json.RawMessage `json:"blobFs,omitempty"`
	// BlobMode is filesystem or context.
	BlobMode string `json:"blobFsMode,omitempty"`
	// BlobPath is the directory of the blobs.
	BlobPath string `json:"blobDirPath,omitempty"`
}

// FluxSource is an artifact of a Flux source (type fluxSource).
type FluxSource struct {
	// SourceRef names the source.
	SourceRef SourceObject `json:"sourceRef"`
	// Path inside the artifact; empty means its root.
	Path string `json:"path,omitempty"`
}

// SourceObject names an object of a Flux source.
type SourceObject struct {
	// Kind of the source, such as OCIRepository.
	Kind string `json:"kind"`
	// Name of the source.
	Name string `json:"name"`
	// Namespace of the source; empty means the namespace of the reader.
	Namespace string `json:"namespace,omitempty"`
}

// GitRepository is a directory of a Git repository (type git).
type GitRepository struct {
	// URL of the repository.
	URL string `json:"url"`
	// Ref is a branch or tag; empty with a Commit, or for the default branch.
	Ref string `json:"ref,omitempty"`
	// Commit to take; may be empty.
	Commit string `json:"commit,omitempty"`
	// Path inside the repository; empty means its root.
	Path string `json:"path,omitempty"`
}

// repositoryTypes are the supported types by kindOf their names.
var repositoryTypes = map[string]func(Typed) (RepositorySpec, error){
	kindOCIRegistry:    parseOCIRegistry,
	kindCTF:            repositoryOf[Archive]("filePath"),
	"componentarchive": repositoryOf[Archive]("filePath"),
	"local":            repositoryOf[Local]("filePath"),
	"inline":           repositoryOf[Inline]("fileSystem"),
	"fluxsource":       parseFluxSource,
	"git":              repositoryOf[GitRepository]("url"),
}

// ParseRepository reads a repository specification into the Go type for it. Upper and lower case of the type and a version suffix such
// as /v1 make no difference. It fails for types that are not supported and for missing fields.
func ParseRepository(t Typed) (RepositorySpec, error) {
	if parse, known := repositoryTypes[kindOf(t.Type)]; known {
		return parse(t)
	}
	return nil, fmt.Errorf("repository type %q is not supported; use for example OCIRegistry", t.Type)
}

func repositoryOf[T any](required ...string) func(Typed) (RepositorySpec, error) {
	return func(t Typed) (RepositorySpec, error) {
		var out T
		err := t.into("repository", &out, required...)
		return out, err
	}
}

func parseOCIRegistry(t Typed) (RepositorySpec, error) {
	var out OCIRegistry
	if err := t.into("repository", &out, "baseUrl"); err != nil {
		return nil, err
	}
	if out.Mapping != "" && out.Mapping != MappingURLPath && out.Mapping != MappingDigest {
		return nil, fmt.Errorf("repository of type %q has componentNameMapping %q; use %s or %s", t.Type, out.Mapping, MappingURLPath, MappingDigest)
	}
	return out, nil
}

func parseFluxSource(t Typed) (RepositorySpec, error) {
	var out FluxSource
	if err := t.into("repository", &out, "sourceRef"); err != nil {
		return nil, err
	}
	if out.SourceRef.Kind == "" || out.SourceRef.Name == "" {
		return nil, fmt.Errorf("repository of type %q needs sourceRef.kind and sourceRef.name; name a Flux source", t.Type)
	}
	return out, nil
}

// Base returns BaseURL and SubPath joined. A scheme stays, but for oci://.
func (r OCIRegistry) Base() string {
	base := strings.TrimRight(strings.TrimPrefix(r.BaseURL, "oci://"), "/")
	if sub := strings.Trim(r.SubPath, "/"); sub != "" {
		return base + "/" + sub
	}
	return base
}

// Repository returns the OCI repository of a component: Base with the mapped name.
func (r OCIRegistry) Repository(name string) string {
	if r.Mapping == MappingDigest {
		return fmt.Sprintf("%s/%x", r.Base(), sha256.Sum256([]byte(name)))
	}
	return r.Base() + "/" + ComponentsPath + name
}

// Reference returns the OCI reference of a component version. A + of the version is written .build- in the tag.
func (r OCIRegistry) Reference(name, version string) string {
	return r.Repository(name) + ":" + Tag(version)
}

// ComponentsPath is where registries and CTFs keep component versions.
const ComponentsPath = "component-descriptors/"

// Tag returns the OCI tag for a version.
func Tag(version string) string { return strings.ReplaceAll(version, "+", ".build-") }
