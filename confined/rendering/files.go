// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/confined"
)

// maxFile is how much of a file goes to a child: one byte more than templates and schemas may read.
const maxFile = 1<<20 + 1

// maxEntries is how many entries of a directory go to a child.
const maxEntries = 20000

// node is a file or directory of a blueprint on its way to a child.
type node struct {
	entry
	Content []byte
	Entries []entry
	// Missing says that there is none, Problem that it cannot be read.
	Missing bool
	Problem string
}

// entry implements fs.FileInfo and fs.DirEntry.
type entry struct {
	Base  string
	Bytes int64
	Bits  fs.FileMode
}

func (e entry) Name() string               { return e.Base }
func (e entry) Size() int64                { return e.Bytes }
func (e entry) Mode() fs.FileMode          { return e.Bits }
func (e entry) Type() fs.FileMode          { return e.Bits.Type() }
func (e entry) ModTime() time.Time         { return time.Time{} }
func (e entry) IsDir() bool                { return e.Bits.IsDir() }
func (e entry) Sys() any                   { return nil }
func (e entry) Info() (fs.FileInfo, error) { return e, nil }

func entryOf(info fs.FileInfo) entry {
	return entry{Base: info.Name(), Bytes: info.Size(), Bits: info.Mode()}
}

// open reads a file or directory for a child.
func open(files fs.FS, name string) node {
	var out node
	err := out.read(files, name)
	if err != nil {
		return node{Missing: errors.Is(err, fs.ErrNotExist), Problem: fault.WithoutPath(err).Error()}
	}
	return out
}

func (n *node) read(files fs.FS, name string) error {
	file, err := files.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	n.entry = entryOf(info)
	if !info.IsDir() {
		n.Content, err = io.ReadAll(io.LimitReader(file, maxFile))
		return err
	}
	entries, err := fs.ReadDir(files, name)
	for _, e := range entries[:min(len(entries), maxEntries)] {
		if info, err := e.Info(); err == nil {
			n.Entries = append(n.Entries, entryOf(info))
		}
	}
	return err
}

// Open implements fs.FS.
func (r remote) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	found, err := confined.Ask[string, node](r.parent, askOpen, name)
	switch {
	case err == nil && found.Missing:
		err = fs.ErrNotExist
	case err == nil && found.Problem != "":
		err = errors.New(found.Problem)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	if found.Base == "" {
		found.Base = path.Base(name)
	}
	return &file{node: found, Reader: bytes.NewReader(found.Content)}, nil
}

// file is an open node.
type file struct {
	node
	*bytes.Reader
}

var _ fs.ReadDirFile = (*file)(nil)

// Stat implements fs.File.
func (f *file) Stat() (fs.FileInfo, error) { return f.entry, nil }

// Close implements fs.File.
func (f *file) Close() error { return nil }

// Size is that of the whole file.
func (f *file) Size() int64 { return f.Bytes }

// ReadDir implements fs.ReadDirFile.
func (f *file) ReadDir(n int) ([]fs.DirEntry, error) {
	count := len(f.Entries)
	if n > 0 {
		count = min(count, n)
	}
	out := make([]fs.DirEntry, count)
	for i := range out {
		out[i] = f.Entries[i]
	}
	f.Entries = f.Entries[count:]
	if n > 0 && count == 0 {
		return nil, io.EOF
	}
	return out, nil
}
