// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package ocm

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/publishing"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

const text = `
components:
- name: example.com/shop
  version: 1.0.0+a
  provider: me
  componentReferences:
  - {name: db, componentName: example.com/db, version: 1.0.0}
  - {name: base, componentName: example.com/base, version: 1.0.0}
  resources:
  - {name: blueprint, type: landscaper.gardener.cloud/blueprint, input: {type: utf8, text: shop}}
  - {name: image, type: ociImage, version: 2.0.0, access: {type: ociArtifact, imageReference: "example.com/shop:2.0.0"}}
- name: example.com/db
  version: 1.0.0
  provider: me
  componentReferences: [{name: base, componentName: example.com/base, version: 1.0.0}]
  resources: [{name: chart, type: helmChart, access: {type: helm, helmRepository: "https://h/", helmChart: "db:1.0.0"}}]
- name: example.com/base
  version: 1.0.0
  provider: me
  resources: [{name: file, type: blob, access: {type: wget, url: "https://h/f"}}]
`

func client(t *testing.T) publishing.Registry {
	t.Helper()
	c, err := oci.New(oci.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, c.Close()) })
	return publishing.Registry{Client: c}
}

func build(t *testing.T, place *Place, constructed string) []component.Version {
	t.Helper()
	read, err := ParseConstructor([]byte(constructed))
	require.NoError(t, err)
	workspace, err := publishing.NewWorkspace()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, workspace.Close()) })
	builder := &Builder{Workspace: workspace}
	if place != nil {
		builder.Repository = place.Spec
	}
	var versions []component.Version
	for i := range read.Components {
		v, err := builder.Build(context.Background(), &read.Components[i])
		require.NoError(t, err)
		versions = append(versions, v)
	}
	return versions
}

func place(t *testing.T, written string) *Place {
	t.Helper()
	p, err := ParsePlace(written)
	require.NoError(t, err)
	return p
}

func pushAll(t *testing.T, r publishing.Registry, p *Place, versions []component.Version) {
	t.Helper()
	for _, v := range versions {
		_, err := Push(context.Background(), r, p, v, false)
		require.NoError(t, err)
	}
}

func draw(t *testing.T, r publishing.Registry, p *Place, key component.Key) string {
	t.Helper()
	reader, err := NewReader(r, p)
	require.NoError(t, err)
	defer func() { require.NoError(t, reader.Close()) }()
	root, err := reader.Get(context.Background(), key)
	require.NoError(t, err)
	closed, err := reader.Closure(context.Background(), root)
	require.NoError(t, err)
	tree, err := Tree(closed)
	require.NoError(t, err)
	return tree.Text()
}

const drawn = `example.com/shop:1.0.0+a
├── blueprint  landscaper.gardener.cloud/blueprint  1.0.0+a  localBlob
├── image      ociImage                             2.0.0    ociArtifact example.com/shop:2.0.0
├── db → example.com/db:1.0.0
│   ├── chart  helmChart  1.0.0  helm https://h db
│   └── base → example.com/base:1.0.0
│       └── file  blob  1.0.0  wget https://h/f
└── base → example.com/base:1.0.0  (shown above)
`

func TestRegistryAndDirectoriesReadTheSame(t *testing.T) {
	r, key := client(t), component.Key{Name: "example.com/shop", Version: "1.0.0+a"}
	t.Run("registry", func(t *testing.T) {
		server := registry.Start(t, registry.Options{})
		p := place(t, "oci://"+server.Host+"/some/where")
		pushAll(t, r, p, build(t, p, text))
		assert.Equal(t, drawn, draw(t, r, p, key))
		assert.Equal(t, drawn, draw(t, r, p, component.Key{Name: "example.com/shop"}), "without version")
	})
	t.Run("CTF", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "ctf")
		require.NoError(t, WriteCTF(dir, build(t, nil, text), false))
		assert.Equal(t, drawn, draw(t, r, place(t, dir), key))
		assert.Equal(t, drawn, draw(t, r, place(t, dir), component.Key{Name: "example.com/shop"}), "without version")
	})
	t.Run("archive", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "archive")
		require.NoError(t, WriteArchive(dir, build(t, nil, text)[2], false))
		assert.Equal(t, "example.com/base:1.0.0\n└── file  blob  1.0.0  wget https://h/f\n", draw(t, r, place(t, dir), component.Key{Name: "example.com/base"}))
	})
}

