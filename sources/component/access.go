// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
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
