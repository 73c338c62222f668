// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// Chart says how to get the chart of a resource. One of OCI, Repository and Content is set.
type Chart struct {
	// OCI is host/repository:tag, with @digest if the component descriptor knows it. It is pulled with the logins of the Scope.
	OCI string
	// Repository, Name and Version are the coordinates in an HTTP Helm repository.
	Repository, Name, Version string
	// Content is the packaged chart. The caller closes it.
	Content *Blob
	// Digest that the packaged chart, a file, must have; empty if the descriptor says none, or one of the whole artifact.
	Digest digest.Digest
}

// Chart finds out how a deployer gets the chart that a resource is: from a registry or Helm repository of its own access, or
// else as verified content.
func (s *Session) Chart(ctx context.Context, d *component.Descriptor, resource *component.Resource) (*Chart, error) {
	access, err := component.ParseAccess(resource.Access)
	if err != nil {
		return nil, about(d, resource, refused("access", err))
	}
	var found *Chart
	switch a := access.(type) {
	case component.OCIArtifact, component.RelativeOCIReference:
		reference, referenceErr := s.ImageReference(ctx, d, resource)
		if referenceErr != nil {
			return nil, referenceErr
		}
		found, err = pinned(reference, resource.Digest)
	case component.HelmChart:
		found, err = coordinates(a, resource.Digest)
	default:
		return s.chartContent(ctx, d, resource)
	}
	if err != nil {
		return nil, about(d, resource, err)
	}
	return found, nil
}

func (s *Session) chartContent(ctx context.Context, d *component.Descriptor, resource *component.Resource) (*Chart, error) {
	content, err := s.Content(ctx, d, resource)
	if err != nil {
		return nil, err
	}
	return &Chart{Content: content, Digest: content.Digest}, nil
}

func coordinates(a component.HelmChart, spec *component.DigestSpec) (*Chart, error) {
	if rest, ok := strings.CutPrefix(a.Repository, "oci://"); ok {
		return pinned(strings.TrimSuffix(rest, "/")+"/"+a.Chart+":"+strings.ReplaceAll(a.Version, "+", "_"), spec)
	}
	want, of, err := wanted(spec)
	if err == nil && of == component.OCIArtifactDigest {
		err = stalled("digest", "it is one of an OCI artifact, but the chart is in an HTTP repository", "publish the component version anew")
	}
	if err != nil {
		return nil, err
	}
	return &Chart{Repository: a.Repository, Name: a.Chart, Version: a.Version, Digest: want}, nil
}

// pinned is a chart in a registry, with the digest that the descriptor says.
func pinned(reference string, spec *component.DigestSpec) (*Chart, error) {
	want, of, err := wanted(spec)
	if err != nil || of != component.OCIArtifactDigest {
		return &Chart{OCI: reference, Digest: want}, err
	}
	if _, written, found := strings.Cut(reference, "@"); found {
		if written != want.String() {
			return nil, mismatch(want, digest.Digest(written))
		}
		return &Chart{OCI: reference}, nil
	}
	return &Chart{OCI: reference + "@" + want.String()}, nil
}

// ImageReference returns the full reference of a resource that is an OCI artifact. A registry is asked only where a
// relative reference could mean two places.
func (s *Session) ImageReference(ctx context.Context, d *component.Descriptor, resource *component.Resource) (string, error) {
	v, err := s.version(d)
	if err != nil {
		return "", about(d, resource, err)
	}
	reference, err := s.imageReference(ctx, v, resource.Access)
	if err != nil {
		return "", about(d, resource, err)
	}
	return reference, nil
}

func (s *Session) imageReference(ctx context.Context, v *version, t component.Typed) (string, error) {
	access, err := component.ParseAccess(t)
	if err != nil {
		return "", refused("access", err)
	}
	switch a := access.(type) {
	case component.OCIArtifact:
		return a.ImageReference, nil
	case component.RelativeOCIReference:
		reference, err := s.absolute(ctx, v, a)
		if _, rest, found := strings.Cut(reference, "://"); found {
			reference = rest
		}
		return reference, err
	case component.LocalBlob:
		if !a.GlobalAccess.IsZero() {
			return s.imageReference(ctx, v, a.GlobalAccess)
		}
	}
	return "", stalled("access of type "+t.Type, "it is not an OCI artifact", "use a resource with access type ociArtifact")
}

// maxIndex is how many bytes the index of a Helm repository may have.
const maxIndex = 32 << 20

// chart downloads a chart from a Helm repository.
func (s *Session) chart(ctx context.Context, resource *component.Resource, a component.HelmChart) (*stream, error) {
	at, err := coordinates(a, resource.Digest)
	if err != nil {
		return nil, err
	}
	if at.OCI != "" {
		return s.artifact(ctx, s.registry(repositoryOf(at.OCI)), resource, at.OCI)
	}
	base := strings.TrimSuffix(withScheme(a.Repository), "/")
	entry, err := s.r.chartEntry(ctx, base, a)
	if err != nil {
		return nil, err
	}
	address, err := entry.address(base)
	if err != nil {
		return nil, err
	}
	found := s.r.file(component.Web{URL: address, MediaType: oci.HelmChartLayer})
	if d := digest.Digest("sha256:" + strings.TrimPrefix(entry.Digest, "sha256:")); d.Validate() == nil {
		found.digest = d
	}
	return found, nil
}

// chartEntry is one version of a chart in an index.
type chartEntry struct {
	Version string   `json:"version"`
	URLs    []string `json:"urls"`
	Digest  string   `json:"digest"`
}

func (r *Repositories) chartEntry(ctx context.Context, base string, a component.HelmChart) (*chartEntry, error) {
	body, err := r.get(ctx, base+"/index.yaml", maxIndex)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil, fmt.Errorf("index of the Helm repository: %w", err)
	}
	var index struct {
		Entries map[string][]chartEntry `json:"entries"`
	}
	err = foreign.Index.Unmarshal(raw, &index)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("index of the Helm repository: %w", context.Cause(ctx))
	}
	if err != nil {
		return nil, stalled("Helm repository "+base, "its index.yaml "+foreign.Problem(err), "check the URL")
	}
	for _, entry := range index.Entries[a.Chart] {
		if strings.TrimPrefix(entry.Version, "v") == strings.TrimPrefix(a.Version, "v") {
			return &entry, nil
		}
	}
	return nil, lacking("Helm repository "+base, fmt.Sprintf("it has no chart %s in version %q", a.Chart, a.Version), "check name and version")
}

// address is where the chart is downloaded, relative to the repository.
func (e *chartEntry) address(base string) (string, error) {
	if len(e.URLs) == 0 {
		return "", stalled("Helm repository "+base, "its index names no URL for the chart", "repair the index")
	}
	at, err := url.Parse(base + "/")
	if err != nil {
		return "", stalled("Helm repository", "its URL cannot be used", "correct the URL")
	}
	address, err := at.Parse(e.URLs[0])
	if err != nil {
		return "", stalled("Helm repository "+base, "its index names an unusable URL for the chart", "repair the index")
	}
	return address.String(), nil
}
