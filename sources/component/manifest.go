// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Media types of component versions in OCI registries.
const (
	// MediaTypeConfig is the config of a component version; the media types of its predecessors are read as well.
	MediaTypeConfig = "application/vnd.ocm.software.component.config.v1+json"
	// MediaTypeDescriptorTar is the layer with the descriptor in a tar, whatever its schema.
	MediaTypeDescriptorTar = "application/vnd.ocm.software.component-descriptor.v2+yaml+tar"
)

// Limits of documents in OCI registries and archives.
const (
	// MaxManifest is how many bytes a manifest may have.
	MaxManifest = 4 << 20
	// maxLayers is how many layers a manifest may have.
	maxLayers = 10000
)

// mediaTypeDockerManifest is the manifest of Docker, schema 2.
const mediaTypeDockerManifest = "application/vnd.docker.distribution.manifest.v2+json"

// configTypes are the media types of configs of component versions, newest first.
var configTypes = []string{
	MediaTypeConfig,
	"application/vnd.gardener.cloud.cnudie.component.config.v1+json",
	"application/vnd.oci.gardener.cloud.cnudie.component-descriptor-metadata.config.v2+json",
}

// descriptorTypes matches the media types of descriptor layers, old and new, packed in every way.
var descriptorTypes = regexp.MustCompile(`^application/vnd\.(ocm\.software|(oci\.)?gardener\.cloud\.cnudie)\.component-descriptor(\.config)?\.v[0-9]+([a-z]+[0-9]+)?(\+yaml|\+json)?(\+tar)?(\+gzip)?$`)

// Manifest is the OCI manifest of a component version.
type Manifest struct {
	// Config of the manifest; it names the descriptor layer, see Descriptor.
	Config ocispec.Descriptor
	// Layers are the descriptor and the local blobs.
	Layers []ocispec.Descriptor
	// Annotations of the manifest.
	Annotations map[string]string
}

// DecodeManifest reads an OCI or Docker image manifest and checks its digests and sizes. Whether it is one of a component version,
// Descriptor tells.
func DecodeManifest(raw []byte) (*Manifest, error) {
	if len(raw) > MaxManifest {
		return nil, fmt.Errorf("the manifest has more than %d bytes", MaxManifest)
	}
	var parsed ocispec.Manifest
	if err := json.Unmarshal(raw, &parsed); err != nil {
		return nil, fmt.Errorf("the manifest is not JSON of an OCI manifest: %w", err)
	}
	if t := parsed.MediaType; t != "" && t != ocispec.MediaTypeImageManifest && t != mediaTypeDockerManifest {
		return nil, fmt.Errorf("the manifest is of media type %q; an OCI image manifest is needed", t)
	}
	if len(parsed.Layers) > maxLayers {
		return nil, fmt.Errorf("the manifest has more than %d layers", maxLayers)
	}
	for _, d := range append(slices.Clone(parsed.Layers), parsed.Config) {
		if err := checkBlob(d); err != nil {
			return nil, fmt.Errorf("the manifest is malformed: %w", err)
		}
	}
	return &Manifest{Config: parsed.Config, Layers: parsed.Layers, Annotations: parsed.Annotations}, nil
}

// FirstManifest returns the first manifest of an index, if that is for no platform: newer OCM tools write a component version with further
// manifests as such an index. It is empty for anything else.
func FirstManifest(raw []byte) digest.Digest {
	var index ocispec.Index
	if json.Unmarshal(raw, &index) != nil || len(index.Manifests) == 0 {
		return ""
	}
	if first := index.Manifests[0]; first.Platform == nil && first.Digest.Validate() == nil {
		return first.Digest
	}
	return ""
}

func checkBlob(d ocispec.Descriptor) error {
	if err := d.Digest.Validate(); err != nil {
		return fmt.Errorf("digest %.100q of a blob: %w", d.Digest, err)
	}
	if d.Size < 0 {
		return fmt.Errorf("blob %s has size %d", d.Digest, d.Size)
	}
	return nil
}

// Descriptor returns the layer with the component descriptor. Config is the content of the manifest's config blob, which names the
// layer; nil, or a config that names none, means that media types decide.
func (m *Manifest) Descriptor(config []byte) (ocispec.Descriptor, error) {
	var parsed struct {
		Layer ocispec.Descriptor `json:"componentDescriptorLayer"`
	}
	if len(config) > 0 {
		if err := json.Unmarshal(config, &parsed); err != nil {
			return ocispec.Descriptor{}, fmt.Errorf("the config of the component version is malformed: %w", err)
		}
	}
	if parsed.Layer.Digest != "" {
		return m.layer(parsed.Layer.Digest)
	}
	for _, layer := range m.Layers {
		if IsDescriptorLayer(layer.MediaType) {
			return layer, nil
		}
	}
	return ocispec.Descriptor{}, m.noComponent()
}

