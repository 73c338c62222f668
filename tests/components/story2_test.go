// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// author is a person who publishes from a directory with our command line.
type author struct {
	*scene
	binary, dir string
}

func (s *scene) author() *author {
	s.T.Helper()
	binary, err := binaries.BuildCLI(s.Ctx)
	require.NoError(s.T, err)
	return &author{s, binary, s.T.TempDir()}
}

// write replaces a file of the author.
func (a *author) write(name, content string) {
	a.T.Helper()
	file := filepath.Join(a.dir, name)
	require.NoError(a.T, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(a.T, os.WriteFile(file, []byte(content), 0o600))
}

// run runs the command line in the directory of the author and returns what it printed.
func (a *author) run(args ...string) string {
	a.T.Helper()
	cmd := exec.CommandContext(a.Ctx, a.binary, args...)
	cmd.Dir, cmd.Env = a.dir, []string{"HOME=" + a.dir, "TMPDIR=" + a.T.TempDir()}
	out, err := cmd.CombinedOutput()
	require.NoError(a.T, err, "%v: %s", args, out)
	return string(out)
}

// exporting is a blueprint that exports as "mark" what a template gives.
func exporting(template string) string {
	return document(object{
		"exports":          list{object{"name": "mark", "type": "data", "schema": object{"type": "string"}}},
		"deployExecutions": goTemplate(mockTemplate(`{mark: ` + template + `}`)),
		"exportExecutions": goTemplate(`exports: {mark: {{ .values.deployitems.item.mark | quote }}}`),
	})
}

// users are the Installations that follow what is published.
type users struct {
	*scene
	names  []string
	source *sourcev1.OCIRepository
	jobs   map[string]string
}

// rolled waits until each user has run one more job, with a version of the source, and exports the mark.
func (u *users) rolled(version, mark string) {
	u.T.Helper()
	for _, name := range u.names {
		done := u.Ran(name, u.jobs[name], v1alpha1.PhaseSucceeded)
		u.jobs[name] = done.Status.JobID
		require.Len(u.T, done.Status.Sources, 1)
		assert.True(u.T, strings.HasPrefix(done.Status.Sources[0].Revision, version+"@sha256:"), done.Status.Sources)
		assert.Equal(u.T, `"`+mark+`"`, u.value(name))
	}
}

// downloads counts how often each blob of a repository was downloaded.
func (s *scene) downloads(repository string) map[string]int {
	counts := map[string]int{}
	for _, request := range s.Registry.Requests(time.Time{}) {
		if request.Repository == repository && request.Kind == "blobs" && request.Method == http.MethodGet && request.Code == http.StatusOK {
			counts[request.Reference]++
		}
	}
	return counts
}

// awaitSuccesses waits until events tell so many successes of each Installation.
func (s *scene) awaitSuccesses(count int, names ...string) {
	s.AwaitEvents(count, fluxmeta.ReconciliationSucceededReason, names...)
}

func TestStory2BlueprintsArePublishedAndRollForwardOnce(t *testing.T) {
	s := newScene(t)
	a := s.author()
	push := func(version string) {
		a.write("blueprint/blueprint.yaml", exporting(version))
		out := a.run("blueprint", "push", s.Registry.URL(s.Namespace+"/shop")+":"+version, "-f", "blueprint", "--source", "https://example.com/shop", "--revision", version+"@sha1:0123456789abcdef")
		assert.Contains(t, out, s.Registry.URL(s.Namespace+"/shop")+"@sha256:")
	}
	push("1.0.0")
	u := &users{scene: s, names: []string{"one", "two", "three"}, jobs: map[string]string{}, source: &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: sourcev1.OCIRepositorySpec{
			URL: s.Registry.URL(s.Namespace + "/shop"), Insecure: true, Interval: metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.OCIRepositoryRef{SemVer: "1.x"},
		},
	}}
	s.addSource(u.source)
	for _, name := range u.names {
		s.install(name, object{
			"blueprint": object{"sourceRef": object{"kind": "OCIRepository", "name": "shop"}},
			"exports":   object{"data": list{object{"name": "mark", "dataRef": name}}},
		})
	}
	u.rolled("1.0.0", "1.0.0")

	push("1.1.0")
	s.Refresh(u.source)
	u.rolled("1.1.0", "1.1.0")

	// "flux push artifact" writes the same media types.
	_, err := s.Registry.PushFluxArtifact(s.Ctx, s.Namespace+"/shop", "1.2.0", servers.Files(map[string]string{"blueprint.yaml": exporting("pushed by flux")}))
	require.NoError(t, err)
	s.Refresh(u.source)
	u.rolled("1.2.0", "pushed by flux")
	one := s.succeeded("one")
	assert.Equal(t, one.Status.Sources[0].Revision, one.Status.LastAppliedRevision)
	assert.Len(t, one.Status.History, 3, "one entry for each content")

	s.awaitSuccesses(3, u.names...)
	quiet := time.Now()
	push("2.0.0")
	s.Refresh(u.source)
	s.RequireNoWrites(quiet)
	s.RequireJobs(3, u.names...)
	downloads := s.downloads(s.Namespace + "/shop")
	require.GreaterOrEqual(t, len(downloads), 3)
	for digest, count := range downloads {
		assert.Equal(t, 1, count, "downloads of %s", digest)
	}
}

