// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// files is a Sink in memory.
type files fstest.MapFS

func (f files) Put(path string, size int64, content io.Reader) error {
	data, err := io.ReadAll(content)
	if err == nil && int64(len(data)) != size {
		err = fmt.Errorf("%s has %d bytes instead of %d", path, len(data), size)
	}
	f[path] = &fstest.MapFile{Data: data}
	return err
}

const blobType = "text/plain"

// withBlob makes a component with one local blob.
func withBlob(t testing.TB, name, content string) component.Version {
	t.Helper()
	blob := component.NewContent(blobType, []byte(content))
	return component.Version{Blobs: []component.Content{blob}, Descriptor: decodeDescriptor(t, fmt.Sprintf(`
meta: {schemaVersion: v2}
component:
  name: example.com/%s
  version: 1.0.0+b1
  resources:
    - name: text
      type: plainText
      version: 1.0.0
      access: {type: localBlob, localReference: %q, mediaType: %s}
`, name, blob.Digest, blobType))}
}

func read(t testing.TB, repository component.Collection, d *component.Descriptor, reference string) (string, string) {
	t.Helper()
	blob, mediaType, err := repository.Blob(t.Context(), d, reference)
	require.NoError(t, err)
	data, err := io.ReadAll(blob)
	require.NoError(t, err)
	require.NoError(t, blob.Close())
	return string(data), mediaType
}

func TestArchivesGiveBackWhatWasWritten(t *testing.T) {
	for _, schema := range []string{component.SchemaV2, component.SchemaV3} {
		for form, write := range map[string]func(component.Sink, component.Version) error{
			"component archive": func(s component.Sink, v component.Version) error { return component.WriteArchive(s, v, schema) },
			"CTF": func(s component.Sink, v component.Version) error {
				return component.WriteCTF(s, []component.Version{v}, schema)
			},
		} {
			t.Run(form+" "+schema, func(t *testing.T) {
				v, out := withBlob(t, "a", "hello"), files{}
				require.NoError(t, write(out, v))
				repository, err := component.Open(fstest.MapFS(out))
				require.NoError(t, err)
				assert.Equal(t, []component.Key{v.Descriptor.Key()}, repository.Keys())
				d, err := repository.Component(t.Context(), v.Descriptor.Key())
				require.NoError(t, err)
				assert.Equal(t, v.Descriptor.References, d.References)
				data, mediaType := read(t, repository, d, string(v.Blobs[0].Digest))
				assert.Equal(t, "hello", data)
				assert.Equal(t, blobType, mediaType)
			})
		}
	}
}

func TestCTFHoldsManyVersions(t *testing.T) {
	out := files{}
	require.NoError(t, component.WriteCTF(out, []component.Version{withBlob(t, "b", "same"), withBlob(t, "a", "same")}, component.SchemaV2))
	repository, err := component.OpenCTF(fstest.MapFS(out))
	require.NoError(t, err)
	a, b := component.Key{Name: "example.com/a", Version: "1.0.0+b1"}, component.Key{Name: "example.com/b", Version: "1.0.0+b1"}
	assert.Equal(t, []component.Key{a, b}, repository.Keys())
	_, err = repository.Component(t.Context(), formatKey("a"))
	assert.ErrorIs(t, err, component.ErrNotFound)
	assert.ErrorContains(t, err, "component example.com/a:1.0.0 is not among the 2 component versions there")
}

func TestArchivesAreReproducible(t *testing.T) {
	write := func() (files, files) {
		archive, ctf := files{}, files{}
		require.NoError(t, component.WriteArchive(archive, withBlob(t, "a", "x"), component.SchemaV2))
		require.NoError(t, component.WriteCTF(ctf, []component.Version{withBlob(t, "a", "x"), withBlob(t, "b", "y")}, component.SchemaV3))
		return archive, ctf
	}
	archive, ctf := write()
	archiveAgain, ctfAgain := write()
	assert.Equal(t, archive, archiveAgain)
	assert.Equal(t, ctf, ctfAgain)
}

