// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func TestRootTakesTheRepositoryOfTheContext(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(t))
	s := session(t, repositories(t, nil), Scope{Repository: raw(t, ociSpec(reg.Host+"/c"))})
	found, err := s.Root(t.Context(), byName(shopName, "1.0.0", nil))
	require.NoError(t, err)
	assert.Equal(t, shopName, found.Descriptor.Name)
	assert.Empty(t, found.Overwrite)
	assert.JSONEq(t, string(raw(t, ociSpec(reg.Host+"/c")).RawMessage), string(found.Definition.Reference.RepositoryContext.RawMessage))
}

func TestRootWithoutAnyRepository(t *testing.T) {
	_, err := session(t, repositories(t, nil), Scope{}).Root(t.Context(), byName(shopName, "1.0.0", nil))
	require.ErrorIs(t, err, ErrRepositoryMissing)
	assert.Equal(t, fault.Stalled, fault.KindOf(err))
	assert.ErrorContains(t, err, "repositoryContext")
}

func TestClosureFollowsReferences(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(t), db(t))
	s := session(t, repositories(t, nil), Scope{Repository: raw(t, ociSpec(reg.Host+"/c"))})
	found, err := s.Root(t.Context(), byName(shopName, "1.0.0", nil))
	require.NoError(t, err)
	closed, err := s.Closure(t.Context(), found.Descriptor)
	require.NoError(t, err)
	require.Len(t, closed.Descriptors, 2)
	assert.Equal(t, "example.com/db:2.0.0", closed.Descriptors[1].Key().String())
}

func TestAMissingReferenceIsNamed(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(t))
	s := session(t, repositories(t, nil), Scope{Repository: raw(t, ociSpec(reg.Host+"/c"))})
	found, err := s.Root(t.Context(), byName(shopName, "1.0.0", nil))
	require.NoError(t, err)
	_, err = s.Closure(t.Context(), found.Descriptor)
	require.Error(t, err)
	assert.Equal(t, fault.Stalled, fault.KindOf(err))
	for _, says := range []string{"example.com/db:2.0.0", reg.Host + "/c"} {
		assert.ErrorContains(t, err, says)
	}
}

func overwrite(name, version, toName, toVersion string, to *v1alpha1.AnyJSON) v1alpha1.ComponentVersionOverwrite {
	return v1alpha1.ComponentVersionOverwrite{
		Source:       v1alpha1.ComponentVersionOverwriteReference{ComponentName: name, Version: version},
		Substitution: v1alpha1.ComponentVersionOverwriteReference{ComponentName: toName, Version: toVersion, RepositoryContext: to},
	}
}

func TestOverwritesOfRootAndReferences(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(t))
	other := component.Version{Descriptor: describe(t, "example.com/db", "2.1.0", "", nil)}
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/patched"}, other)
	s := session(t, repositories(t, nil), Scope{
		Repository: raw(t, ociSpec(reg.Host+"/c")),
		Overwrites: []v1alpha1.ComponentVersionOverwrite{
			overwrite(shopName, "0.9.0", "", "1.0.0", nil),
			overwrite("example.com/db", "", "", "2.1.0", raw(t, ociSpec(reg.Host+"/patched"))),
		},
	})
	found, err := s.Root(t.Context(), byName(shopName, "0.9.0", nil))
	require.NoError(t, err)
	assert.Equal(t, "1.0.0", found.Descriptor.Version)
	assert.Equal(t, "1.0.0", found.Definition.Reference.Version)
	assert.Contains(t, found.Overwrite, "0.9.0")
	closed, err := s.Closure(t.Context(), found.Descriptor)
	require.NoError(t, err)
	require.Len(t, closed.Descriptors, 2)
	assert.Equal(t, "2.1.0", closed.Descriptors[1].Version)
	assertPlace(t, s, closed.Root, ociSpec(reg.Host+"/c"))
	assertPlace(t, s, closed.Descriptors[1], ociSpec(reg.Host+"/patched"))
	assert.True(t, s.RepositoryOf(component.Key{Name: "example.com/db", Version: "2.0.0"}).IsZero(), "the overwritten version was not looked up")
}

// assertPlace checks where a session found a component version.
func assertPlace(t *testing.T, s *Session, d *component.Descriptor, want map[string]any) {
	t.Helper()
	typed, err := component.NewTyped(want)
	require.NoError(t, err)
	assert.Equal(t, typed.String(), s.RepositoryOf(d.Key()).String())
}