func TestPushAgain(t *testing.T) {
	server, r := registry.Start(t, registry.Options{}), client(t)
	p := place(t, "oci://"+server.Host+"/components")
	const one = "name: example.com/a\nversion: 1.0.0\nprovider: me\n"
	first, err := Push(context.Background(), r, p, build(t, p, one)[0], false)
	require.NoError(t, err)
	assert.Equal(t, server.Host+"/components/component-descriptors/example.com/a:1.0.0", first.Reference)
	t.Run("same content", func(t *testing.T) {
		server.Forget()
		second, err := Push(context.Background(), r, p, build(t, p, one)[0], false)
		require.NoError(t, err)
		assert.True(t, second.Unchanged)
		assert.Equal(t, first.Digest, second.Digest)
		assert.Zero(t, server.Count("PUT", "manifests"))
	})
	t.Run("other content", func(t *testing.T) {
		other := build(t, p, one+"labels: [{name: x, value: 1}]\n")[0]
		_, err := Push(context.Background(), r, p, other, false)
		assert.ErrorContains(t, err, "component example.com/a:1.0.0 exists at "+first.Reference+" with other content ("+first.Digest+"); raise its version, or add --overwrite")
		replaced, err := Push(context.Background(), r, p, other, true)
		require.NoError(t, err)
		assert.NotEqual(t, first.Digest, replaced.Digest)
	})
}

// pairs lets requests of a path go on two at a time.
func pairs(path string) registry.Fault {
	var mu sync.Mutex
	var waiting chan struct{}
	return func(_ *registry.Registry, _ http.ResponseWriter, request *http.Request) bool {
		if !strings.HasSuffix(request.URL.Path, path) {
			return false
		}
		mu.Lock()
		mine := waiting
		if waiting == nil {
			mine = make(chan struct{})
			waiting = mine
		} else {
			close(waiting)
			waiting = nil
		}
		mu.Unlock()
		select {
		case <-mine:
		case <-request.Context().Done():
		}
		return false
	}
}

// TestOfTwoPushesOfTheSameMomentOneFails lets both look for the version before any of them writes, and again after both have written. The writes go
// in pairs too: two reads that go on together are not answered together.
func TestOfTwoPushesOfTheSameMomentOneFails(t *testing.T) {
	server := registry.Start(t, registry.Options{})
	p := place(t, "oci://"+server.Host+"/components")
	const one = "name: example.com/a\nversion: 1.0.0\nprovider: me\n"
	server.Break(registry.Reads(pairs("/manifests/1.0.0")), registry.On("PUT", "manifests", pairs("/manifests/1.0.0")))
	var all sync.WaitGroup
	errs := make([]error, 2)
	for i, text := range []string{one, one + "labels: [{name: x, value: 1}]\n"} {
		r, version := client(t), build(t, p, text)[0]
		all.Go(func() { _, errs[i] = Push(t.Context(), r, p, version, false) })
	}
	all.Wait()
	failed := slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	require.Len(t, failed, 1)
	assert.ErrorContains(t, failed[0], "was replaced at the same moment by other content (sha256:")
}

func TestNothingHalfDoneStays(t *testing.T) {
	server, r := registry.Start(t, registry.Options{}), client(t)
	p := place(t, "oci://"+server.Host+"/components")
	v := build(t, p, text)[0]
	server.Break(registry.On("PUT", "manifests", registry.Status(403, 0)))
	_, err := Push(context.Background(), r, p, v, false)
	require.Error(t, err)
	server.Break()
	ref, err := p.Reference(v.Descriptor.Key())
	require.NoError(t, err)
	there, err := r.Client.Exists(context.Background(), ref, r.Credentials)
	require.NoError(t, err)
	assert.False(t, there)
}

func TestManifestComesAfterBlobs(t *testing.T) {
	server, r := registry.Start(t, registry.Options{}), client(t)
	p := place(t, "oci://"+server.Host+"/components")
	pushAll(t, r, p, build(t, p, text)[:1])
	requests := slices.DeleteFunc(server.Requests(), func(r registry.Request) bool { return r.Method == "GET" || r.Method == "HEAD" })
	last := requests[len(requests)-1]
	assert.Equal(t, []string{"PUT", "manifests", "1.0.0.build-a"}, []string{last.Method, last.Kind, last.Reference})
	assert.Equal(t, 1, server.Count("PUT", "manifests"))
}

