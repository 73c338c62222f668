// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/git"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// access finds what an access names.
func (s *Session) access(ctx context.Context, v *version, resource *component.Resource, t component.Typed) (*stream, error) {
	access, err := component.ParseAccess(t)
	if err != nil {
		return nil, refused("access", err)
	}
	switch a := access.(type) {
	case component.LocalBlob:
		return s.localBlob(ctx, v, resource, a)
	case component.LocalOCIBlob:
		return s.beside(ctx, v, resource, a.Digest, "")
	case component.LocalFilesystemBlob:
		return s.beside(ctx, v, resource, a.Filename, a.MediaType)
	case component.OCIArtifact:
		return s.artifact(ctx, v.below(s.registry(repositoryOf(a.ImageReference))), resource, a.ImageReference)
	case component.RelativeOCIReference:
		return s.relative(ctx, v, resource, a)
	case component.OCIBlob:
		return s.ociBlob(v, a)
	case component.Web:
		return s.r.web(a)
	case component.HelmChart:
		return s.chart(ctx, resource, a)
	case component.GitHub:
		return s.r.commit(ctx, git.Location{URL: withScheme(a.RepoURL), Ref: a.Ref, Commit: a.Commit}, "")
	case component.Git:
		return s.r.commit(ctx, git.Location{URL: a.Repository, Ref: a.Ref, Commit: a.Commit}, a.Path)
	}
	if _, ok := access.(component.Elsewhere); ok {
		return nil, stalled("access of type "+t.Type, "its content is not reached from here",
			"transfer the component version by value (ocm transfer componentversions --copy-resources), or publish the content as localBlob or ociArtifact")
	}
	return nil, stalled("access of type "+t.Type, "it has no content", "use a resource with content")
}

// localBlob opens a blob beside the descriptor; if it is not there, the global access leads to it.
func (s *Session) localBlob(ctx context.Context, v *version, resource *component.Resource, a component.LocalBlob) (*stream, error) {
	found, err := s.beside(ctx, v, resource, a.LocalReference, a.MediaType)
	if err == nil || a.GlobalAccess.IsZero() || !missing(err) {
		return found, err
	}
	return s.access(ctx, v, resource, a.GlobalAccess)
}

// beside opens a local blob. An OCI artifact that is kept in one is taken out of it.
func (s *Session) beside(ctx context.Context, v *version, resource *component.Resource, reference, mediaType string) (*stream, error) {
	found, err := v.blobs.blob(ctx, reference)
	if inIndex, ok := v.blobs.(*manifestBlobs); ok && missing(err) && inIndex.beside(reference) != "" {
		return s.artifact(ctx, v.registry, resource, inIndex.beside(reference))
	}
	if err != nil {
		return nil, err
	}
	if mediaType != "" {
		found.mediaType = mediaType
	}
	if isArtifactSet(found.mediaType) {
		return s.r.fromSet(ctx, found, resource)
	}
	return found, nil
}

// artifact opens the layer of an OCI artifact.
func (s *Session) artifact(ctx context.Context, at place, resource *component.Resource, reference string) (*stream, error) {
	m, err := s.r.options.OCI.ManifestFor(ctx, reference, oci.PullOptions{Credentials: at.logins})
	if err != nil {
		return nil, err
	}
	layer, err := pick(m.Manifest, resource)
	if err != nil {
		return nil, err
	}
	return &stream{scope: repositoryOf(reference), id: layer.Digest.String(), mediaType: layer.MediaType, digest: layer.Digest, verified: true, manifest: m.Digest,
		size: layer.Size,
		open: func(ctx context.Context) (io.ReadCloser, error) {
			return m.Open(ctx, layer.Digest, s.r.options.MaxContent)
		}}, nil
}

// relative opens an artifact in the registry of the component.
func (s *Session) relative(ctx context.Context, v *version, resource *component.Resource, a component.RelativeOCIReference) (*stream, error) {
	reference, err := s.absolute(ctx, v, a)
	if err != nil {
		return nil, err
	}
	return s.artifact(ctx, v.below(s.registry(repositoryOf(reference))), resource, reference)
}