const constructor = `
components:
- name: example.com/shop
  version: ${VERSION}
  provider: {name: example.com}
  resources:
  - name: blueprint
    type: landscaper.gardener.cloud/blueprint
    input: {type: dir, path: ./blueprint, compress: true, mediaType: application/vnd.gardener.landscaper.blueprint.v1+tar+gzip}
  - name: note
    type: plainText
    input: {type: file, path: ./note.txt, mediaType: text/plain}
`

func TestStory2ComponentsArePublishedAndRollForwardOnce(t *testing.T) {
	s := newScene(t)
	a := s.author()
	a.write("component-constructor.yaml", constructor)
	push := func(version string) {
		a.write("blueprint/blueprint.yaml", exporting(`{{ getResourceContent "cd://resources/note" }}`))
		a.write("blueprint/version.txt", version)
		a.write("note.txt", "note of "+version)
		out := a.run("component", "push", "-f", "component-constructor.yaml", "--repository", s.Registry.URL(s.base()), "VERSION="+version)
		assert.Contains(t, out, "component-descriptors/example.com/shop:"+version+"@sha256:")
	}
	push("1.0.0")
	u := &users{scene: s, names: []string{"one", "two", "three"}, jobs: map[string]string{}, source: s.follow("shop", "example.com/shop", "1.x")}
	for _, name := range u.names {
		s.install(name, fromSource("shop", name))
	}
	u.rolled("1.0.0", "note of 1.0.0")
	push("1.1.0")
	s.Refresh(u.source)
	u.rolled("1.1.0", "note of 1.1.0")

	s.awaitSuccesses(2, u.names...)
	quiet := time.Now()
	push("2.0.0")
	s.Refresh(u.source)
	s.RequireNoWrites(quiet)
	s.RequireJobs(2, u.names...)
	s.requireDownloads(s.base()+"/component-descriptors/example.com/shop", "1.0.0", "1.1.0")
}

// requireDownloads checks that each blob of component versions was downloaded once, and the descriptor once by Flux and once by us.
func (s *scene) requireDownloads(repository string, versions ...string) {
	s.T.Helper()
	downloads := s.downloads(repository)
	for _, version := range versions {
		layers := s.manifest(repository, version).Layers
		require.Len(s.T, layers, 3, "descriptor, blueprint and note")
		for _, layer := range layers {
			want := 1
			if layer.MediaType == component.MediaTypeDescriptorTar {
				want = 2
			}
			assert.Equal(s.T, want, downloads[layer.Digest.String()], "downloads of %s of version %s", layer.MediaType, version)
		}
	}
}

// manifest reads a manifest from the registry.
func (s *scene) manifest(repository, tag string) *ocispec.Manifest {
	s.T.Helper()
	request, err := http.NewRequestWithContext(s.Ctx, http.MethodGet, "http://"+s.Registry.Host+"/v2/"+repository+"/manifests/"+tag, nil)
	require.NoError(s.T, err)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(s.T, err)
	defer func() { _ = answer.Body.Close() }()
	manifest := &ocispec.Manifest{}
	require.NoError(s.T, json.NewDecoder(answer.Body).Decode(manifest))
	return manifest
}
