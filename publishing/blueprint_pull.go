// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package publishing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// layers are the media types of blueprints, the best first. An artifact without any of them is taken if its first layer is a tar.
var layers = []string{
	landscaperLayer,
	"application/vnd.gardener.landscaper.blueprint.v1+tar+gzip",
	"application/vnd.gardener.landscaper.blueprint.layer.v1.tar",
	"application/vnd.gardener.landscaper.blueprint.v1+tar",
	oci.FluxContentLayer,
}

// PulledBlueprint is a blueprint that was read from a registry. It has to be closed.
type PulledBlueprint struct {
	// URL of the artifact by digest, with oci://.
	URL string
	// Digest of the manifest.
	Digest digest.Digest
	// Annotations of the manifest.
	Annotations map[string]string

	reader
}

// reader holds extracted files.
type reader struct {
	workspace *Workspace
	tree      *fetch.Tree
}

// FS returns the files.
func (r reader) FS() fs.FS { return r.tree.FS() }

// Close removes the files.
func (r reader) Close() error { return errors.Join(r.tree.Close(), r.workspace.Close()) }

// PullBlueprint reads the blueprint that url ("oci://host/repository:tag" or with @digest) names. Nothing in the archive is trusted: names that
// lead out of it, links, and sizes beyond the limits are errors.
func PullBlueprint(ctx context.Context, r Registry, url string) (*PulledBlueprint, error) {
	manifest, err := r.Client.Manifest(ctx, url, r.Credentials)
	if err != nil {
		return nil, err
	}
	layer, err := blueprintLayer(url, manifest)
	if err != nil {
		return nil, err
	}
	content, err := manifest.Open(ctx, layer, DefaultMaxTotal)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	extracted, err := extract(ctx, url, layer, content)
	if err != nil {
		return nil, err
	}
	at, err := oci.ParseReference(url)
	return &PulledBlueprint{URL: "oci://" + at.Repository() + "@" + manifest.Digest.String(), Digest: manifest.Digest, Annotations: manifest.Annotations, reader: extracted}, err
}

func blueprintLayer(url string, m *oci.Manifest) (digest.Digest, error) {
	var types []string
	for _, accepted := range layers {
		for _, l := range m.Layers {
			if l.MediaType == accepted {
				return l.Digest, nil
			}
		}
	}
	for _, l := range m.Layers {
		types = append(types, l.MediaType)
	}
	if len(types) > 0 && (strings.Contains(types[0], "tar") || strings.Contains(types[0], "gzip")) {
		return m.Layers[0].Digest, nil
	}
	return "", fmt.Errorf("%s is not a blueprint: its layers are of type [%s]; push one with flux-landscaper blueprint push or flux push artifact",
		url, strings.Join(types, ", "))
}

// extract unpacks an archive into a directory of its own.
func extract(ctx context.Context, name string, d digest.Digest, content io.ReadSeeker) (reader, error) {
	workspace, err := NewWorkspace()
	if err != nil {
		return reader{}, err
	}
	store, err := fetch.New(fetch.Options{Dir: workspace.Dir("files"), MaxDownload: DefaultMaxTotal})
	if err != nil {
		return reader{}, errors.Join(err, workspace.Close())
	}
	tree, err := store.Extract(ctx, fetch.Content{Name: name, Scope: "artifact", ID: d.String(), Digest: d,
		Write: func(_ context.Context, w io.Writer) error {
			if _, err := content.Seek(0, io.SeekStart); err != nil {
				return err
			}
			_, err := io.Copy(w, content)
			return err
		}})
	if err != nil {
		return reader{}, errors.Join(err, workspace.Close())
	}
	return reader{workspace, tree}, nil
}

// WriteBlueprint puts the files of a blueprint into dir, all or none, and returns how many. Dir must not exist or be empty, unless overwrite is
// set: then files of the blueprint replace those of the same name, and others stay.
func WriteBlueprint(files fs.FS, dir string, overwrite bool) (int, error) {
	taken, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("directory %s cannot be read: %w", dir, err)
	case len(taken) > 0 && !overwrite:
		return 0, fmt.Errorf("directory %s is not empty; name another one, or add --force to write into it", dir)
	}
	count := 0
	fill := func(root *os.Root) error {
		return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			count++
			return copyFile(files, root, name)
		})
	}
	if len(taken) > 0 {
		err = Fill(dir, fill)
	} else {
		err = Place(dir, false, fill)
	}
	return count, err
}

func copyFile(files fs.FS, root *os.Root, name string) error {
	content, err := fs.ReadFile(files, name)
	if err != nil {
		return fmt.Errorf("file %s cannot be read: %w", name, err)
	}
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return fmt.Errorf("directory of file %s cannot be made: %w", name, err)
	}
	if err := root.WriteFile(name, content, 0o644); err != nil {
		return fmt.Errorf("file %s cannot be written: %w", name, err)
	}
	return nil
}
