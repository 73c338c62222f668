// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
)

// Collection holds component versions and their blobs. It is made by Open, OpenArchive, OpenCTF and OpenDirectory.
type Collection interface {
	// Component returns a component version; the error is, or wraps, ErrNotFound when it is not there.
	Component(ctx context.Context, key Key) (*Descriptor, error)
	// Blob opens the blob behind the local reference (LocalBlob.LocalReference, LocalOCIBlob.Digest, LocalFilesystemBlob.Filename) of
	// a component version, and returns its media type, if known. The caller closes it and checks the digest of the resource. The error
	// is, or wraps, ErrNotFound when the blob is not there.
	Blob(ctx context.Context, d *Descriptor, localReference string) (blob io.ReadCloser, mediaType string, err error)
	// Keys returns the component versions in order of name and version.
	Keys() []Key
}

// Open finds out by its files whether a directory is a CTF or a component archive, and opens it.
func Open(files fs.FS) (Collection, error) {
	for _, name := range indexFiles {
		if _, err := fs.Stat(files, name); err == nil {
			return OpenCTF(files)
		}
	}
	if _, err := fs.Stat(files, DescriptorFile); err == nil {
		return OpenArchive(files)
	}
	return nil, fmt.Errorf("there is neither %s (component archive) nor %s (CTF): %w", DescriptorFile, indexFiles[0], ErrNotFound)
}

// OpenArchive opens a component archive: component-descriptor.yaml and blobs/, which may be missing.
func OpenArchive(files fs.FS) (Collection, error) {
	d, err := readDescriptor(files, DescriptorFile)
	if err != nil {
		return nil, err
	}
	blobs, err := fs.Sub(files, blobsDir)
	return &folder{versions: map[Key]*Descriptor{d.Key(): d}, blobs: blobs}, err
}

// OpenDirectory opens a directory in which every file is a component descriptor. Blobs are the files and directories of the second file
// system; nil means the directory blobs beside the descriptors. A directory is read as a tar.
func OpenDirectory(descriptors, blobs fs.FS) (Collection, error) {
	entries, err := fs.ReadDir(descriptors, ".")
	if err != nil {
		return nil, fmt.Errorf("the directory of component descriptors cannot be read: %w", err)
	}
	if blobs == nil {
		if blobs, err = fs.Sub(descriptors, blobsDir); err != nil {
			return nil, err
		}
	}
	out := &folder{versions: map[Key]*Descriptor{}, blobs: blobs}
	for _, entry := range entries {
		if entry.IsDir() {
			continue
		}
		d, err := readDescriptor(descriptors, entry.Name())
		if err != nil {
			return nil, err
		}
		if out.versions[d.Key()] != nil {
			return nil, fmt.Errorf("file %s describes component %s for the second time; keep one", entry.Name(), d.Key())
		}
		out.versions[d.Key()] = d
	}
	return out, nil
}

// folder keeps descriptors in memory and blobs in a file system.
type folder struct {
	versions map[Key]*Descriptor
	blobs    fs.FS
}

func readDescriptor(files fs.FS, name string) (*Descriptor, error) {
	raw, err := readFile(files, name, MaxDescriptor)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("file %s is missing: %w", name, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("file %s cannot be read: %w", name, err)
	}
	d, err := Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("file %s: %w", name, err)
	}
	return d, nil
}

// Keys returns what the folder holds.
func (f *folder) Keys() []Key { return slices.SortedFunc(maps.Keys(f.versions), compareKeys) }

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version))
}

// Component returns a version of the folder.
func (f *folder) Component(_ context.Context, key Key) (*Descriptor, error) {
	if d := f.versions[key]; d != nil {
		return d, nil
	}
	return nil, missing(key, f.Keys())
}

// missing is the error for a component version that is not there.
func missing(key Key, there []Key) error {
	if len(there) == 1 {
		return fmt.Errorf("component %s is not there, only %s: %w", key, there[0], ErrNotFound)
	}
	return fmt.Errorf("component %s is not among the %d component versions there: %w", key, len(there), ErrNotFound)
}

// Blob opens a file or directory of the folder.
func (f *folder) Blob(_ context.Context, d *Descriptor, localReference string) (io.ReadCloser, string, error) {
	blob, err := openBlob(f.blobs, localReference)
	if err != nil {
		return nil, "", fmt.Errorf("component %s: %w", d.Key(), err)
	}
	return blob, mediaTypeOf(d, localReference), nil
}

// mediaTypeOf returns the media type that accesses of the component give to the blob behind a local reference; empty if none does.
func mediaTypeOf(d *Descriptor, localReference string) string {
	for _, t := range d.Accesses() {
		parsed, err := ParseAccess(*t)
		if err != nil {
			continue
		}
		switch a := parsed.(type) {
		case LocalBlob:
			if d := DigestOf(localReference); a.LocalReference == localReference || d != "" && d == DigestOf(a.LocalReference) {
				return a.MediaType
			}
		case LocalFilesystemBlob:
			if a.Filename == localReference {
				return a.MediaType
			}
		}
	}
	return ""
}
