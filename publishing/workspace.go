// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package publishing is where blueprints get from a person's directory to a registry, and back to be looked at. Below it are the same for component
// versions (ocm), checks and renderings without a cluster (lint, simulation), and our own images and charts (containerimage, release). What is made depends
// on nothing but content: the same files give the same bytes, whoever packs them, when and where.
package publishing

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"

	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// Registry is a client of registries together with the logins to use.
type Registry struct {
	// Client talks to registries.
	Client *oci.Client
	// Credentials are the logins.
	Credentials oci.Credentials
	// DockerConfig is what Credentials were read from; empty means anonymous.
	DockerConfig []byte
}

// Workspace is a temporary directory with the content to publish. It is not safe for concurrent use.
type Workspace struct {
	dir   string
	files []*os.File
}

// NewWorkspace makes a workspace; the caller closes it.
func NewWorkspace() (*Workspace, error) {
	dir, err := os.MkdirTemp("", "flux-landscaper-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w; set TMPDIR to one that can be written", err)
	}
	return &Workspace{dir: dir}, nil
}

// Close removes the workspace with all content.
func (w *Workspace) Close() error {
	for _, f := range w.files {
		_ = f.Close()
	}
	return os.RemoveAll(w.dir)
}

// Dir returns the path of a directory with that name inside the workspace.
func (w *Workspace) Dir(name string) string { return filepath.Join(w.dir, name) }

// Blob is content of a workspace, readable until the workspace is closed.
type Blob struct {
	// Content holds Size bytes.
	Content io.ReaderAt
	Size    int64
	// Digest of the content, sha256.
	Digest digest.Digest
}

// Reader returns the content from its start.
func (b *Blob) Reader() io.Reader { return io.NewSectionReader(b.Content, 0, b.Size) }

// Keep takes over what write writes.
func (w *Workspace) Keep(write func(io.Writer) error) (*Blob, error) {
	f, err := os.CreateTemp(w.dir, "blob-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary file: %w", err)
	}
	w.files = append(w.files, f)
	digester := digest.SHA256.Digester()
	count := &counter{w: io.MultiWriter(f, digester.Hash())}
	if err := write(count); err != nil {
		return nil, err
	}
	return &Blob{Content: f, Size: count.n, Digest: digester.Digest()}, nil
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// Place makes a directory out of what fill puts into its root. It appears when it is complete, in place of an empty one or, if replace is set, of
// another one.
func Place(dir string, replace bool, fill func(*os.Root) error) error {
	dir = filepath.Clean(dir)
	parent := filepath.Dir(dir)
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return fmt.Errorf("directory %s cannot be made: %w", parent, err)
	}
	temporary, err := os.MkdirTemp(parent, ".flux-landscaper-")
	if err != nil {
		return fmt.Errorf("directory %s cannot be written: %w", parent, err)
	}
	defer func() { _ = os.RemoveAll(temporary) }()
	if err := os.Chmod(temporary, 0o755); err != nil {
		return err
	}
	if err := Fill(temporary, fill); err != nil {
		return err
	}
	remove := os.Remove
	if replace {
		remove = os.RemoveAll
	}
	if err := remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("directory %s cannot be replaced: %w", dir, err)
	}
	return os.Rename(temporary, dir)
}

// Fill writes into a directory through a root, so that links in it lead nowhere else.
func Fill(dir string, fill func(*os.Root) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("directory %s cannot be opened: %w", dir, err)
	}
	defer func() { _ = root.Close() }()
	return fill(root)
}
