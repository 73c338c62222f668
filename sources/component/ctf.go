// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// indexFiles are the names of the index of a CTF, the present one first.
var indexFiles = []string{"artifact-index.json", "artefact-index.json"}

// Limits of a CTF.
const (
	maxIndex     = 16 << 20
	maxArtifacts = 100000
	maxConfig    = 1 << 20
)

// ctfIndex lists the artifacts of a CTF.
type ctfIndex struct {
	SchemaVersion int           `json:"schemaVersion"`
	Artifacts     []ctfArtifact `json:"artifacts"`
}

// ctfArtifact is an OCI artifact of a CTF.
type ctfArtifact struct {
	Repository string        `json:"repository"`
	Tag        string        `json:"tag,omitempty"`
	Digest     digest.Digest `json:"digest"`
	MediaType  string        `json:"mediaType,omitempty"`
}

// key returns the component version of the artifact; false when it is another artifact.
func (a ctfArtifact) key() (Key, bool) {
	name, found := strings.CutPrefix(a.Repository, ComponentsPath)
	return Key{Name: name, Version: strings.Replace(a.Tag, ".build-", "+", 1)}, found && a.Tag != ""
}

func decodeIndex(raw []byte) (*ctfIndex, error) {
	var index struct {
		ctfIndex
		Older []ctfArtifact `json:"artefacts"`
	}
	if err := json.Unmarshal(raw, &index); err != nil {
		return nil, fmt.Errorf("the index is malformed: %w", err)
	}
	index.Artifacts = append(index.Artifacts, index.Older...)
	if index.SchemaVersion != 1 || len(index.Artifacts) > maxArtifacts {
		return nil, fmt.Errorf("the index has schemaVersion %d and %d artifacts; schemaVersion 1 and at most %d artifacts are supported",
			index.SchemaVersion, len(index.Artifacts), maxArtifacts)
	}
	for _, a := range index.Artifacts {
		if err := a.Digest.Validate(); err != nil {
			return nil, fmt.Errorf("the index has a wrong digest for repository %.300q: %w", a.Repository, err)
		}
	}
	return &index.ctfIndex, nil
}

// OpenCTF opens a directory in Common Transport Format: artifact-index.json and blobs/. Every blob is checked against its digest.
func OpenCTF(files fs.FS) (Collection, error) {
	raw, err := readIndex(files)
	if err != nil {
		return nil, err
	}
	index, err := decodeIndex(raw)
	if err != nil {
		return nil, err
	}
	out := &ctf{artifacts: map[Key]ctfArtifact{}}
	for _, a := range index.Artifacts {
		if key, ok := a.key(); ok {
			out.artifacts[key] = a
			out.keys = append(out.keys, key)
		}
	}
	slices.SortFunc(out.keys, compareKeys)
	out.keys = slices.Compact(out.keys)
	out.blobs, err = fs.Sub(files, blobsDir)
	return out, err
}

func readIndex(files fs.FS) ([]byte, error) {
	for _, name := range indexFiles {
		raw, err := readFile(files, name, maxIndex)
		if err == nil {
			return raw, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("file %s cannot be read: %w", name, err)
		}
	}
	return nil, fmt.Errorf("file %s is missing: %w", indexFiles[0], ErrNotFound)
}

// ctf is an opened CTF.
type ctf struct {
	blobs     fs.FS
	artifacts map[Key]ctfArtifact
	keys      []Key
}

// Keys returns the component versions of the CTF.
func (c *ctf) Keys() []Key { return slices.Clone(c.keys) }

// Component reads manifest, config and descriptor of a component version.
func (c *ctf) Component(_ context.Context, key Key) (*Descriptor, error) {
	manifest, err := c.manifest(key)
	if err != nil {
		return nil, err
	}
	d, err := c.descriptor(manifest)
	if err != nil {
		return nil, fmt.Errorf("component %s: %w", key, err)
	}
	return d, d.Answers(key)
}

func (c *ctf) descriptor(manifest *Manifest) (*Descriptor, error) {
	var config []byte
	var err error
	if IsComponentConfig(manifest.Config.MediaType) {
		if config, err = c.read(manifest.Config.Digest, maxConfig); err != nil {
			return nil, err
		}
	}
	layer, err := manifest.Descriptor(config)
	if err != nil {
		return nil, err
	}
	raw, err := c.read(layer.Digest, maxLayer)
	if err != nil {
		return nil, err
	}
	return DecodeLayer(bytes.NewReader(raw))
}

func (c *ctf) manifest(key Key) (*Manifest, error) {
	artifact, found := c.artifacts[key]
	if !found {
		return nil, missing(key, c.keys)
	}
	manifest, err := c.readManifest(artifact.Digest)
	if err != nil {
		return nil, fmt.Errorf("component %s: %w", key, err)
	}
	return manifest, nil
}