// absolute resolves a relative reference against the base of the component's repository or, as some tools mean it, against its
// host, where the base has no such artifact. The logins for the base are for nothing beside it.
func (s *Session) absolute(ctx context.Context, v *version, a component.RelativeOCIReference) (string, error) {
	if v.registry.isZero() {
		return "", stalled("access of type relativeOciReference", "the component version is in no OCI registry", "use ociArtifact with a full reference")
	}
	below, host := v.registry.join(a.Reference), v.registry.host()
	if host.base == v.registry.base {
		return below, nil
	}
	there, err := s.r.options.OCI.Exists(ctx, below, v.registry.logins)
	if there || err != nil && !missing(err) {
		return below, err
	}
	atHost := host.join(a.Reference)
	if there, err := s.r.options.OCI.Exists(ctx, atHost, v.below(s.registry(repositoryOf(atHost))).logins); there && err == nil {
		return atHost, nil
	}
	return below, nil
}

func (r place) join(reference string) string {
	return strings.TrimSuffix(r.base, "/") + "/" + strings.TrimPrefix(reference, "/")
}

// host is the registry without its path.
func (r place) host() place {
	scheme, rest, both := strings.Cut(r.base, "://")
	if !both {
		scheme, rest = "", r.base
	}
	name, _, _ := strings.Cut(rest, "/")
	if both {
		name = scheme + "://" + name
	}
	r.base = name
	return r
}

func (s *Session) ociBlob(v *version, a component.OCIBlob) (*stream, error) {
	d := digest.Digest(a.Digest)
	if d.Validate() != nil {
		return nil, stalled("access of type ociBlob", fmt.Sprintf("digest %q cannot be used", a.Digest), "publish the component version anew")
	}
	size, most := a.Size, s.r.options.MaxContent
	if size <= 0 {
		size = -1
	}
	logins, ref := v.below(s.registry(repositoryOf(a.Repository))).logins, repositoryOf(a.Repository)+"@"+d.String()
	return &stream{scope: repositoryOf(a.Repository), id: d.String(), mediaType: a.MediaType, digest: d, verified: true,
		size: cmp.Or(max(size, 0), most),
		open: func(ctx context.Context) (io.ReadCloser, error) {
			return s.r.options.OCI.OpenBlob(ctx, ref, size, most, logins)
		}}, nil
}

// commit opens the files of a Git commit as a tar with reproducible bytes. A digest of the resource is compared with these: the
// access is not covered by signatures, so the hash of the commit alone would let somebody put another commit in its place.
func (r *Repositories) commit(ctx context.Context, at git.Location, folder string) (*stream, error) {
	if at.Commit == "" {
		hash, err := r.git.Resolve(ctx, at)
		if err != nil {
			return nil, guarded(at.URL, err)
		}
		at.Commit = hash
	}
	write := r.gitArchive(at, folder)
	return &stream{scope: "git " + at.URL, id: at.Commit + " " + folder, mediaType: mediaTypeTar, open: piped(write)}, nil
}

// piped turns what writes itself into a reader. A panic of what writes is an error of the reader.
func piped(write func(context.Context, io.Writer) error) func(context.Context) (io.ReadCloser, error) {
	return func(ctx context.Context) (io.ReadCloser, error) {
		r, w := io.Pipe()
		go func() { w.CloseWithError(fault.Survived(ctx, func() error { return write(ctx, w) })) }()
		return r, nil
	}
}

func withScheme(url string) string {
	if strings.Contains(url, "://") {
		return url
	}
	return "https://" + url
}