func TestWriteRefuses(t *testing.T) {
	missing := withBlob(t, "a", "x")
	missing.Blobs = nil
	assert.ErrorContains(t, component.WriteArchive(files{}, missing, component.SchemaV2), `resource "text" of component example.com/a:1.0.0+b1 names the local blob`)
	changed := withBlob(t, "a", "x")
	changed.Blobs[0].Data = strings.NewReader("y")
	assert.ErrorContains(t, component.WriteCTF(files{}, []component.Version{changed}, component.SchemaV2), "is damaged")
	_, err := withBlob(t, "a", "x").Image("v9")
	assert.ErrorContains(t, err, "schema \"v9\"")
}

func TestArchiveWithFilesByName(t *testing.T) {
	d := `
meta: {schemaVersion: v2}
component:
  name: example.com/a
  version: 1.0.0
  resources:
    - {name: f, type: x, access: {type: localFilesystemBlob, filename: file.txt, mediaType: text/plain}}
    - {name: d, type: x, access: {type: localFilesystemBlob, filename: tree, mediaType: application/x-tar}}
`
	archive := fstest.MapFS{
		component.DescriptorFile: {Data: []byte(d)}, "blobs/file.txt": {Data: []byte("text")},
		"blobs/tree/blueprint.yaml": {Data: []byte("kind: Blueprint")}, "blobs/tree/sub/x": {Data: []byte("1")}, "secret": {Data: []byte("no")},
	}
	repository, err := component.OpenArchive(archive)
	require.NoError(t, err)
	found, err := repository.Component(t.Context(), formatKey("a"))
	require.NoError(t, err)
	data, mediaType := read(t, repository, found, "file.txt")
	assert.Equal(t, "text", data)
	assert.Equal(t, "text/plain", mediaType)
	packed, mediaType := read(t, repository, found, "tree")
	assert.Equal(t, "application/x-tar", mediaType)
	assert.Equal(t, []string{"blueprint.yaml", "sub/", "sub/x"}, namesInTar(t, packed))
	for _, outside := range []string{"../secret", "/../secret", "..", ".", "", "nothing"} {
		_, _, err := repository.Blob(t.Context(), found, outside)
		assert.ErrorIs(t, err, component.ErrNotFound, outside)
	}
}

func namesInTar(t testing.TB, packed string) []string {
	t.Helper()
	var names []string
	for archive := tar.NewReader(strings.NewReader(packed)); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return names
		}
		require.NoError(t, err)
		names = append(names, header.Name)
	}
}

func TestDamagedBlobsFailAtTheirEnd(t *testing.T) {
	v, out := withBlob(t, "a", "hello"), files{}
	require.NoError(t, component.WriteArchive(out, v, component.SchemaV2))
	out["blobs/"+strings.Replace(string(v.Blobs[0].Digest), ":", ".", 1)].Data = []byte("hallo")
	repository, err := component.Open(fstest.MapFS(out))
	require.NoError(t, err)
	blob, _, err := repository.Blob(t.Context(), v.Descriptor, string(v.Blobs[0].Digest))
	require.NoError(t, err)
	_, err = io.ReadAll(blob)
	assert.ErrorContains(t, err, "is damaged: its content has another digest")
}

func TestOpenTellsWhatIsMissing(t *testing.T) {
	_, err := component.Open(fstest.MapFS{"a": {}})
	assert.ErrorIs(t, err, component.ErrNotFound)
	assert.ErrorContains(t, err, "neither component-descriptor.yaml (component archive) nor artifact-index.json (CTF)")
	_, err = component.OpenArchive(fstest.MapFS{})
	assert.ErrorContains(t, err, "file component-descriptor.yaml is missing")
	_, err = component.OpenCTF(fstest.MapFS{})
	assert.ErrorContains(t, err, "file artifact-index.json is missing")
}