func TestOrder(t *testing.T) {
	var names []string
	for _, v := range Order(build(t, nil, text)) {
		names = append(names, v.Descriptor.Name)
	}
	assert.Equal(t, []string{"example.com/base", "example.com/db", "example.com/shop"}, names)
}

func TestDirectoriesAreNotLost(t *testing.T) {
	versions := build(t, nil, text)
	dir := t.TempDir()
	require.NoError(t, WriteCTF(dir, versions, false))
	assert.ErrorContains(t, WriteCTF(dir, versions, false), "is not empty; name another one, or add --overwrite")
	require.NoError(t, WriteCTF(dir, versions[2:], true))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	assert.ErrorContains(t, WriteCTF(dir, versions, true), "holds something else")
	assert.FileExists(t, filepath.Join(dir, "mine"))
	assert.FileExists(t, filepath.Join(dir, "artifact-index.json"))
}

func TestParsePlace(t *testing.T) {
	for written, want := range map[string]string{
		"oci://ghcr.io/a/b":    `{"baseUrl":"ghcr.io","componentNameMapping":"urlPath","subPath":"a/b","type":"OCIRegistry"}`,
		"ghcr.io/a/":           `{"baseUrl":"ghcr.io","componentNameMapping":"urlPath","subPath":"a","type":"OCIRegistry"}`,
		"http://127.0.0.1:5/a": `{"baseUrl":"http://127.0.0.1:5","componentNameMapping":"urlPath","subPath":"a","type":"OCIRegistry"}`,
		"https://ghcr.io":      `{"baseUrl":"ghcr.io","componentNameMapping":"urlPath","type":"OCIRegistry"}`,
	} {
		t.Run(written, func(t *testing.T) { assert.JSONEq(t, want, string(place(t, written).Spec.Raw)) })
	}
	for written, want := range map[string]string{
		"": "the repository is missing", "./none": "is not a file or directory", "/none": "is not a file or directory", "ftp://x": "is not understood", "oci://": "is not understood",
	} {
		t.Run("refuse "+written, func(t *testing.T) {
			_, err := ParsePlace(written)
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestParseName(t *testing.T) {
	for name, test := range map[string]struct{ written, repository, base, component, version string }{
		"flag":              {"example.com/a:1.0.0", "oci://ghcr.io/b", "ghcr.io/b", "example.com/a", "1.0.0"},
		"in one":            {"ghcr.io/b//example.com/a:1.0.0", "", "ghcr.io/b", "example.com/a", "1.0.0"},
		"in one, with oci":  {"oci://ghcr.io/b//example.com/a", "", "ghcr.io/b", "example.com/a", ""},
		"in one, with port": {"http://localhost:5000//example.com/a:2", "", "http://localhost:5000", "example.com/a", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			p, key, err := ParseName(test.written, test.repository)
			require.NoError(t, err)
			assert.Equal(t, test.base, p.registry.Base())
			assert.Equal(t, component.Key{Name: test.component, Version: test.version}, key)
		})
	}
	for name, test := range map[string]struct{ written, repository, want string }{
		"none":       {"example.com/a:1", "", "the repository is missing"},
		"two":        {"ghcr.io//example.com/a:1", "ghcr.io", "keep one of them"},
		"unclear":    {"oci://ghcr.io/example.com/a:1", "", "where the name of the component begins"},
		"no name":    {"ghcr.io//:1", "", "has no component name"},
		"only colon": {":1", "ghcr.io", "has no component name"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := ParseName(test.written, test.repository)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestMissingVersion(t *testing.T) {
	server, r := registry.Start(t, registry.Options{}), client(t)
	reader, err := NewReader(r, place(t, "oci://"+server.Host+"/components"))
	require.NoError(t, err)
	defer func() { require.NoError(t, reader.Close()) }()
	_, err = reader.Get(context.Background(), component.Key{Name: "example.com/none", Version: "1.0.0"})
	assert.ErrorContains(t, err, "example.com/none")
}

func TestHighest(t *testing.T) {
	assert.Equal(t, "1.10.0+x", highest([]string{"1.9.0", "1.10.0.build-x", "latest", "2.0.0-rc.1"}))
	assert.Equal(t, "1.0.0+2", highest([]string{"1.0.0.build-1", "1.0.0.build-2", "1.0.0"}))
	assert.Equal(t, "v2.0.0-rc.1", highest([]string{"1.0.0-rc.9", "v2.0.0-rc.1"}))
	assert.Empty(t, highest([]string{"latest"}))
}