func TestTheRepositoryOfAVersionIsCalledAsTheScopeCallsIt(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, db(t))
	r := repositories(t, nil)
	for _, spec := range []map[string]any{ociSpec(reg.Host + "/c"), {"type": "OCIRegistry", "baseUrl": reg.Host, "subPath": "c"}} {
		s := session(t, r, Scope{Repository: raw(t, spec)})
		found, err := s.Root(t.Context(), byName("example.com/db", "2.0.0", nil))
		require.NoError(t, err)
		assertPlace(t, s, found.Descriptor, spec)
	}
}

func ocmConfig(entries ...string) []byte {
	out := "type: generic.config.ocm.software/v1\nconfigurations:\n"
	for _, e := range entries {
		out += "- " + e + "\n"
	}
	return []byte(out)
}

func TestResolversFindWhatTheRepositoryHasNot(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/shops"}, shop(t))
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/dbs"}, db(t))
	granted, err := ParseRights(nil, ocmConfig(fmt.Sprintf(
		"{type: ocm.config.ocm.software/v1, resolvers: [{prefix: example.com/db, repository: {type: OCIRegistry, baseUrl: %q}}, {repository: {type: OCIRegistry, baseUrl: %q}, priority: 5}]}",
		reg.Host+"/dbs", reg.Host+"/shops")))
	require.NoError(t, err)
	for name, repository := range map[string]*v1alpha1.AnyJSON{"resolvers alone": nil, "repository first": raw(t, ociSpec(reg.Host+"/shops"))} {
		t.Run(name, func(t *testing.T) {
			s := session(t, repositories(t, nil), Scope{Repository: repository, Rights: granted})
			found, err := s.Root(t.Context(), byName(shopName, "1.0.0", nil))
			require.NoError(t, err)
			closed, err := s.Closure(t.Context(), found.Descriptor)
			require.NoError(t, err)
			require.Len(t, closed.Descriptors, 2)
			assert.Equal(t, "some text", text(t, s, found.Descriptor, "text"))
			assertPlace(t, s, found.Descriptor, ociSpec(reg.Host+"/shops"))
			assertPlace(t, s, closed.Descriptors[1], ociSpec(reg.Host+"/dbs"))
		})
	}
}

func inlineDefinition(t *testing.T, d *component.Descriptor) v1alpha1.ComponentDescriptorDefinition {
	document, err := json.Marshal(d.View(component.SchemaV2))
	require.NoError(t, err)
	a := v1alpha1.NewAnyJSON(document)
	return v1alpha1.ComponentDescriptorDefinition{Inline: &a}
}

func TestInlineDescriptorWithEmbeddedReference(t *testing.T) {
	root := describe(t, shopName, "1.0.0", "", map[string]string{"db": "example.com/db@2.0.0"})
	root.References[0].Labels = []component.Label{{Name: component.LabelEmbedded, Value: describe(t, "example.com/db", "2.0.0", "", map[string]string{"x": "example.com/x@1.0.0"}).View(component.SchemaV2)}}
	nested := describe(t, "example.com/x", "1.0.0", "", nil)
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, component.Version{Descriptor: nested})
	root.RepositoryContexts = nil
	s := session(t, repositories(t, nil), Scope{Repository: raw(t, ociSpec(reg.Host+"/c"))})
	found, err := s.Root(t.Context(), inlineDefinition(t, root))
	require.NoError(t, err)
	closed, err := s.Closure(t.Context(), found.Descriptor)
	require.NoError(t, err)
	assert.Len(t, closed.Descriptors, 3, "one inline, one embedded, one published")
}

func TestBlobsOfAnInlineDescriptorComeFromItsRepository(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	v := shop(t)
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, v)
	repository, err := component.NewTyped(ociSpec(reg.Host + "/c"))
	require.NoError(t, err)
	v.Descriptor.RepositoryContexts = []component.Typed{repository}
	s := session(t, repositories(t, nil), Scope{})
	found, err := s.Root(t.Context(), inlineDefinition(t, v.Descriptor))
	require.NoError(t, err)
	assert.Equal(t, "some text", text(t, s, found.Descriptor, "text"))
}

func TestAVersionIsRememberedForAWhile(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	spec := component.OCIRegistry{BaseURL: reg.Host + "/c"}
	publish(t, reg, spec, shop(t))
	now := time.Unix(1000, 0)
	r := repositories(t, func(o *Options) { o.Clock = func() time.Time { return now } })
	scope := Scope{Repository: raw(t, ociSpec(reg.Host+"/c"))}
	resources := func() int {
		found, err := session(t, r, scope).Root(t.Context(), byName(shopName, "1.0.0", nil))
		require.NoError(t, err)
		return len(found.Descriptor.Resources)
	}
	require.Equal(t, 2, resources())
	reg.Forget()
	replaced := shop(t)
	replaced.Descriptor.Resources = replaced.Descriptor.Resources[:1]
	publish(t, reg, spec, replaced)
	reg.Forget()
	assert.Equal(t, 2, resources())
	assert.Empty(t, reg.Requests(), "a version that is remembered causes no request")
	now = now.Add(remember + time.Second)
	assert.Equal(t, 1, resources(), "a version that somebody replaced is seen in the end")
}

