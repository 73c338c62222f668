// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"archive/tar"
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
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

// blobsDir is where archives keep blobs.
const blobsDir = "blobs"

// openBlob opens the file or directory of a local reference below blobs; a directory is read as a tar. Digests are tried in all forms
// that file names have. A blob in parts is opened part by part.
func openBlob(blobs fs.FS, localReference string) (io.ReadCloser, error) {
	parts := blobParts(localReference)
	if len(parts) == 1 {
		return openPart(blobs, localReference)
	}
	openers := make([]Opener, len(parts))
	for i, part := range parts {
		openers[i] = func() (io.ReadCloser, error) { return openPart(blobs, part) }
	}
	return Concatenate(openers)
}

// Opener opens content.
type Opener func() (io.ReadCloser, error)

// Concatenate returns contents, at least one, one after the other. It opens the first at once and each other one when it is its turn. The
// caller closes it.
func Concatenate(contents []Opener) (io.ReadCloser, error) {
	first, err := contents[0]()
	if err != nil {
		return nil, err
	}
	return &chain{ReadCloser: first, rest: contents[1:]}, nil
}

// chain is the content that is read, with what comes behind it.
type chain struct {
	io.ReadCloser
	rest []Opener
}

// Read goes on with the next content at the end of one.
func (c *chain) Read(p []byte) (int, error) {
	for {
		n, err := c.ReadCloser.Read(p)
		if !errors.Is(err, io.EOF) || len(c.rest) == 0 {
			return n, err
		}
		if err := c.next(); err != nil || n > 0 {
			return n, err
		}
	}
}

func (c *chain) next() error {
	next, err := c.rest[0]()
	if err != nil {
		return err
	}
	_ = c.ReadCloser.Close()
	c.ReadCloser, c.rest = next, c.rest[1:]
	return nil
}

func openPart(blobs fs.FS, localReference string) (io.ReadCloser, error) {
	for _, name := range blobNames(localReference) {
		if !fs.ValidPath(name) || name == "." {
			continue
		}
		info, err := fs.Stat(blobs, name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("blob %q cannot be read: %w", localReference, err)
		case info.IsDir():
			return tarOf(blobs, name)
		}
		file, err := blobs.Open(name)
		if err != nil {
			return nil, fmt.Errorf("blob %q cannot be read: %w", localReference, err)
		}
		return verified(file, DigestOf(localReference)), nil
	}
	return nil, fmt.Errorf("blob %q is not below %s: %w", localReference, blobsDir, ErrNotFound)
}

// blobNames returns the names under which archives may keep a blob.
func blobNames(localReference string) []string {
	d := DigestOf(localReference)
	if d == "" {
		return []string{path.Clean(strings.TrimPrefix(localReference, "/"))}
	}
	algorithm, value := string(d.Algorithm()), d.Encoded()
	return []string{algorithm + "." + value, algorithm + "/" + value, string(d)}
}

// verified checks content against a digest at its end. Without a digest it returns the content as it is.
func verified(content io.ReadCloser, d digest.Digest) io.ReadCloser {
	if d == "" {
		return content
	}
	return &verifiedBlob{ReadCloser: content, digest: d, verifier: d.Verifier()}
}

type verifiedBlob struct {
	io.ReadCloser
	digest   digest.Digest
	verifier digest.Verifier
}

// Read fails at the end of content that does not have the digest.
func (b *verifiedBlob) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.verifier.Write(p[:n])
	if errors.Is(err, io.EOF) && !b.verifier.Verified() {
		return n, fmt.Errorf("blob %s is damaged: its content has another digest; publish the component again", b.digest)
	}
	return n, err
}

// tarOf reads a directory as a tar with reproducible bytes.
func tarOf(files fs.FS, directory string) (io.ReadCloser, error) {
	below, err := fs.Sub(files, directory)
	if err != nil {
		return nil, err
	}
	reader, writer := io.Pipe()
	go func() {
		writer.CloseWithError(fault.Survived(context.Background(), func() error { return writeTree(writer, below) }))
	}()
	return reader, nil
}

// writeTree writes regular files and directories in the order of their names.
func writeTree(w io.Writer, files fs.FS) error {
	archive := tar.NewWriter(w)
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case entry.IsDir():
			return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, ModTime: time.Unix(0, 0)})
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is neither a file nor a directory; remove it", name)
		}
		return writeFile(archive, files, name)
	})
	return errors.Join(err, archive.Close())
}

func writeFile(archive *tar.Writer, files fs.FS, name string) error {
	file, err := files.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	return putTar(archive, name, info.Size(), file)
}

// putTar writes one file with the same header on every machine.
func putTar(archive *tar.Writer, name string, size int64, content io.Reader) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, ModTime: time.Unix(0, 0)}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := io.Copy(archive, content)
	return err
}

// readFile reads a file of at most limit bytes.
func readFile(files fs.FS, name string, limit int64) ([]byte, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return readAll(file, name, limit)
}

func readAll(r io.Reader, name string, limit int64) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(raw)) > limit {
		return nil, fmt.Errorf("%s has more than %d bytes", name, limit)
	}
	return raw, nil
}
