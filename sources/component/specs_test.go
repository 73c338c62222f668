// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

func typed(t testing.TB, text string) component.Typed {
	t.Helper()
	out, err := component.ParseTyped([]byte(text))
	require.NoError(t, err)
	return out
}

func TestTypedNeedsAType(t *testing.T) {
	for text, want := range map[string]string{"[]": "an object", "{}": "field type is missing", "type: 1": "field type is missing", "{": "the document is not YAML"} {
		_, err := component.ParseTyped([]byte(text))
		assert.ErrorContains(t, err, want, text)
	}
}

func TestTypedEqual(t *testing.T) {
	one := typed(t, "{type: OCIRegistry, baseUrl: a}")
	assert.True(t, one.Equal(typed(t, "{baseUrl: a, type: ociRegistry/v1}")))
	assert.True(t, one.Equal(typed(t, "{baseUrl: a, type: oci/v1}")))
	assert.False(t, one.Equal(typed(t, "{type: OCIRegistry, baseUrl: b}")))
	assert.False(t, one.Equal(component.Typed{}))
	assert.True(t, component.Typed{}.Equal(component.Typed{}))
}

func TestParseAccess(t *testing.T) {
	for text, want := range map[string]component.Access{
		"{type: ociArtifact, imageReference: r}":                component.OCIArtifact{ImageReference: "r"},
		"{type: ociRegistry, imageReference: r}":                component.OCIArtifact{ImageReference: "r"},
		"{type: OCIImage/v1, imageReference: r}":                component.OCIArtifact{ImageReference: "r"},
		"{type: relativeOciReference, reference: r}":            component.RelativeOCIReference{Reference: "r"},
		"{type: localBlob/v1, localReference: r, mediaType: m}": component.LocalBlob{LocalReference: "r", MediaType: "m"},
		"{type: LocalBlob, localReference: r, referenceName: rn, globalAccess: {type: none}}": component.LocalBlob{
			LocalReference: "r", ReferenceName: "rn", GlobalAccess: component.Typed{Type: "none", Raw: []byte(`{"type":"none"}`)}},
		"{type: localOciBlob, digest: d}":                           component.LocalOCIBlob{Digest: "d"},
		"{type: localFilesystemBlob, filename: f, mediaType: m}":    component.LocalFilesystemBlob{Filename: "f", MediaType: "m"},
		"{type: ociBlob, ref: r, digest: d, size: 3, mediaType: m}": component.OCIBlob{Repository: "r", Digest: "d", Size: 3, MediaType: "m"},
		"{type: helm, helmRepository: h, helmChart: c, version: v}": component.HelmChart{Repository: "h", Chart: "c", Version: "v"},
		"{type: helm/v1, helmRepository: h, helmChart: 'c:v'}":      component.HelmChart{Repository: "h", Chart: "c", Version: "v"},
		"{type: wget, url: u, mediaType: m}":                        component.Web{URL: "u", MediaType: "m"},
		"{type: web, url: u, verb: get}":                            component.Web{URL: "u", Verb: "get"},
		"{type: wget, URL: u, header: {a: [b]}, verb: POST, body: aGk=}": component.Web{URL: "u", Verb: "POST", Body: []byte("hi"),
			Header: map[string][]string{"a": {"b"}}},
		"{type: s3/v2, bucketName: b}":                     component.Elsewhere{Kind: "s3"},
		"{type: npm/v1}":                                   component.Elsewhere{Kind: "npm"},
		"{type: ocm, component: c, version: v}":            component.Elsewhere{Kind: "ocm"},
		"{type: gitHub, repoUrl: u, commit: c}":            component.GitHub{RepoURL: "u", Commit: "c"},
		"{type: github/v1, repoUrl: u, ref: r, commit: c}": component.GitHub{RepoURL: "u", Ref: "r", Commit: "c"},
		"{type: git, repository: u, ref: r, pathSpec: p}":  component.Git{Repository: "u", Ref: "r", Path: "p"},
		"{type: git/v1alpha1, repoUrl: u, commit: c}":      component.Git{Repository: "u", Commit: "c"},
		"{type: none}": component.NoContent{},
		"{type: ociArtifact, imageReference: r, referenceName: fields that are no use}": component.OCIArtifact{ImageReference: "r"},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := component.ParseAccess(typed(t, text))
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func TestParseAccessRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{type: ftp}":                                                     `access type "ftp" is unknown`,
		"{type: ociArtifact}":                                             `access of type "ociArtifact" has no imageReference; set it`,
		"{type: localBlob, localReference: ''}":                           "has no localReference",
		"{type: ociArtifact, imageReference: [a]}":                        "is wrong",
		"{type: localBlob, localReference: r, globalAccess: {a: b}}":      "field type is missing",
		"{type: wget, url: u, header: {a: b}}":                            "is wrong",
		"{type: git, ref: main}":                                          "has no repository",
		"{type: helm, helmRepository: h, helmChart: 'c:v1', version: v2}": "names two versions of chart c",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := component.ParseAccess(typed(t, text))
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestParseRepository(t *testing.T) {
	for text, want := range map[string]component.RepositorySpec{
		"{type: OCIRegistry, baseUrl: b, subPath: s}":                      component.OCIRegistry{BaseURL: "b", SubPath: "s"},
		"{type: ociRegistry/v1, baseUrl: b}":                               component.OCIRegistry{BaseURL: "b"},
		"{type: CommonTransportFormat, filePath: f}":                       component.Archive{FilePath: "f"},
		"{type: ComponentArchive/v1, filePath: f}":                         component.Archive{FilePath: "f"},
		"{type: local, filePath: f}":                                       component.Local{FilePath: "f"},
		"{type: fluxSource, sourceRef: {kind: Bucket, name: bn}, path: p}": component.FluxSource{SourceRef: component.SourceObject{Kind: "Bucket", Name: "bn"}, Path: "p"},
		"{type: git, url: u, ref: r, commit: c, path: p}":                  component.GitRepository{URL: "u", Ref: "r", Commit: "c", Path: "p"},
		"{type: inline, fileSystem: {a: b}, compDescDirPath: c, blobFs: {d: e}, blobFsMode: context, blobDirPath: f}": component.Inline{
			FileSystem: []byte(`{"a":"b"}`), DescriptorPath: "c", BlobFileSystem: []byte(`{"d":"e"}`), BlobMode: "context", BlobPath: "f"},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := component.ParseRepository(typed(t, text))
			require.NoError(t, err)
			assert.Equal(t, want, got)
		})
	}
}

func TestParseRepositoryRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"{type: DockerDaemon}": `repository type "DockerDaemon" is not supported; use for example OCIRegistry`,
		"{type: OCIRegistry}":  "has no baseUrl",
		"{type: OCIRegistry, baseUrl: b, componentNameMapping: x}": "use urlPath or sha256-digest",
		"{type: fluxSource, sourceRef: {name: bn}}":                "needs sourceRef.kind and sourceRef.name",
		"{type: git}": "has no url",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := component.ParseRepository(typed(t, text))
			assert.ErrorContains(t, err, want)
		})
	}
}

func TestReferenceOfARegistry(t *testing.T) {
	const digest = "b703f2afd8642d7917c19335acfbe2f46d649f3c1f9aecdcbf8572e40c470e8a"
	for want, r := range map[string]component.OCIRegistry{
		"example.com/component-descriptors/github.com/a/b:1.0.0.build-x":          {BaseURL: "example.com"},
		"example.com/sub/path/component-descriptors/github.com/a/b:1.0.0.build-x": {BaseURL: "oci://example.com/", SubPath: "/sub/path/"},
		"http://example.com/component-descriptors/github.com/a/b:1.0.0.build-x":   {BaseURL: "http://example.com", Mapping: component.MappingURLPath},
		"example.com/sub/" + digest + ":1.0.0.build-x":                            {BaseURL: "example.com", SubPath: "sub", Mapping: component.MappingDigest},
	} {
		assert.Equal(t, want, r.Reference("github.com/a/b", "1.0.0+x"))
	}
}

func TestParseReference(t *testing.T) {
	name := func(n string) map[string]string { return map[string]string{"name": n} }
	for label, test := range map[string]struct {
		reference any
		want      component.RelativeReference
	}{
		"own resource": {"cd://resources/a", component.RelativeReference{Resource: name("a")}},
		"behind references": {"cd://componentReferences/a/componentReferences/b/resources/c",
			component.RelativeReference{Path: []map[string]string{name("a"), name("b")}, Resource: name("c")}},
		"YAML": {"resource: {name: a, version: 1.0.0}\nreferencePath:\n- name: b\n",
			component.RelativeReference{Path: []map[string]string{name("b")}, Resource: map[string]string{"name": "a", "version": "1.0.0"}}},
		"JSON": {`{"resource": {"name": "a", "extraIdentity": {"arch": "x"}}}`,
			component.RelativeReference{Resource: map[string]string{"name": "a", "arch": "x"}}},
		"object": {map[string]any{"resource": map[string]any{"name": "a"}, "referencePath": []any{map[string]any{"name": "b"}}},
			component.RelativeReference{Path: []map[string]string{name("b")}, Resource: name("a")}},
	} {
		t.Run(label, func(t *testing.T) {
			got, err := component.ParseReference(test.reference)
			require.NoError(t, err)
			assert.Equal(t, test.want, got)
		})
	}
}

func TestParseReferenceRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		reference any
		want      string
	}{
		"odd":                 {"cd://resources", "needs keywords and names by turns"},
		"ends at a component": {"cd://componentReferences/a", "end it with resources/<name>"},
		"resource inside":     {"cd://resources/a/componentReferences/b", "resources/<name> must be its end"},
		"keyword":             {"cd://sources/a", `keyword "sources" is unknown`},
		"empty name":          {"cd://componentReferences//resources/a", "a name is empty"},
		"too long":            {"cd://resources/" + string(make([]byte, 2100)), "longer than 2083 bytes"},
		"no resource":         {"referencePath: [{name: a}]", "resource.name is missing"},
		"path no list":        {"{resource: {name: a}, referencePath: a}", "referencePath must be a list"},
		"a text":              {"blueprint", "must be a cd:// URI or an object"},
		"a number":            {7.0, "must be a text or an object, not a number"},
		"number as name":      {map[string]any{"resource": map[string]any{"name": 7}}, "resource.name must be a text"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := component.ParseReference(test.reference)
			assert.ErrorContains(t, err, test.want)
		})
	}
}

func TestParseReferenceLeavesItsInputAlone(t *testing.T) {
	given := map[string]any{"resource": map[string]any{"name": "a"}}
	_, err := component.ParseReference(given)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"resource": map[string]any{"name": "a"}}, given)
}
