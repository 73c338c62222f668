// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
)

// Names of access types as ParseAccess knows them; aliases and version suffixes such as /v1 are taken as well.
const (
	accessOCIArtifact  = "ociArtifact"
	accessRelativeOCI  = "relativeOciReference"
	accessLocalBlob    = "localBlob"
	accessLocalOCIBlob = "localOciBlob"
	accessLocalFile    = "localFilesystemBlob"
	accessOCIBlob      = "ociBlob"
	accessHelm         = "helm"
	accessWeb          = "wget"
	accessGitHub       = "gitHub"
	accessGit          = "git"
	accessNone         = "none"
	repositoryOCI      = "OCIRegistry"
	repositoryCTF      = "CommonTransportFormat"
	repositoryArchive  = "ComponentArchive"
	repositoryLocal    = "local"
	repositoryInline   = "inline"
	repositoryFlux     = "fluxSource"
)

// aliases of type names, without version.
var aliases = map[string]string{
	"ociRegistry": repositoryOCI, "OciRegistry": repositoryOCI, "OCIRepository": repositoryOCI, "ociRepository": repositoryOCI,
	"ctf": repositoryCTF, "CTF": repositoryCTF, "commonTransportFormat": repositoryCTF,
	"ComponentArchive": repositoryArchive, "componentArchive": repositoryArchive, "CA": repositoryArchive,
	"OCIArtifact": accessOCIArtifact, "OCIImage": accessOCIArtifact, "ociImage": accessOCIArtifact, "ociArtefact": accessOCIArtifact,
	"RelativeOciReference": accessRelativeOCI, "RelativeOCIReference": accessRelativeOCI,
	"LocalBlob": accessLocalBlob, "LocalOciBlob": accessLocalOCIBlob, "localOCIBlob": accessLocalOCIBlob,
	"LocalFilesystemBlob": accessLocalFile, "localFileSystemBlob": accessLocalFile,
	"OCIBlob": accessOCIBlob, "OciBlob": accessOCIBlob, "ociLayer": accessOCIBlob, "OCIImageLayer": accessOCIBlob,
	"Helm": accessHelm, "web": accessWeb, "Web": accessWeb, "Wget": accessWeb,
	"github": accessGitHub, "GitHub": accessGitHub, "Git": accessGit, "None": accessNone,
	"S3": "s3", "NPM": "npm", "Npm": "npm", "Maven": "maven", "mvn": "maven",
}

// Access says where the content of a resource is. It is one of OCIArtifact, RelativeOCIReference, LocalBlob, LocalOCIBlob,
// LocalFilesystemBlob, OCIBlob, HelmChart, Web, GitHub, Git and NoContent.
type Access interface{ access() }

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
	Filename string `json:"filename"`
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

// NoContent says that the resource has no content (type none).
type NoContent struct{}

func (OCIArtifact) access()          {}
func (RelativeOCIReference) access() {}
func (LocalBlob) access()            {}
func (LocalOCIBlob) access()         {}
func (LocalFilesystemBlob) access()  {}
func (OCIBlob) access()              {}
func (HelmChart) access()            {}
func (Web) access()                  {}
func (GitHub) access()               {}
func (Git) access()                  {}
func (NoContent) access()            {}

// ParseAccess reads an access specification into the Go type for it. It fails for types that are not supported and for missing fields.
func ParseAccess(t Typed) (Access, error) {
	return nil, fmt.Errorf("access type %q is not supported yet", t.Type)
}
