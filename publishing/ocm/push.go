// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package ocm makes component versions from the constructors that people write, publishes them to OCI registries and archives, and reads them with all
// that they refer to. What is built is reproducible: the same files give the same bytes.
package ocm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// Pushed names a published component version.
type Pushed struct {
	// Component and Version of it.
	Component string `json:"component"`
	Version   string `json:"version"`
	// Reference is host/repository:tag.
	Reference string `json:"reference"`
	// Digest of the manifest.
	Digest string `json:"digest"`
	// Unchanged tells that the registry had it already.
	Unchanged bool `json:"unchanged,omitempty"`
}

// Push publishes a component version: blobs first, then the manifest, with the tag at last, so that a version is there completely or
// not at all. A version that is there with other content is an error, unless overwrite is set, and so is one that others have replaced when it is looked at
// again: registries write no tag on the condition that nobody else has.
func Push(ctx context.Context, r publishing.Registry, place *Place, v component.Version, overwrite bool) (*Pushed, error) {
	key := v.Descriptor.Key()
	ref, err := place.Reference(key)
	if err != nil {
		return nil, err
	}
	image, err := v.Image("")
	if err != nil {
		return nil, fmt.Errorf("component %s:%s: %w", key.Name, key.Version, err)
	}
	pushed := &Pushed{Component: key.Name, Version: key.Version, Reference: ref, Digest: image.Manifest.Digest.String()}
	there, err := existing(ctx, r, ref)
	switch {
	case err != nil:
		return nil, err
	case there == image.Manifest.Digest:
		pushed.Unchanged = true
		return pushed, nil
	case there != "" && !overwrite:
		return nil, fmt.Errorf("component %s:%s exists at %s with other content (%s); raise its version, or add --overwrite", key.Name, key.Version, ref, there)
	}
	if err := upload(ctx, r, ref, image); err != nil {
		return nil, err
	}
	if there, err = existing(ctx, r, ref); err == nil && there != image.Manifest.Digest {
		err = fmt.Errorf("component %s:%s at %s was replaced at the same moment by other content (%s); let one push it only, and sign it under one name",
			key.Name, key.Version, ref, there)
	}
	return pushed, err
}

// existing returns the digest that the reference stands for; empty when there is none.
func existing(ctx context.Context, r publishing.Registry, ref string) (digest.Digest, error) {
	m, err := r.Client.Manifest(ctx, ref, r.Credentials)
	switch {
	case errors.Is(err, oci.ErrNotFound):
		return "", nil
	case err != nil:
		return "", err
	}
	return m.Digest, nil
}

func upload(ctx context.Context, r publishing.Registry, ref string, image *component.Image) error {
	for _, blob := range append([]component.Content{image.Config}, image.Layers...) {
		if _, err := r.Client.PushBlob(ctx, ref, oci.Source{MediaType: blob.MediaType, Content: blob.Data, Size: blob.Size}, r.Credentials); err != nil {
			return err
		}
	}
	manifest, err := io.ReadAll(image.Manifest.Reader())
	if err == nil {
		_, err = r.Client.PushManifest(ctx, ref, image.Manifest.MediaType, manifest, r.Credentials)
	}
	return err
}

// Order sorts component versions so that each comes after those it refers to: an interrupted push leaves no dangling reference.
func Order(versions []component.Version) []component.Version {
	byKey := map[component.Key]component.Version{}
	for _, v := range versions {
		byKey[v.Descriptor.Key()] = v
	}
	var out []component.Version
	done := map[component.Key]bool{}
	var add func(component.Version)
	add = func(v component.Version) {
		key := v.Descriptor.Key()
		if done[key] {
			return
		}
		done[key] = true
		for i := range v.Descriptor.References {
			if next, ok := byKey[v.Descriptor.References[i].Key()]; ok {
				add(next)
			}
		}
		out = append(out, v)
	}
	for _, v := range versions {
		add(v)
	}
	return out
}

// WriteCTF writes component versions as a directory in Common Transport Format. The directory appears when it is complete. One that
// exists is an error, unless overwrite is set: then it is replaced.
func WriteCTF(dir string, versions []component.Version, overwrite bool) error {
	return write(dir, overwrite, func(sink component.Sink) error {
		return component.WriteCTF(sink, versions, "")
	})
}

// WriteArchive writes one component version as a component archive, like WriteCTF.
func WriteArchive(dir string, v component.Version, overwrite bool) error {
	return write(dir, overwrite, func(sink component.Sink) error {
		return component.WriteArchive(sink, v, "")
	})
}

func write(dir string, overwrite bool, fill func(component.Sink) error) error {
	taken, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("directory %s cannot be read: %w", dir, err)
	case len(taken) > 0 && !overwrite:
		return fmt.Errorf("directory %s is not empty; name another one, or add --overwrite to replace it", dir)
	case len(taken) > 0 && !replaceable(taken):
		return fmt.Errorf("directory %s holds something else than component versions and is not replaced; name another one", dir)
	}
	return publishing.Place(dir, true, func(root *os.Root) error { return fill(directorySink{root}) })
}

// replaceable reports whether a directory is an archive, so that --overwrite cannot remove anything else.
func replaceable(entries []fs.DirEntry) bool {
	known := map[string]bool{component.DescriptorFile: true, "artifact-index.json": true, "blobs": true}
	for _, entry := range entries {
		if !known[entry.Name()] {
			return false
		}
	}
	return true
}

// directorySink writes files below a directory.
type directorySink struct{ root *os.Root }

// Put implements component.Sink.
func (s directorySink) Put(name string, size int64, content io.Reader) error {
	if err := s.root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("directory of %s cannot be made: %w", name, err)
	}
	f, err := s.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return fmt.Errorf("file %s cannot be made: %w", name, err)
	}
	_, err = io.CopyN(f, content, size)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("file %s cannot be written: %w", name, err)
	}
	return nil
}