func descriptorFile(name string) *fstest.MapFile {
	return &fstest.MapFile{Data: fmt.Appendf(nil, "meta: {schemaVersion: v2}\ncomponent: {name: example.com/%s, version: 1.0.0}", name)}
}

func TestOpenDirectory(t *testing.T) {
	directory := fstest.MapFS{"root.yaml": descriptorFile("root"), "other.json": descriptorFile("other"), "blobs/x": {Data: []byte("y")}}
	for name, blobs := range map[string]fs.FS{"blobs beside": nil, "blobs elsewhere": fstest.MapFS{"x": {Data: []byte("y")}}} {
		t.Run(name, func(t *testing.T) {
			repository, err := component.OpenDirectory(directory, blobs)
			require.NoError(t, err)
			assert.Equal(t, []component.Key{formatKey("other"), formatKey("root")}, repository.Keys())
			d, err := repository.Component(t.Context(), formatKey("root"))
			require.NoError(t, err)
			data, _ := read(t, repository, d, "x")
			assert.Equal(t, "y", data)
		})
	}
}

func TestOpenDirectoryNamesTheWrongFile(t *testing.T) {
	_, err := component.OpenDirectory(fstest.MapFS{"a.yaml": descriptorFile("a"), "b.yaml": {Data: []byte("x: y")}}, nil)
	assert.ErrorContains(t, err, "file b.yaml: the component descriptor is wrong")
	_, err = component.OpenDirectory(fstest.MapFS{"a.yaml": descriptorFile("a"), "b.yaml": descriptorFile("a")}, nil)
	assert.ErrorContains(t, err, "file b.yaml describes component example.com/a:1.0.0 for the second time")
}

func TestOpenCTFRefuses(t *testing.T) {
	const d = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
	for want, index := range map[string]string{
		"the index is malformed": `[`,
		"schemaVersion 2":        `{"schemaVersion": 2}`,
		`wrong digest for repository "component-descriptors/a"`: `{"schemaVersion": 1, "artifacts": [{"repository": "component-descriptors/a", "tag": "1", "digest": "sha256:.."}]}`,
	} {
		_, err := component.OpenCTF(fstest.MapFS{"artifact-index.json": {Data: []byte(index)}})
		assert.ErrorContains(t, err, want)
	}
	older := `{"schemaVersion": 1, "artefacts": [{"repository": "component-descriptors/example.com/a", "tag": "1.0.0", "digest": "` + d + `"}, {"repository": "charts/x", "tag": "1", "digest": "` + d + `"}]}`
	repository, err := component.Open(fstest.MapFS{"artefact-index.json": {Data: []byte(older)}})
	require.NoError(t, err)
	assert.Equal(t, []component.Key{formatKey("a")}, repository.Keys())
	_, err = repository.Component(t.Context(), formatKey("a"))
	assert.ErrorContains(t, err, "component example.com/a:1.0.0: blob \""+d+"\" is not below blobs")
}

func TestDecodeManifestRefuses(t *testing.T) {
	for want, raw := range map[string]string{
		"not JSON":               "{",
		"has more than":          strings.Repeat(" ", component.MaxManifest+1),
		"is of media type":       `{"mediaType": "application/vnd.oci.image.index.v1+json"}`,
		`digest "md5:1"`:         `{"config": {"digest": "md5:1"}}`,
		"has size -1":            `{"config": {"digest": "sha256:0000000000000000000000000000000000000000000000000000000000000000", "size": -1}}`,
		"more than 10000 layers": `{"layers": [` + strings.Repeat("{},", 10000) + `{}]}`,
	} {
		_, err := component.DecodeManifest([]byte(raw))
		assert.ErrorContains(t, err, want)
	}
}

func manifest(t testing.TB, configType string, layers ...ocispec.Descriptor) *component.Manifest {
	t.Helper()
	raw, err := json.Marshal(ocispec.Manifest{Config: ocispec.Descriptor{MediaType: configType, Digest: digest.FromString("config")}, Layers: layers})
	require.NoError(t, err)
	m, err := component.DecodeManifest(raw)
	require.NoError(t, err)
	return m
}

