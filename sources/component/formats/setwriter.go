// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package formats

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// tagsAnnotation names the tags of an artifact in an artifact set.
const tagsAnnotation = "software.ocm/tags"

// SetWriter writes the blob in which component versions keep an OCI artifact: a gzipped tar in OCI image layout that names its main
// artifact. Blobs lie as blobs/sha256.<digest>, since the OCM tools read no folder per algorithm there. OpenArtifactSet reads it. Equal calls
// give equal bytes.
type SetWriter struct {
	zipped    *gzip.Writer
	archive   *tar.Writer
	manifests []ocispec.Descriptor
	written   map[digest.Digest]bool
}

// NewSetWriter begins an artifact set. It has to be closed.
func NewSetWriter(w io.Writer) (*SetWriter, error) {
	// Layers are compressed already.
	zipped, err := gzip.NewWriterLevel(w, gzip.NoCompression)
	if err != nil {
		return nil, err
	}
	zipped.OS = 255
	out := &SetWriter{zipped: zipped, archive: tar.NewWriter(zipped), written: map[digest.Digest]bool{}}
	return out, out.document(ocispec.ImageLayoutFile, ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
}

// SetMediaType returns the media type of an artifact set for that of its main manifest or index.
func SetMediaType(manifest string) string {
	return strings.TrimSuffix(manifest, "+json") + "+tar+gzip"
}

// Manifest adds a manifest or index.
func (s *SetWriter) Manifest(d ocispec.Descriptor, raw []byte) error {
	plain := ocispec.Descriptor{MediaType: d.MediaType, Digest: d.Digest, Size: int64(len(raw))}
	if !s.written[d.Digest] {
		s.manifests = append(s.manifests, plain)
	}
	return s.Blob(plain, bytes.NewReader(raw))
}

// Blob adds a config or layer, whose content has the size and digest of its descriptor. One that is there is left out.
func (s *SetWriter) Blob(d ocispec.Descriptor, content io.Reader) error {
	if s.written[d.Digest] {
		return nil
	}
	if err := checkBlob(d); err != nil {
		return err
	}
	s.written[d.Digest] = true
	checked := verified(io.NopCloser(content), d.Digest)
	if err := putTar(s.archive, blobsDir+"/"+fileOf(d.Digest), d.Size, checked); err != nil {
		return fmt.Errorf("blob %s cannot be packed: %w", d.Digest, err)
	}
	return nil
}

// Close ends the set. The main artifact is the manifest or index that was added at last; tag, which may be empty, is its name.
func (s *SetWriter) Close(tag string) error {
	if len(s.manifests) == 0 {
		return errors.New("the artifact set has no manifest; add one")
	}
	main := &s.manifests[len(s.manifests)-1]
	if tag != "" {
		main.Annotations = map[string]string{tagsAnnotation: tag, ocispec.AnnotationRefName: tag}
	}
	index := ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex,
		Manifests: s.manifests, Annotations: map[string]string{mainAnnotations[0]: main.Digest.String()},
	}
	return errors.Join(s.document(setFiles[0], index), s.archive.Close(), s.zipped.Close())
}

func (s *SetWriter) document(name string, content any) error {
	raw, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return putTar(s.archive, name, int64(len(raw)), bytes.NewReader(raw))
}
