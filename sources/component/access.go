// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Access says where the content of a resource is. It is one of OCIArtifact, RelativeOCIReference, LocalBlob, LocalOCIBlob,
// LocalFilesystemBlob, OCIBlob, HelmChart, Web, GitHub, Git, Elsewhere and NoContent.
type Access any

// OCIArtifact is an artifact in an OCI registry (types ociArtifact, ociRegistry, ociImage).
type OCIArtifact struct {
	// ImageReference is host/repository with tag or digest.
	ImageReference string `json:"imageReference"`
}

// RelativeOCIReference is an artifact in the registry of the component (type relativeOciReference).
type RelativeOCIReference struct {
	// Reference is repository with tag or digest, relative to the base of the component's repository.
	Reference string `json:"reference"`
}

// LocalBlob is a blob kept beside the descriptor (type localBlob).
type LocalBlob struct {
	// LocalReference names the blob in the repository of the component: a digest, or the name of a file.
	LocalReference string `json:"localReference"`
	// MediaType of the blob.
	MediaType string `json:"mediaType"`
	// ReferenceName is a hint for the name when the blob is imported as an artifact.
	ReferenceName string `json:"referenceName,omitempty"`
	// GlobalAccess leads to the same content without the component's repository; may be zero.
	GlobalAccess Typed `json:"globalAccess,omitzero"`
}

// LocalOCIBlob is a layer of the component's own manifest (type localOciBlob).
type LocalOCIBlob struct {
	// Digest of the layer.
	Digest string `json:"digest"`
}

// LocalFilesystemBlob is a file below blobs of an archive (type localFilesystemBlob).
type LocalFilesystemBlob struct {
	// Filename below blobs.
	Filename string `json:"fileName"`
	// MediaType of the file.
	MediaType string `json:"mediaType,omitempty"`
}

// OCIBlob is one blob of an OCI repository (type ociBlob).
type OCIBlob struct {
	// Repository is host/repository.
	Repository string `json:"ref"`
	// MediaType of the blob.
	MediaType string `json:"mediaType,omitempty"`
	// Digest of the blob.
	Digest string `json:"digest"`
	// Size in bytes.
	Size int64 `json:"size"`
}

// HelmChart is a chart of a Helm repository (type helm).
type HelmChart struct {
	// Repository is the URL of the Helm repository; oci:// URLs are possible.
	Repository string `json:"helmRepository"`
	// Chart is the name of the chart.
	Chart string `json:"helmChart"`
	// Version of the chart.
	Version string `json:"version,omitempty"`
}

// Web is a file behind a URL (types wget, web).
type Web struct {
	// URL of the file.
	URL string `json:"url"`
	// MediaType of the file; empty means what the server says.
	MediaType string `json:"mediaType,omitempty"`
	// Verb is the method of the request; empty means GET.
	Verb string `json:"verb,omitempty"`
	// Header of the request, beside what every request has.
	Header map[string][]string `json:"header,omitempty"`
	// Body of the request.
	Body []byte `json:"body,omitempty"`
}

// Plain reports whether the request only gets the file: it has neither header nor body, and its method is GET.
func (w Web) Plain() bool {
	return (w.Verb == "" || strings.EqualFold(w.Verb, "GET")) && len(w.Header) == 0 && len(w.Body) == 0
}

// GitHub is a commit of a repository at a GitHub host (types gitHub, github).
type GitHub struct {
	// RepoURL of the repository.
	RepoURL string `json:"repoUrl"`
	// Ref is informational.
	Ref string `json:"ref,omitempty"`
	// Commit to take.
	Commit string `json:"commit"`
}

// Git is a state of a Git repository (type git).
type Git struct {
	// Repository is its URL.
	Repository string `json:"repository"`
	// Ref is a branch or tag; empty with a Commit.
	Ref string `json:"ref,omitempty"`
	// Commit to take; empty with a Ref.
	Commit string `json:"commit,omitempty"`
	// Path inside the repository; empty means all.
	Path string `json:"pathSpec,omitempty"`
}

