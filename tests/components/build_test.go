// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"maps"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// Types of resources and their blobs.
const (
	blueprintType      = "landscaper.gardener.cloud/blueprint"
	blueprintMediaType = "application/vnd.gardener.landscaper.blueprint.v1+tar+gzip"
	schemaType         = "landscaper.gardener.cloud/jsonschema"
	schemaMediaType    = "application/vnd.gardener.landscaper.jsonscheme.v1+json"
)

// built is a component version in the making.
type built struct {
	descriptor object
	blobs      []component.Content
}

// build begins a component version.
func build(name, version string) *built {
	return &built{descriptor: object{
		"name": name, "version": version, "provider": "example.com",
		"repositoryContexts": list{object{"type": "OCIRegistry", "baseUrl": "registry.example.com"}},
		"resources":          list{}, "componentReferences": list{}, "sources": list{},
	}}
}

// resource adds a resource with an access.
func (b *built) resource(name, kind string, access object, more object) *built {
	resource := object{"name": name, "type": kind, "version": "1.0.0", "relation": "external", "access": access}
	maps.Copy(resource, more)
	b.descriptor["resources"] = append(b.descriptor["resources"].(list), resource)
	return b
}

// image adds an image.
func (b *built) image(name, reference string, labels ...object) *built {
	more := object{"labels": list{}}
	for _, label := range labels {
		more["labels"] = append(more["labels"].(list), label)
	}
	return b.resource(name, "ociImage", object{"type": "ociArtifact", "imageReference": reference}, more)
}

// local adds a resource that lies beside the descriptor.
func (b *built) local(name, kind, mediaType string, content []byte) *built {
	blob := component.NewContent(mediaType, content)
	b.blobs = append(b.blobs, blob)
	access := object{"type": "localBlob", "localReference": blob.Digest.String(), "mediaType": mediaType}
	digest := object{"hashAlgorithm": "SHA-256", "normalisationAlgorithm": "genericBlobDigest/v1", "value": blob.Digest.Encoded()}
	return b.resource(name, kind, access, object{"digest": digest, "relation": "local", "version": b.descriptor["version"]})
}

// blueprint adds a blueprint with further files.
func (b *built) blueprint(name string, parts object, files map[string]string) *built {
	all := map[string]string{"blueprint.yaml": document(parts)}
	maps.Copy(all, files)
	return b.local(name, blueprintType, blueprintMediaType, archive(all))
}

// refers adds a reference to another component version.
func (b *built) refers(name, to, version string, more object) *built {
	reference := object{"name": name, "componentName": to, "version": version}
	maps.Copy(reference, more)
	b.descriptor["componentReferences"] = append(b.descriptor["componentReferences"].(list), reference)
	return b
}

// document is the descriptor in schema v2.
func (b *built) document() object {
	return object{"meta": object{"schemaVersion": "v2"}, "component": b.descriptor}
}

// version decodes what was built.
func (s *scene) version(b *built) component.Version {
	s.T.Helper()
	raw, err := json.Marshal(b.document())
	require.NoError(s.T, err)
	descriptor, err := component.Decode(raw)
	require.NoError(s.T, err)
	return component.Version{Descriptor: descriptor, Blobs: b.blobs}
}

// publish pushes component versions into the repository of the scene, with descriptors in schema v2.
func (s *scene) publish(versions ...*built) {
	s.T.Helper()
	for _, b := range versions {
		s.push(s.base(), s.version(b), component.SchemaV2)
	}
}

// push pushes a component version into a repository, with the descriptor in a schema.
func (s *scene) push(base string, version component.Version, schema string) {
	s.T.Helper()
	client, err := oci.New(oci.Options{})
	require.NoError(s.T, err)
	defer func() { _ = client.Close() }()
	image, err := version.Image(schema)
	require.NoError(s.T, err)
	ref := component.OCIRegistry{BaseURL: s.Registry.Host, SubPath: base}.Reference(version.Descriptor.Name, version.Descriptor.Version)
	for _, content := range append(image.Layers, image.Config) {
		_, err := client.PushBlob(s.Ctx, ref, oci.BytesSource(content.MediaType, s.bytes(content)), oci.Credentials{})
		require.NoError(s.T, err)
	}
	_, err = client.PushManifest(s.Ctx, ref, image.Manifest.MediaType, s.bytes(image.Manifest), oci.Credentials{})
	require.NoError(s.T, err)
}

func (s *scene) bytes(content component.Content) []byte {
	s.T.Helper()
	raw, err := io.ReadAll(content.Reader())
	require.NoError(s.T, err)
	return raw
}

// archive packs files into a tar.gz.
func archive(files map[string]string) []byte {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	writer := tar.NewWriter(zipped)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		header := &tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if err := writer.WriteHeader(header); err != nil {
			panic(err)
		}
		if _, err := io.WriteString(writer, files[name]); err != nil {
			panic(err)
		}
	}
	if err := writer.Close(); err != nil {
		panic(err)
	}
	if err := zipped.Close(); err != nil {
		panic(err)
	}
	return packed.Bytes()
}

// compressed packs one text.
func compressed(text string) []byte {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	if _, err := io.WriteString(zipped, text); err != nil {
		panic(err)
	}
	if err := zipped.Close(); err != nil {
		panic(err)
	}
	return packed.Bytes()
}
