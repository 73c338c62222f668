// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"
)

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