// Types of resources and their layers.
const (
	mediaTypeTar        = "application/x-tar"
	typeBlueprint       = "landscaper.gardener.cloud/blueprint"
	typeBlueprintLegacy = "blueprint"
	typeSchema          = "landscaper.gardener.cloud/jsonschema"
	blueprintPrefix     = "application/vnd.gardener.landscaper.blueprint."
	blueprintConfig     = "application/vnd.gardener.landscaper.blueprint.config.v1"
	schemaPrefix        = "application/vnd.gardener.landscaper.jsonschem"
)

// pick chooses the layer of an OCI artifact that is the content of a resource.
func pick(m ocispec.Manifest, resource *component.Resource) (ocispec.Descriptor, error) {
	if len(m.Layers) == 0 {
		return ocispec.Descriptor{}, stalled("OCI artifact", "it has no layer", "publish the component version anew")
	}
	fits := func(ocispec.Descriptor) bool { return true }
	switch resource.Type {
	case "helmChart", "helm.io/chart", "helm":
		fits = func(l ocispec.Descriptor) bool {
			return l.MediaType == oci.HelmChartLayer || l.MediaType == oci.HelmChartLayerLegacy
		}
	case typeBlueprint, typeBlueprintLegacy:
		fits = func(l ocispec.Descriptor) bool { return strings.HasPrefix(l.MediaType, blueprintPrefix) }
	case typeSchema:
		fits = func(l ocispec.Descriptor) bool { return strings.HasPrefix(l.MediaType, schemaPrefix) }
	}
	if i := slices.IndexFunc(m.Layers, fits); i >= 0 {
		return m.Layers[i], nil
	}
	return m.Layers[0], nil
}

// unique identifies content that is downloaded anew each time.
func unique() string { return rand.Text() }

// isArtifactSet reports whether a blob of this media type is an archive of an OCI artifact.
func isArtifactSet(mediaType string) bool {
	base, archive := strings.CutSuffix(strings.TrimSuffix(mediaType, "+gzip"), "+tar")
	if base == "application/vnd.ocm.software.oci.layout.v1" {
		return archive
	}
	switch strings.TrimSuffix(base, "+json") {
	case "application/vnd.oci.image.manifest.v1", "application/vnd.oci.image.index.v1",
		"application/vnd.docker.distribution.manifest.v2", "application/vnd.docker.distribution.manifest.list.v2":
		return archive
	}
	return false
}

// fromSet returns the layer of the artifact in an artifact set, which is extracted for it. What is extracted is not held by the session, since a
// template may ask for it any number of times.
func (r *Repositories) fromSet(ctx context.Context, set *stream, resource *component.Resource) (*stream, error) {
	want, err := set.expectSet(resource)
	if err != nil {
		return nil, err
	}
	tree, err := r.extract(ctx, set, "OCI artifact in resource "+resource.Name, want)
	if err != nil {
		return nil, err
	}
	return layerOfSet(tree, set, resource)
}

// expectSet compares the digest of a blob. One of an OCI artifact is compared with the manifest later.
func (f *stream) expectSet(resource *component.Resource) (digest.Digest, error) {
	if spec := resource.Digest; spec != nil && spec.NormalisationAlgorithm == component.OCIArtifactDigest {
		return f.digest, nil
	}
	return f.expect(resource)
}

func layerOfSet(tree *fetch.Tree, set *stream, resource *component.Resource) (*stream, error) {
	artifacts, err := component.OpenArtifactSet(tree.FS())
	if err != nil {
		return nil, refused("artifact set", err)
	}
	m, at, err := artifacts.Manifest()
	if err != nil {
		return nil, refused("artifact set", err)
	}
	layer, err := pick(m, resource)
	if err != nil {
		return nil, err
	}
	blobOnly := resource.Digest != nil && resource.Digest.NormalisationAlgorithm == component.GenericBlobDigest
	return &stream{scope: set.scope, id: set.id + " " + layer.Digest.String(), mediaType: layer.MediaType, digest: layer.Digest, manifest: at, compared: blobOnly,
		open: func(context.Context) (io.ReadCloser, error) { return artifacts.Blob(layer.Digest) }}, nil
}
