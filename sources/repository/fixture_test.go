// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

const blueprintLayer = "application/vnd.gardener.landscaper.blueprint.layer.v1.tar+gzip"

// packed is a tar of files (name → content), gzipped if zip is set.
func packed(t testing.TB, zip bool, files map[string]string) []byte {
	var out bytes.Buffer
	var to io.WriteCloser = nopCloser{&out}
	if zip {
		to = gzip.NewWriter(&out)
	}
	w := tar.NewWriter(to)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(files[name]))}))
		_, err := io.WriteString(w, files[name])
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, to.Close())
	return out.Bytes()
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

var blueprintFiles = map[string]string{"blueprint.yaml": "kind: Blueprint", "templates/deploy.yaml": "deployItems: []"}

// resource writes one resource of a descriptor.
func resource(name, kind, access string, content []byte) string {
	digests := ""
	if content != nil {
		digests = fmt.Sprintf(", digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: genericBlobDigest/v1, value: '%s'}", digest.FromBytes(content).Encoded())
	}
	return fmt.Sprintf("  - {name: %s, version: 1.0.0, type: %s, relation: local, access: %s%s}\n", name, kind, access, digests)
}

func localBlob(mediaType string, content []byte) string {
	return fmt.Sprintf("{type: localBlob, localReference: '%s', mediaType: %s}", digest.FromBytes(content), mediaType)
}

// describe decodes a descriptor made of resources and references (name → component:version).
func describe(t testing.TB, name, version, resources string, references map[string]string) *component.Descriptor {
	var refs strings.Builder
	for _, ref := range slices.Sorted(maps.Keys(references)) {
		at, v, _ := strings.Cut(references[ref], "@")
		fmt.Fprintf(&refs, "  - {name: %s, componentName: %s, version: %s}\n", ref, at, v)
	}
	if resources == "" {
		resources = "    []\n"
	}
	if len(references) == 0 {
		refs.WriteString("    []\n")
	}
	d, err := component.Decode([]byte(fmt.Sprintf("meta: {schemaVersion: v2}\ncomponent:\n  name: %s\n  version: %s\n  provider: acme\n"+
		"  repositoryContexts: [{type: OCIRegistry, baseUrl: origin.example.com/components}]\n  sources: []\n  resources:\n%s  componentReferences:\n%s",
		name, version, resources, refs.String())))
	require.NoError(t, err)
	return d
}

const shopName = "example.com/shop"

// shop is a component version with a blueprint and a text as local blobs and a reference.
func shop(t testing.TB) component.Version {
	blueprint, text := packed(t, true, blueprintFiles), []byte("some text")
	return component.Version{
		Descriptor: describe(t, shopName, "1.0.0",
			resource("blueprint", "landscaper.gardener.cloud/blueprint", localBlob(blueprintLayer, blueprint), blueprint)+
				resource("text", "plainText", localBlob("text/plain", text), text),
			map[string]string{"db": "example.com/db@2.0.0"}),
		Blobs: []component.Content{component.NewContent(blueprintLayer, blueprint), component.NewContent("text/plain", text)},
	}
}

func db(t testing.TB) component.Version {
	return component.Version{Descriptor: describe(t, "example.com/db", "2.0.0", "", nil)}
}

func read(t testing.TB, c component.Content) []byte {
	raw, err := io.ReadAll(c.Reader())
	require.NoError(t, err)
	return raw
}

// publish pushes component versions to the repository of a specification in a registry.
func publish(t testing.TB, r *registry.Registry, spec component.OCIRegistry, versions ...component.Version) {
	for _, v := range versions {
		image, err := v.Image(component.SchemaV2)
		require.NoError(t, err)
		manifest := withoutAbsent(t, read(t, image.Manifest))
		path := strings.TrimPrefix(spec.Repository(v.Descriptor.Name), r.Host+"/")
		for _, blob := range append([]component.Content{image.Config}, image.Layers...) {
			r.PushBlob(t, path, blob.MediaType, read(t, blob))
		}
		r.PushManifest(t, path, component.Tag(v.Descriptor.Version), image.Manifest.MediaType, manifest)
	}
}

// absent is the media type of blobs that publish loses, as a transport may that leaves them where they are globally.
const absent = "application/x-absent"

func withoutAbsent(t testing.TB, raw []byte) []byte {
	var m ocispec.Manifest
	require.NoError(t, json.Unmarshal(raw, &m))
	m.Layers = slices.DeleteFunc(m.Layers, func(l ocispec.Descriptor) bool { return l.MediaType == absent })
	out, err := json.Marshal(m)
	require.NoError(t, err)
	return out
}

// folder writes an archive into a directory.
type folder string

func (f folder) Put(path string, _ int64, content io.Reader) error {
	raw, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	at := filepath.Join(string(f), path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, raw, 0o644)
}

// repositories makes Repositories with caches of their own; HTTP servers on loopback are allowed.
func repositories(t testing.TB, change func(*Options)) *Repositories {
	client, err := oci.New(oci.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	store, err := fetch.New(fetch.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	o := Options{OCI: client, Store: store, AllowHTTP: true}
	if change != nil {
		change(&o)
	}
	r, err := New(o)
	require.NoError(t, err)
	return r
}

// session opens one that ends with the test.
func session(t testing.TB, r *Repositories, s Scope) *Session {
	opened := r.Open(s)
	t.Cleanup(opened.Close)
	return opened
}

func raw(t testing.TB, fields map[string]any) *v1alpha1.AnyJSON {
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	a := v1alpha1.NewAnyJSON(text)
	return &a
}

func ociSpec(base string) map[string]any {
	return map[string]any{"type": "OCIRegistry", "baseUrl": base}
}

// byName is a definition by reference; repository may be nil.
func byName(name, version string, repository *v1alpha1.AnyJSON) v1alpha1.ComponentDescriptorDefinition {
	return v1alpha1.ComponentDescriptorDefinition{Reference: &v1alpha1.ComponentDescriptorReference{ComponentName: name, Version: version, RepositoryContext: repository}}
}

func find(t testing.TB, d *component.Descriptor, name string) *component.Resource {
	found, err := d.FindResource(map[string]string{"name": name})
	require.NoError(t, err)
	return found
}

// text reads the content of a resource.
func text(t testing.TB, s *Session, d *component.Descriptor, name string) string {
	blob, err := s.Content(t.Context(), d, find(t, d, name))
	require.NoError(t, err)
	defer blob.Close()
	content, err := blob.ReadAll(1 << 20)
	require.NoError(t, err)
	return string(content)
}

// pullSecret is the data of a pull secret for a host.
func pullSecret(host, user, password string) map[string][]byte {
	return map[string][]byte{".dockerconfigjson": fmt.Appendf(nil, `{"auths":{%q:{"username":%q,"password":%q}}}`, host, user, password)}
}

func rights(t testing.TB, host, user, password string) Rights {
	r, err := ParseRights(map[string]map[string][]byte{"pull": pullSecret(host, user, password)}, nil)
	require.NoError(t, err)
	return r
}

func bytesOf(raw []byte) io.Reader { return bytes.NewReader(raw) }

// binary writes bytes as a text in a YAML file system.
func binary(content []byte) string {
	return "---Start Binary---\n" + base64.StdEncoding.EncodeToString(content) + "\n---End Binary---"
}
