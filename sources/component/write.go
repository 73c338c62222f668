// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"io"

	"github.com/opencontainers/go-digest"
)

// Content is a blob that can be opened again and again.
type Content struct {
	// MediaType of the blob.
	MediaType string
	// Digest of the blob.
	Digest digest.Digest
	// Size in bytes.
	Size int64
	// Open opens it.
	Open func() (io.ReadCloser, error)
}

// NewContent returns bytes as Content.
func NewContent(mediaType string, data []byte) Content { return Content{} }

// Version is a component version to write.
type Version struct {
	// Descriptor of the component version. Accesses of type localBlob name blobs of Blobs by their digest.
	Descriptor *Descriptor
	// Blobs are the local blobs.
	Blobs []Content
}

// Image is a component version as an OCI artifact.
type Image struct {
	// Manifest of the artifact.
	Manifest Content
	// Config of the artifact.
	Config Content
	// Layers are the descriptor and the blobs.
	Layers []Content
}

// Image returns the OCI artifact of a component version, with the descriptor in a schema. Equal versions give equal bytes.
func (v Version) Image(schema string) (*Image, error) { return nil, errors.New("not yet") }

// Sink takes the files of an archive.
type Sink interface {
	// Put stores a file of size bytes under a slash-separated path.
	Put(path string, size int64, content io.Reader) error
}

// NewTarSink returns a Sink that writes a tar with reproducible bytes, and the function that ends it.
func NewTarSink(w io.Writer) (Sink, func() error) { return nil, nil }

// WriteArchive writes a component archive, which holds one component version, with the descriptor in a schema.
func WriteArchive(sink Sink, v Version, schema string) error { return errors.New("not yet") }

// WriteCTF writes component versions in Common Transport Format, with the descriptors in a schema.
func WriteCTF(sink Sink, versions []Version, schema string) error { return errors.New("not yet") }