func layer(mediaType string) ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromString(mediaType), Size: 3}
}

func TestManifestFindsTheDescriptorLayer(t *testing.T) {
	const older = "application/vnd.gardener.cloud.cnudie.component-descriptor.v2+yaml+tar"
	blob, first, second := layer("text/plain"), layer(older), layer(component.MediaTypeDescriptorTar)
	m := manifest(t, component.MediaTypeConfig, blob, first, second)
	for name, config := range map[string]string{"by media type": "", "config without a name": `{}`} {
		found, err := m.Descriptor([]byte(config))
		require.NoError(t, err, name)
		assert.Equal(t, first.Digest, found.Digest, name)
	}
	named := fmt.Appendf(nil, `{"componentDescriptorLayer": {"mediaType": "x", "digest": %q, "size": 3}}`, second.Digest)
	found, err := m.Descriptor(named)
	require.NoError(t, err)
	assert.Equal(t, second.Digest, found.Digest)
	_, err = m.Descriptor([]byte(`{"componentDescriptorLayer": {"digest": "sha256:elsewhere"}}`))
	assert.ErrorIs(t, err, component.ErrNotFound)
	_, err = m.Descriptor([]byte(`[`))
	assert.ErrorContains(t, err, "the config of the component version is malformed")
}

func TestManifestWithoutDescriptor(t *testing.T) {
	_, err := manifest(t, component.MediaTypeConfig, layer("text/plain")).Descriptor(nil)
	assert.ErrorContains(t, err, "the component version has no layer with a component descriptor")
	_, err = manifest(t, "application/vnd.oci.image.config.v1+json", layer("text/plain")).Descriptor(nil)
	assert.ErrorContains(t, err, "the artifact is not a component version")
}

func TestManifestFindsBlobs(t *testing.T) {
	blob := layer("text/plain")
	m := manifest(t, component.MediaTypeConfig, blob)
	for _, reference := range []string{string(blob.Digest), strings.Replace(string(blob.Digest), ":", ".", 1)} {
		found, err := m.Blob(reference)
		require.NoError(t, err)
		assert.Equal(t, blob.Digest, found[0].Digest)
	}
	_, err := m.Blob("file.txt")
	assert.ErrorIs(t, err, component.ErrNotFound)
}

func TestMediaTypes(t *testing.T) {
	for _, descriptor := range []string{
		"application/vnd.ocm.software.component-descriptor.v2+yaml+tar", "application/vnd.ocm.software.component-descriptor.v2+json",
		"application/vnd.ocm.software.component-descriptor.v2+yaml", "application/vnd.ocm.software.component-descriptor.v3alpha1+yaml+tar",
		"application/vnd.gardener.cloud.cnudie.component-descriptor.v2+yaml+tar", "application/vnd.gardener.cloud.cnudie.component-descriptor.v2+json",
		"application/vnd.oci.gardener.cloud.cnudie.component-descriptor.config.v2+yaml+tar",
	} {
		assert.True(t, component.IsDescriptorLayer(descriptor), descriptor)
	}
	assert.False(t, component.IsDescriptorLayer("application/vnd.ocm.software.component.config.v1+json"))
	for _, config := range []string{
		component.MediaTypeConfig, "application/vnd.gardener.cloud.cnudie.component.config.v1+json",
		"application/vnd.oci.gardener.cloud.cnudie.component-descriptor-metadata.config.v2+json",
	} {
		assert.True(t, component.IsComponentConfig(config), config)
	}
	assert.False(t, component.IsComponentConfig("application/vnd.oci.image.config.v1+json"))
}

func tarWith(t testing.TB, name string, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	require.NoError(t, archive.WriteHeader(&tar.Header{Name: name, Size: int64(len(content)), Mode: 0o644}))
	_, err := archive.Write(content)
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	return out.Bytes()
}

func zipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestDecodeLayer(t *testing.T) {
	text := descriptorFile("a").Data
	for name, raw := range map[string][]byte{
		"document": text, "tar": tarWith(t, component.DescriptorFile, text), "tar with a dot": tarWith(t, "./"+component.DescriptorFile, text),
		"gzip": zipped(t, text), "tar in gzip": zipped(t, tarWith(t, component.DescriptorFile, text)),
	} {
		t.Run(name, func(t *testing.T) {
			d, err := component.DecodeLayer(bytes.NewReader(raw))
			require.NoError(t, err)
			assert.Equal(t, formatKey("a"), d.Key())
		})
	}
}

func TestDecodeLayerRefuses(t *testing.T) {
	for want, raw := range map[string][]byte{
		"it has no file component-descriptor.yaml": tarWith(t, "other", []byte("x")),
		"is unreadable":              {0x1f, 0x8b, 0},
		"split the component":        zipped(t, bytes.Repeat([]byte("#"), 3*component.MaxDescriptor)),
		"neither meta.schemaVersion": []byte("a: b"),
	} {
		_, err := component.DecodeLayer(bytes.NewReader(raw))
		assert.ErrorContains(t, err, want)
	}
}

func TestArtifactSet(t *testing.T) {
	content := []byte(`{"schemaVersion":2}`)
	d := digest.FromBytes(content)
	one := fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":"m","digest":%q,"size":19}]}`, d)
	two := fmt.Sprintf(`{"schemaVersion":2,"annotations":{%%q:%q},"manifests":[{"mediaType":"x","digest":%q,"size":1},{"mediaType":"m","digest":%q,"size":19}]}`,
		d, digest.FromString("other"), d)
	for name, test := range map[string]struct{ file, text, blob string }{
		"OCI layout":     {"index.json", one, "blobs/sha256/" + d.Encoded()},
		"artifact set":   {"artifact-descriptor.json", fmt.Sprintf(two, "software.ocm/main"), "blobs/sha256." + d.Encoded()},
		"older set":      {"artefact-descriptor.json", fmt.Sprintf(two, "cloud.gardener.ocm/main"), "blobs/sha256." + d.Encoded()},
		"older set, one": {"artifact-descriptor.json", one, "blobs/sha256." + d.Encoded()},
	} {
		t.Run(name, func(t *testing.T) {
			set, err := component.OpenArtifactSet(fstest.MapFS{test.file: {Data: []byte(test.text)}, test.blob: {Data: content}})
			require.NoError(t, err)
			assert.Equal(t, ocispec.Descriptor{MediaType: "m", Digest: d, Size: 19}, set.Main)
			blob, err := set.Blob(set.Main.Digest)
			require.NoError(t, err)
			data, err := io.ReadAll(blob)
			require.NoError(t, err)
			assert.Equal(t, content, data)
		})
	}
}

func TestArtifactSetRefuses(t *testing.T) {
	for want, set := range map[string]fstest.MapFS{
		"is not an artifact set":             {"x": {}},
		"the artifact set is malformed":      {"index.json": {Data: []byte("[")}},
		"does not say which is the main one": {"index.json": {Data: []byte(`{"manifests":[{},{}]}`)}},
		"digest \"../x\"":                    {"index.json": {Data: []byte(`{"manifests":[{"digest":"../x"}]}`)}},
	} {
		_, err := component.OpenArtifactSet(set)
		assert.ErrorContains(t, err, want)
	}
}

func formatKey(name string) component.Key {
	return component.Key{Name: "example.com/" + name, Version: "1.0.0"}
}

func decodeDescriptor(t testing.TB, text string) *component.Descriptor {
	t.Helper()
	d, err := component.Decode([]byte(text))
	require.NoError(t, err)
	return d
}

func typedOf(t testing.TB, text string) component.Typed {
	t.Helper()
	out, err := component.ParseTyped([]byte(text))
	require.NoError(t, err)
	return out
}
