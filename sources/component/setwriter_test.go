// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func described(mediaType, content string) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromString(content), Size: int64(len(content))}
}

// writeSet packs a layer and two manifests, of which the last is the main one.
func writeSet(t *testing.T) []byte {
	t.Helper()
	var out bytes.Buffer
	set, err := NewSetWriter(&out)
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, set.Blob(described("x/layer", "layer"), strings.NewReader("layer")))
		require.NoError(t, set.Manifest(described(ocispec.MediaTypeImageManifest, "one"), []byte("one")))
	}
	require.NoError(t, set.Manifest(described(ocispec.MediaTypeImageIndex, "index"), []byte("index")))
	require.NoError(t, set.Close("1.0.0"))
	return out.Bytes()
}

// unpack reads a gzipped tar; a name that comes twice fails.
func unpack(t *testing.T, packed []byte) fstest.MapFS {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	require.NoError(t, err)
	files := fstest.MapFS{}
	for archive := tar.NewReader(zipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		require.NoError(t, err)
		content, err := io.ReadAll(archive)
		require.NoError(t, err)
		require.NotContains(t, files, header.Name)
		files[header.Name] = &fstest.MapFile{Data: content}
	}
}

func TestArtifactSetsAreReadAgain(t *testing.T) {
	files := unpack(t, writeSet(t))
	assert.Equal(t, `{"imageLayoutVersion":"1.0.0"}`, string(files["oci-layout"].Data))
	set, err := OpenArtifactSet(files)
	require.NoError(t, err)
	assert.Equal(t, digest.FromString("index"), set.Main.Digest)
	assert.Equal(t, map[string]string{"software.ocm/tags": "1.0.0", "org.opencontainers.image.ref.name": "1.0.0"}, set.Main.Annotations)
	for _, content := range []string{"layer", "one", "index"} {
		blob, err := set.Blob(digest.FromString(content))
		require.NoError(t, err)
		read, err := io.ReadAll(blob)
		require.NoError(t, err)
		assert.Equal(t, content, string(read))
	}
}

func TestS2ArtifactSetsHoldFlatBlobs(t *testing.T) {
	for name := range unpack(t, writeSet(t)) {
		assert.Regexp(t, `^(oci-layout|index\.json|blobs/sha256\.[0-9a-f]{64})$`, name)
	}
}

func TestArtifactSetsAreReproducible(t *testing.T) {
	assert.Equal(t, writeSet(t), writeSet(t))
}

func TestSetMediaType(t *testing.T) {
	assert.Equal(t, "application/vnd.oci.image.manifest.v1+tar+gzip", SetMediaType(ocispec.MediaTypeImageManifest))
	assert.Equal(t, "application/vnd.docker.distribution.manifest.list.v2+tar+gzip", SetMediaType("application/vnd.docker.distribution.manifest.list.v2+json"))
}

func TestArtifactSetRefuses(t *testing.T) {
	set, err := NewSetWriter(io.Discard)
	require.NoError(t, err)
	assert.ErrorContains(t, set.Close(""), "has no manifest")
	wrong := described("x/layer", "layer")
	assert.ErrorContains(t, set.Blob(wrong, strings.NewReader("other")), "has another digest")
	assert.ErrorContains(t, set.Blob(ocispec.Descriptor{Digest: "nothing"}, strings.NewReader("")), "digest \"nothing\"")
}