func TestAnUnknownVersionCostsThreeRequests(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, db(t))
	r := repositories(t, nil)
	reg.Forget()
	_, err := session(t, r, Scope{Repository: raw(t, ociSpec(reg.Host+"/c"))}).Root(t.Context(), byName("example.com/db", "2.0.0", nil))
	require.NoError(t, err)
	var asked []string
	for _, request := range reg.Requests() {
		asked = append(asked, request.Method+" "+request.Kind)
	}
	assert.Equal(t, []string{"HEAD manifests", "GET manifests", "GET blobs"}, asked)
}

func TestAKnownVersionSurvivesARegistryThatIsDown(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(t))
	now := time.Unix(1000, 0)
	r := repositories(t, func(o *Options) { o.Clock = func() time.Time { return now } })
	scope := Scope{Repository: raw(t, ociSpec(reg.Host+"/c"))}
	_, err := session(t, r, scope).Root(t.Context(), byName(shopName, "1.0.0", nil))
	require.NoError(t, err)
	reg.Down()
	now = now.Add(remember + time.Second)
	s := session(t, r, scope)
	found, err := s.Root(t.Context(), byName(shopName, "1.0.0", nil))
	require.NoError(t, err)
	assert.Equal(t, shopName, found.Descriptor.Name)
}

func TestOneDownloadForAll(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(t))
	r := repositories(t, nil)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			s := r.Open(Scope{Repository: raw(t, ociSpec(reg.Host+"/c"))})
			defer s.Close()
			found, err := s.Root(t.Context(), byName(shopName, "1.0.0", nil))
			if !assert.NoError(t, err) {
				return
			}
			_, _, err = s.Blueprint(t.Context(), found.Descriptor, &found.Descriptor.Resources[0])
			assert.NoError(t, err)
		})
	}
	all.Wait()
	assert.LessOrEqual(t, reg.Count(http.MethodGet, "blobs"), 3, "descriptor, blueprint and at most the config, each once")
}

func TestCachesAreBoundToLogins(t *testing.T) {
	reg := registry.Start(t, registry.Options{Users: []registry.User{{Name: "alice", Password: "secret-of-alice"}}})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(t))
	r := repositories(t, nil)
	scope := Scope{Repository: raw(t, ociSpec(reg.Host+"/c")), Rights: rights(t, reg.Host, "alice", "secret-of-alice")}
	s := session(t, r, scope)
	found, err := s.Root(t.Context(), byName(shopName, "1.0.0", nil))
	require.NoError(t, err)
	require.Equal(t, "some text", text(t, s, found.Descriptor, "text"))
	for name, other := range map[string]Rights{"anonymous": {}, "wrong": rights(t, reg.Host, "alice", "secret-of-bob")} {
		t.Run(name, func(t *testing.T) {
			_, err := session(t, r, Scope{Repository: scope.Repository, Rights: other}).Root(t.Context(), byName(shopName, "1.0.0", nil))
			require.ErrorIs(t, err, oci.ErrUnauthorized)
			assert.Equal(t, fault.Stalled, fault.KindOf(err))
			assert.NotContains(t, err.Error(), "secret-of")
		})
	}
}

// Whoever knows the digest of a blob in a registry gets it only if the registry lets him, although somebody else has got it before.
func TestBlobsOfRegistriesAreBoundToLogins(t *testing.T) {
	reg := registry.Start(t, registry.Options{Users: []registry.User{{Name: "alice", Password: "secret-of-alice"}}})
	blob := reg.PushBlob(t, "blobs", "text/plain", []byte("of alice"))
	written := describe(t, "example.com/c", "1.0.0",
		line("blob", "plainText", fmt.Sprintf("{type: ociBlob, ref: %s/blobs, mediaType: text/plain, digest: '%s', size: %d}", reg.Host, blob.Digest, blob.Size), ""), nil)
	r := repositories(t, nil)
	read := func(rights Rights) (string, error) {
		s := session(t, r, Scope{Rights: rights})
		found, err := s.Root(t.Context(), inlineDefinition(t, written))
		require.NoError(t, err)
		return (&scene{session: s, d: found.Descriptor}).content(t, "blob")
	}
	for range 2 {
		got, err := read(rights(t, reg.Host, "alice", "secret-of-alice"))
		require.NoError(t, err)
		require.Equal(t, "of alice", got)
	}
	for name, other := range map[string]Rights{"anonymous": {}, "wrong": rights(t, reg.Host, "alice", "secret-of-bob")} {
		t.Run(name, func(t *testing.T) {
			_, err := read(other)
			require.ErrorIs(t, err, oci.ErrUnauthorized)
		})
	}
}