// readManifest reads a manifest, or that of a component version in an index.
func (c *ctf) readManifest(d digest.Digest) (*Manifest, error) {
	raw, err := c.read(d, MaxManifest)
	if err != nil {
		return nil, err
	}
	if first := FirstManifest(raw); first != "" {
		if raw, err = c.read(first, MaxManifest); err != nil {
			return nil, err
		}
	}
	return DecodeManifest(raw)
}

// read returns a verified blob.
func (c *ctf) read(d digest.Digest, limit int64) ([]byte, error) {
	blob, err := openBlob(c.blobs, string(d))
	if err != nil {
		return nil, err
	}
	defer func() { _ = blob.Close() }()
	return readAll(blob, string(d), limit)
}

// Blob opens a layer of the component version's manifest.
func (c *ctf) Blob(_ context.Context, d *Descriptor, localReference string) (io.ReadCloser, string, error) {
	manifest, err := c.manifest(d.Key())
	if err != nil {
		return nil, "", err
	}
	var blob io.ReadCloser
	layers, err := manifest.Blob(localReference)
	if err == nil {
		blob, err = openBlob(c.blobs, localReference)
	}
	if err != nil {
		return nil, "", fmt.Errorf("component %s: %w", d.Key(), err)
	}
	return blob, layers[0].MediaType, nil
}

// Names of the documents that describe an artifact set, and the annotations that name its main artifact.
var (
	setFiles        = []string{"index.json", "artifact-descriptor.json", "artefact-descriptor.json", "artifact-set-descriptor.json"}
	mainAnnotations = []string{"software.ocm/main", "cloud.gardener.ocm/main"}
)

// ArtifactSet is a directory with OCI artifacts, as blobs hold them: index.json (OCI layout) or artifact-descriptor.json, and blobs/.
type ArtifactSet struct {
	// Main is the manifest, or index, of the artifact that the set is about.
	Main ocispec.Descriptor

	blobs fs.FS
}

// OpenArtifactSet opens the directory of an artifact set, made by extracting a blob of one.
func OpenArtifactSet(files fs.FS) (*ArtifactSet, error) {
	blobs, err := fs.Sub(files, blobsDir)
	if err != nil {
		return nil, err
	}
	for _, name := range setFiles {
		raw, err := readFile(files, name, maxIndex)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("file %s cannot be read: %w", name, err)
		}
		chosen, err := mainOf(raw)
		if err != nil {
			return nil, fmt.Errorf("file %s: %w", name, err)
		}
		return &ArtifactSet{Main: chosen, blobs: blobs}, nil
	}
	return nil, fmt.Errorf("the blob is not an artifact set; it has neither %s nor %s: %w", setFiles[0], setFiles[1], ErrNotFound)
}

// mainOf returns the artifact that an annotation of the index names, or the only one.
func mainOf(raw []byte) (ocispec.Descriptor, error) {
	var index ocispec.Index
	if err := json.Unmarshal(raw, &index); err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("the artifact set is malformed: %w", err)
	}
	wanted := ""
	for _, name := range mainAnnotations {
		if wanted == "" {
			wanted = index.Annotations[name]
		}
	}
	for _, manifest := range index.Manifests {
		if wanted != "" && string(manifest.Digest) == wanted || wanted == "" && len(index.Manifests) == 1 {
			return manifest, checkBlob(manifest)
		}
	}
	return ocispec.Descriptor{}, fmt.Errorf("the artifact set has %d artifacts and does not say which is the main one; name it in annotation %s",
		len(index.Manifests), mainAnnotations[0])
}

// Manifest reads the main manifest and returns it with the digest of the artifact: of the index, if it is one of several manifests, whose first is
// taken.
func (s *ArtifactSet) Manifest() (ocispec.Manifest, digest.Digest, error) {
	at := s.Main.Digest
	for range 2 {
		content, err := s.Blob(at)
		if err != nil {
			return ocispec.Manifest{}, "", err
		}
		raw, err := readAll(content, at.String(), MaxManifest)
		if err := errors.Join(err, content.Close()); err != nil {
			return ocispec.Manifest{}, "", err
		}
		var both struct {
			ocispec.Manifest
			Manifests []ocispec.Descriptor `json:"manifests"`
		}
		if json.Unmarshal(raw, &both) != nil {
			break
		}
		if len(both.Manifests) == 0 {
			return both.Manifest, s.Main.Digest, nil
		}
		at = both.Manifests[0].Digest
	}
	return ocispec.Manifest{}, "", errors.New("the main manifest of the artifact set cannot be read; publish the component version anew")
}

// Blob opens a manifest, config or layer of the set. Its end is an error when the content does not have the digest. The caller closes it.
func (s *ArtifactSet) Blob(d digest.Digest) (io.ReadCloser, error) {
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("digest %.100q: %w", d, err)
	}
	return openBlob(s.blobs, string(d))
}

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