func (m *Manifest) noComponent() error {
	if IsComponentConfig(m.Config.MediaType) {
		return errors.New("the component version has no layer with a component descriptor; publish it again")
	}
	return fmt.Errorf("the artifact is not a component version: its config is of media type %q and no layer holds a component descriptor",
		m.Config.MediaType)
}

func (m *Manifest) layer(d digest.Digest) (ocispec.Descriptor, error) {
	for _, layer := range m.Layers {
		if layer.Digest == d {
			return layer, nil
		}
	}
	return ocispec.Descriptor{}, fmt.Errorf("the manifest has no layer %q: %w", d, ErrNotFound)
}

// Blob returns the layers behind a local reference, whose contents one after the other are the blob. A local reference is the digest of a
// layer, written sha256:… or sha256.…, or several of them with commas. The error wraps ErrNotFound.
func (m *Manifest) Blob(localReference string) ([]ocispec.Descriptor, error) {
	parts := blobParts(localReference)
	if len(parts) > maxLayers {
		return nil, fmt.Errorf("a local reference names more than %d layers", maxLayers)
	}
	var out []ocispec.Descriptor
	for _, part := range parts {
		layer, err := m.layer(cmp.Or(DigestOf(part), digest.Digest(part)))
		if err != nil {
			return nil, err
		}
		out = append(out, layer)
	}
	return out, nil
}

// blobParts are the digests of a local reference to a blob in parts; of any other local reference it is that itself.
func blobParts(localReference string) []string {
	parts := strings.Split(localReference, ",")
	for _, part := range parts {
		if DigestOf(part) == "" {
			return []string{localReference}
		}
	}
	return parts
}

// DigestOf returns the digest that a local reference is, which may be written as the name of a file; empty if it is none.
func DigestOf(localReference string) digest.Digest {
	d := digest.Digest(localReference)
	if algorithm, value, dotted := strings.Cut(localReference, "."); dotted && !strings.Contains(localReference, ":") {
		d = digest.NewDigestFromEncoded(digest.Algorithm(algorithm), value)
	}
	if d.Validate() != nil {
		return ""
	}
	return d
}

// IsDescriptorLayer reports whether a layer of this media type holds a component descriptor.
func IsDescriptorLayer(mediaType string) bool { return descriptorTypes.MatchString(mediaType) }

// IsComponentConfig reports whether a config blob of this media type belongs to a component version.
func IsComponentConfig(mediaType string) bool { return slices.Contains(configTypes, mediaType) }

// DescriptorFile is the name of a descriptor in archives and layers.
const DescriptorFile = "component-descriptor.yaml"

// Limits of descriptor layers.
const (
	maxLayer       = MaxDescriptor + 1<<20
	maxLayerFiles  = 100
	tarBlock       = 512
	tarMagicOffset = 257
)

// DecodeLayer reads the component descriptor out of a descriptor layer: a tar, with or without gzip, or the document itself. The
// content decides, not the media type. It reads at most MaxDescriptor bytes of the document.
func DecodeLayer(layer io.Reader) (*Descriptor, error) {
	raw, err := descriptorBytes(bufio.NewReaderSize(layer, tarBlock))
	if err != nil {
		return nil, fmt.Errorf("the layer with the component descriptor is unreadable: %w", err)
	}
	return Decode(raw)
}

func descriptorBytes(r *bufio.Reader) ([]byte, error) {
	if start, _ := r.Peek(2); len(start) == 2 && start[0] == 0x1f && start[1] == 0x8b {
		unpacked, err := gzip.NewReader(r)
		if err != nil {
			return nil, err
		}
		r = bufio.NewReaderSize(unpacked, tarBlock)
	}
	limited := io.LimitReader(r, maxLayer)
	if !isTar(r) {
		return readDocument(limited)
	}
	archive := tar.NewReader(limited)
	for range maxLayerFiles {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if header.Typeflag == tar.TypeReg && path.Clean(header.Name) == DescriptorFile {
			return readDocument(archive)
		}
	}
	return nil, fmt.Errorf("it has no file %s", DescriptorFile)
}

func isTar(r *bufio.Reader) bool {
	block, _ := r.Peek(tarBlock)
	return len(block) == tarBlock && string(block[tarMagicOffset:tarMagicOffset+5]) == "ustar"
}

// readDocument reads one byte more than Decode takes, so that Decode complains about documents that are too large.
func readDocument(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, MaxDescriptor+1))
}