// Elsewhere is content that the OCM tools reach and this package does not: in S3, npm or Maven repositories, or in another component version
// (types s3, npm, maven, ocm).
type Elsewhere struct {
	// Kind of the access, in lower case and without version.
	Kind string
}

// NoContent says that the resource has no content (type none).
type NoContent struct{}

// accessTypes are the supported types by kindOf their names.
var accessTypes = map[string]func(Typed) (Access, error){
	"ociartifact":          accessOf[OCIArtifact]("imageReference"),
	"ociartefact":          accessOf[OCIArtifact]("imageReference"),
	"ociregistry":          accessOf[OCIArtifact]("imageReference"),
	"ociimage":             accessOf[OCIArtifact]("imageReference"),
	"relativeocireference": accessOf[RelativeOCIReference]("reference"),
	"localblob":            accessOf[LocalBlob]("localReference"),
	"localociblob":         accessOf[LocalOCIBlob]("digest"),
	"localfilesystemblob":  accessOf[LocalFilesystemBlob]("fileName"),
	"ociblob":              accessOf[OCIBlob]("ref", "digest"),
	"ocilayer":             accessOf[OCIBlob]("ref", "digest"),
	"ociimagelayer":        accessOf[OCIBlob]("ref", "digest"),
	"helm":                 parseHelm,
	"wget":                 accessOf[Web]("url"),
	"web":                  accessOf[Web]("url"),
	"github":               accessOf[GitHub]("repoUrl"),
	"git":                  parseGit,
	"none":                 accessOf[NoContent](),
}

// elsewhereKinds are types that the OCM tools know and whose content is not reached here.
var elsewhereKinds = []string{"s3", "npm", "npmpackage", "maven", "mavenpackage", "mvn", "osspackage", "pypi", "gopackage", "ocm"}

// ParseAccess reads an access specification into the Go type for it. Upper and lower case of the type and of the names of fields, and a
// version suffix such as /v1, make no difference. It fails for types that are not known and for missing fields.
func ParseAccess(t Typed) (Access, error) {
	kind := kindOf(t.Type)
	if parse, known := accessTypes[kind]; known {
		return parse(t)
	}
	if slices.Contains(elsewhereKinds, kind) {
		return Elsewhere{kind}, nil
	}
	return nil, fmt.Errorf("access type %q is unknown; use for example localBlob or ociArtifact", t.Type)
}

func accessOf[T any](required ...string) func(Typed) (Access, error) {
	return func(t Typed) (Access, error) {
		var out T
		err := t.into("access", &out, required...)
		return out, err
	}
}

// parseHelm takes the version behind the name of the chart, too: mariadb:12.2.7.
func parseHelm(t Typed) (Access, error) {
	var out HelmChart
	if err := t.into("access", &out, "helmRepository", "helmChart"); err != nil {
		return nil, err
	}
	if name, version, found := strings.Cut(out.Chart, ":"); found {
		if out.Version != "" && out.Version != version {
			return nil, fmt.Errorf("access of type %q names two versions of chart %s: %s and %s; leave one out", t.Type, name, version, out.Version)
		}
		out.Chart, out.Version = name, version
	}
	return out, nil
}

// parseGit takes the older name repoUrl of the field repository, too.
func parseGit(t Typed) (Access, error) {
	var out struct {
		Git
		RepoURL string `json:"repoUrl"`
	}
	if err := t.into("access", &out); err != nil {
		return nil, err
	}
	out.Repository = cmp.Or(out.Repository, out.RepoURL)
	if out.Repository == "" {
		return nil, fmt.Errorf("access of type %q has no repository; set it to the URL of the Git repository", t.Type)
	}
	return out.Git, nil
}

// Accesses are those of all resources and sources, to be read or changed.
func (d *Descriptor) Accesses() []*Typed {
	var out []*Typed
	for i := range d.Resources {
		out = append(out, &d.Resources[i].Access)
	}
	for i := range d.Sources {
		out = append(out, &d.Sources[i].Access)
	}
	return out
}

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
