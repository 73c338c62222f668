// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package carry

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component/formats"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// Artifact is an OCI artifact to take over, found and not yet copied.
type Artifact struct {
	// Parts are references by digest: to the artifact, or to the manifests of Index.
	Parts []string
	// Index was made here of Parts; nil for an artifact that is taken over as it is.
	Index []byte
	// MediaType and Digest of the manifest or index.
	MediaType string
	Digest    digest.Digest
	// Repository and Tag are its new name, below the repository of the component versions.
	Repository, Tag string
}

// Name is Repository:Tag.
func (a *Artifact) Name() string { return a.Repository + ":" + a.Tag }

// Find looks up what ref (with tag or digest) stands for. Platforms, written os/architecture where either may be empty, choose from an
// index; none means all.
func Find(ctx context.Context, r publishing.Registry, ref string, platforms []string) (*Artifact, error) {
	if err := checkPlatforms(platforms); err != nil {
		return nil, err
	}
	top, err := r.Client.Top(ctx, ref, r.Credentials)
	if err != nil {
		return nil, err
	}
	if top.Index && len(platforms) > 0 {
		return chosen(ref, top, platforms)
	}
	part, err := pinned(ref, top.Digest)
	if err != nil {
		return nil, err
	}
	return &Artifact{Parts: []string{part}, MediaType: top.MediaType, Digest: top.Digest}, nil
}

// pinned is the reference by digest to something in the repository of ref.
func pinned(ref string, d digest.Digest) (string, error) {
	at, err := oci.ParseReference(ref)
	return at.Repository() + "@" + d.String(), err
}

// CopyTo copies the artifact to its name below base (host/path), with all its parts, and tags it at last. An artifact that is there under
// this name is left alone, which unchanged tells; another one is an error, unless overwrite is set.
func (a *Artifact) CopyTo(ctx context.Context, r publishing.Registry, base string, overwrite bool) (unchanged bool, err error) {
	ref := base + "/" + a.Name()
	there, err := r.Client.Resolve(ctx, ref, r.Credentials)
	switch {
	case err != nil && !errors.Is(err, oci.ErrNotFound):
		return false, err
	case there.Digest == a.Digest:
		return true, nil
	case there.Digest != "" && !overwrite:
		return false, fmt.Errorf("artifact %s exists with other content (%s); set repository in the input to another name, or add --overwrite", ref, there.Digest)
	}
	return false, a.send(ctx, r, base)
}

func (a *Artifact) send(ctx context.Context, r publishing.Registry, base string) error {
	to, logins := base+"/"+a.Name(), oci.CopyOptions{From: r.Credentials, To: r.Credentials}
	if a.Index == nil {
		_, err := r.Client.Copy(ctx, a.Parts[0], to, logins)
		return err
	}
	for _, part := range a.Parts {
		if _, err := r.Client.Copy(ctx, part, base+"/"+a.Repository, logins); err != nil {
			return err
		}
	}
	_, err := r.Client.PushManifest(ctx, to, a.MediaType, a.Index, r.Credentials)
	return err
}

// WriteSet writes the artifact with all its parts as the blob that component versions keep it in, see component.SetWriter.
func (a *Artifact) WriteSet(ctx context.Context, r publishing.Registry, w io.Writer) error {
	set, err := formats.NewSetWriter(w)
	if err != nil {
		return err
	}
	for _, part := range a.Parts {
		_, err := r.Client.Walk(ctx, part, r.Credentials, func(p oci.Part) error { return add(ctx, set, p) })
		if err != nil {
			return err
		}
	}
	if a.Index != nil {
		made := ocispec.Descriptor{MediaType: a.MediaType, Digest: a.Digest, Size: int64(len(a.Index))}
		if err := set.Manifest(made, a.Index); err != nil {
			return err
		}
	}
	return set.Close(a.Tag)
}

func add(ctx context.Context, set *formats.SetWriter, p oci.Part) error {
	if p.Raw != nil {
		return set.Manifest(p.Descriptor, p.Raw)
	}
	content, err := p.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	return set.Blob(p.Descriptor, content)
}