func TestKindsOfFailuresOfARegistry(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(t))
	scope := Scope{Repository: raw(t, ociSpec(reg.Host+"/c"))}
	_, err := session(t, repositories(t, nil), scope).Root(t.Context(), byName(shopName, "9.9.9", nil))
	require.ErrorIs(t, err, oci.ErrNotFound)
	assert.Equal(t, fault.Stalled, fault.KindOf(err))
	assert.ErrorContains(t, err, "example.com/shop:9.9.9")
	reg.Down()
	_, err = session(t, repositories(t, nil), scope).Root(t.Context(), byName(shopName, "1.0.0", nil))
	require.Error(t, err)
	assert.Equal(t, fault.Retry, fault.KindOf(err))
}

func TestADescriptorMustBeThatOfItsPlace(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	image, err := shop(t).Image(component.SchemaV2)
	require.NoError(t, err)
	const wrong = "c/component-descriptors/example.com/other"
	for _, blob := range append([]component.Content{image.Config}, image.Layers...) {
		reg.PushBlob(t, wrong, blob.MediaType, read(t, blob))
	}
	reg.PushManifest(t, wrong, "1.0.0", image.Manifest.MediaType, read(t, image.Manifest))
	_, err = session(t, repositories(t, nil), Scope{Repository: raw(t, ociSpec(reg.Host+"/c"))}).Root(t.Context(), byName("example.com/other", "1.0.0", nil))
	require.ErrorContains(t, err, "example.com/shop:1.0.0")
	assert.Equal(t, fault.Stalled, fault.KindOf(err))
}

func TestLocalRepositories(t *testing.T) {
	outside := t.TempDir()
	require.NoError(t, component.WriteArchive(folder(filepath.Join(outside, "archive")), shop(t), component.SchemaV2))
	root := filepath.Join(outside, "root")
	require.NoError(t, component.WriteArchive(folder(filepath.Join(root, "archive")), shop(t), component.SchemaV2))
	document, err := db(t).Descriptor.Encode(component.SchemaV2)
	require.NoError(t, err)
	require.NoError(t, folder(filepath.Join(root, "descriptors")).Put("db.yaml", 0, bytesOf(document)))
	require.NoError(t, os.Symlink(filepath.Join(outside, "archive"), filepath.Join(root, "link")))
	for name, tc := range map[string]struct {
		root, kind, path string
		key              component.Key
		says             string
	}{
		"directory of descriptors": {root, "local", "descriptors", db(t).Descriptor.Key(), ""},
		"archive":                  {root, "ComponentArchive", "archive", shop(t).Descriptor.Key(), ""},
		"parent directory":         {root, "ComponentArchive", "../archive/../../archive", shop(t).Descriptor.Key(), ""},
		"symbolic link":            {root, "ComponentArchive", "link", shop(t).Descriptor.Key(), "no such file"},
		"not enabled":              {"", "ComponentArchive", filepath.Join(root, "archive"), shop(t).Descriptor.Key(), "not enabled"},
		"absolute path":            {root, "ComponentArchive", filepath.Join(outside, "archive"), shop(t).Descriptor.Key(), "no such file"},
		"no such directory":        {root, "CommonTransportFormat", "nope", shop(t).Descriptor.Key(), "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			s := session(t, repositories(t, func(o *Options) { o.LocalRoot = tc.root }), Scope{})
			_, err := s.Root(t.Context(), byName(tc.key.Name, tc.key.Version, raw(t, map[string]any{"type": tc.kind, "filePath": tc.path})))
			if tc.says == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tc.says)
			assert.Equal(t, fault.Stalled, fault.KindOf(err))
		})
	}
}

func TestInlineRepositoryReadsNoFiles(t *testing.T) {
	spec := inlineSpec(t, shop(t))
	spec["blobFsMode"] = "context"
	_, err := session(t, repositories(t, nil), Scope{}).Root(t.Context(), byName(shopName, "1.0.0", raw(t, spec)))
	require.ErrorContains(t, err, "blobFsMode")
	assert.Equal(t, fault.Stalled, fault.KindOf(err))
}

func TestContentNeedsALookup(t *testing.T) {
	s := session(t, repositories(t, nil), Scope{})
	d := shop(t).Descriptor
	_, err := s.Content(t.Context(), d, find(t, d, "text"))
	assert.ErrorContains(t, err, "has not looked it up")
}
