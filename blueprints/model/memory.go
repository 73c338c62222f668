// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"bytes"
	"io"
	"io/fs"
	"path"
	"sort"
	"time"
)

// memoryFS is a read-only file system by clean path; the root is ".".
type memoryFS map[string]*memoryFile

var (
	_ fs.ReadDirFS  = memoryFS{}
	_ fs.ReadFileFS = memoryFS{}
)

// memoryFile is a file or, without content, a directory. It is its own fs.FileInfo.
type memoryFile struct {
	name    string
	mode    fs.FileMode
	content []byte
}

func (f *memoryFile) Name() string       { return f.name }
func (f *memoryFile) Size() int64        { return int64(len(f.content)) }
func (f *memoryFile) Mode() fs.FileMode  { return f.mode | 0o444 }
func (f *memoryFile) ModTime() time.Time { return time.Time{} }
func (f *memoryFile) IsDir() bool        { return f.mode.IsDir() }
func (f *memoryFile) Sys() any           { return nil }

func (m memoryFS) find(op, name string) (*memoryFile, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	file, ok := m[name]
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return file, nil
}

// Open opens a file or directory.
func (m memoryFS) Open(name string) (fs.File, error) {
	file, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	if !file.IsDir() {
		return &openFile{Reader: bytes.NewReader(file.content), file: file}, nil
	}
	entries, err := m.ReadDir(name)
	return &openDirectory{file: file, left: entries}, err
}

// ReadFile returns a copy of the content of a file.
func (m memoryFS) ReadFile(name string) ([]byte, error) {
	file, err := m.find("read", name)
	if err != nil {
		return nil, err
	}
	if file.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}
	}
	return bytes.Clone(file.content), nil
}

// ReadDir lists a directory in the order of names.
func (m memoryFS) ReadDir(name string) ([]fs.DirEntry, error) {
	directory, err := m.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !directory.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrInvalid}
	}
	entries := []fs.DirEntry{}
	for at, file := range m {
		if at != "." && path.Dir(at) == name {
			entries = append(entries, fs.FileInfoToDirEntry(file))
		}
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name() < entries[j].Name() })
	return entries, nil
}

type openFile struct {
	*bytes.Reader
	file *memoryFile
}

func (o *openFile) Stat() (fs.FileInfo, error) { return o.file, nil }
func (o *openFile) Close() error               { return nil }

type openDirectory struct {
	file *memoryFile
	left []fs.DirEntry
}

func (o *openDirectory) Stat() (fs.FileInfo, error) { return o.file, nil }
func (o *openDirectory) Close() error               { return nil }

func (o *openDirectory) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: o.file.name, Err: fs.ErrInvalid}
}

// ReadDir returns the next n entries, all for n not above 0.
func (o *openDirectory) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 || n > len(o.left) {
		if n > 0 && len(o.left) == 0 {
			return nil, io.EOF
		}
		n = len(o.left)
	}
	out := o.left[:n]
	o.left = o.left[n:]
	return out, nil
}
