// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Content is a blob.
type Content struct {
	// MediaType of the blob.
	MediaType string
	// Digest of the blob.
	Digest digest.Digest
	// Size in bytes.
	Size int64
	// Data are the bytes.
	Data io.ReaderAt
}

// NewContent returns bytes as Content.
func NewContent(mediaType string, data []byte) Content {
	return Content{MediaType: mediaType, Digest: digest.FromBytes(data), Size: int64(len(data)), Data: bytes.NewReader(data)}
}

// Reader returns a reader that fails at the end of bytes that do not have the digest.
func (c Content) Reader() io.Reader {
	return verified(io.NopCloser(io.NewSectionReader(c.Data, 0, c.Size)), c.Digest)
}

func (c Content) descriptor() ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: c.MediaType, Digest: c.Digest, Size: c.Size}
}

// Version is a component version to write.
type Version struct {
	// Descriptor of the component version. Accesses of type localBlob name blobs of Blobs by their digest.
	Descriptor *Descriptor
	// Blobs are the local blobs.
	Blobs []Content
}

// check reports whether the blobs that the descriptor names are there.
func (v Version) check() error {
	there := map[digest.Digest]bool{}
	for _, blob := range v.Blobs {
		there[blob.Digest] = true
	}
	for i := range v.Descriptor.Resources {
		r := &v.Descriptor.Resources[i]
		if r.Access.IsZero() {
			return fmt.Errorf("resource %q of component %s has no access; set it", r.Name, v.Descriptor.Key())
		}
		access, err := ParseAccess(r.Access)
		local, ok := access.(LocalBlob)
		if err != nil || !ok {
			continue
		}
		if !there[DigestOf(local.LocalReference)] {
			return fmt.Errorf("resource %q of component %s names the local blob %q, which is not given", r.Name, v.Descriptor.Key(), local.LocalReference)
		}
	}
	return v.Descriptor.Validate()
}

// Image is a component version as an OCI artifact.
type Image struct {
	// Manifest of the artifact.
	Manifest Content
	// Config of the artifact.
	Config Content
	// Layers are the descriptor and the blobs, each once.
	Layers []Content
}

// contents returns everything that the artifact consists of.
func (i *Image) contents() []Content { return append([]Content{i.Manifest, i.Config}, i.Layers...) }

// Image returns the OCI artifact of a component version, with the descriptor in a schema; an empty one means that of the descriptor. Equal
// versions give equal bytes.
func (v Version) Image(schema string) (*Image, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	layer, err := v.descriptorLayer(schema)
	if err != nil {
		return nil, err
	}
	config, err := json.Marshal(map[string]any{"componentDescriptorLayer": layer.descriptor()})
	if err != nil {
		return nil, err
	}
	out := &Image{Config: NewContent(MediaTypeConfig, config), Layers: []Content{layer}}
	for _, blob := range v.Blobs {
		if !slices.ContainsFunc(out.Layers, func(c Content) bool { return c.Digest == blob.Digest }) {
			out.Layers = append(out.Layers, blob)
		}
	}
	out.Manifest, err = out.manifest()
	return out, err
}

func (v Version) descriptorLayer(schema string) (Content, error) {
	document, err := v.Descriptor.Encode(cmp.Or(schema, v.Descriptor.Schema))
	if err != nil {
		return Content{}, err
	}
	var packed bytes.Buffer
	archive := tar.NewWriter(&packed)
	if err := putTar(archive, DescriptorFile, int64(len(document)), bytes.NewReader(document)); err != nil {
		return Content{}, err
	}
	// A tar without its two last blocks is unfinished, which other readers refuse.
	if err := archive.Close(); err != nil {
		return Content{}, err
	}
	return NewContent(MediaTypeDescriptorTar, packed.Bytes()), nil
}

func (i *Image) manifest() (Content, error) {
	manifest := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, Config: i.Config.descriptor(),
	}
	for _, layer := range i.Layers {
		manifest.Layers = append(manifest.Layers, layer.descriptor())
	}
	raw, err := json.Marshal(manifest)
	return NewContent(ocispec.MediaTypeImageManifest, raw), err
}

// Sink takes the files of an archive.
type Sink interface {
	// Put stores a file of size bytes under a slash-separated path.
	Put(path string, size int64, content io.Reader) error
}

// WriteArchive writes a component archive, which holds one component version, with the descriptor in a schema; an empty one means that of the
// descriptor.
func WriteArchive(sink Sink, v Version, schema string) error {
	if err := v.check(); err != nil {
		return err
	}
	archived, err := archivedForm(v.Descriptor)
	if err != nil {
		return err
	}
	document, err := archived.Encode(cmp.Or(schema, v.Descriptor.Schema))
	if err != nil {
		return err
	}
	if err := sink.Put(DescriptorFile, int64(len(document)), bytes.NewReader(document)); err != nil {
		return fmt.Errorf("file %s cannot be written: %w", DescriptorFile, err)
	}
	return putBlobs(sink, v.Blobs, map[digest.Digest]bool{})
}

// archivedForm returns a copy of the descriptor in which local blobs are called by the names of their files, as component archives have it.
func archivedForm(d *Descriptor) (*Descriptor, error) {
	out := *d
	out.Resources, out.Sources = slices.Clone(d.Resources), slices.Clone(d.Sources)
	for _, access := range out.Accesses() {
		parsed, err := ParseAccess(*access)
		local, ok := parsed.(LocalBlob)
		if err != nil || !ok || DigestOf(local.LocalReference) == "" {
			continue
		}
		fields := access.Fields()
		fields["localReference"] = fileOf(DigestOf(local.LocalReference))
		if *access, err = NewTyped(fields); err != nil {
			return nil, err
		}
	}
	return &out, nil
}

// fileOf is the name of the file of a blob.
func fileOf(d digest.Digest) string { return d.Algorithm().String() + "." + d.Encoded() }

// WriteCTF writes component versions in Common Transport Format, with the descriptors in a schema; an empty one means that of each descriptor.
// Blobs that several component versions share are written once.
func WriteCTF(sink Sink, versions []Version, schema string) error {
	index := ctfIndex{SchemaVersion: 1, Artifacts: []ctfArtifact{}}
	written := map[digest.Digest]bool{}
	for _, v := range versions {
		image, err := v.Image(schema)
		if err != nil {
			return err
		}
		if err := putBlobs(sink, image.contents(), written); err != nil {
			return fmt.Errorf("component %s: %w", v.Descriptor.Key(), err)
		}
		index.Artifacts = append(index.Artifacts, ctfArtifact{
			Repository: ComponentsPath + v.Descriptor.Name, Tag: Tag(v.Descriptor.Version), Digest: image.Manifest.Digest,
			MediaType: image.Manifest.MediaType,
		})
	}
	slices.SortFunc(index.Artifacts, func(a, b ctfArtifact) int {
		return cmp.Or(cmp.Compare(a.Repository, b.Repository), cmp.Compare(a.Tag, b.Tag))
	})
	raw, err := json.Marshal(index)
	if err != nil {
		return err
	}
	return sink.Put(indexFiles[0], int64(len(raw)), bytes.NewReader(raw))
}

func putBlobs(sink Sink, blobs []Content, written map[digest.Digest]bool) error {
	for _, blob := range blobs {
		if written[blob.Digest] {
			continue
		}
		written[blob.Digest] = true
		if err := sink.Put(blobsDir+"/"+fileOf(blob.Digest), blob.Size, blob.Reader()); err != nil {
			return fmt.Errorf("blob %s cannot be written: %w", blob.Digest, err)
		}
	}
	return nil
}

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
