// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"maps"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// monorepo is a Git repository that holds components beside other things.
type monorepo struct {
	*scene
	repo   *servers.GitRepo
	source *sourcev1.GitRepository
	// held are the files of the last commit.
	held map[string][]byte
}

func (s *scene) monorepo() *monorepo {
	s.T.Helper()
	repo, err := s.Git.CreateRepository(s.Ctx, s.Namespace+"/mono")
	require.NoError(s.T, err)
	return &monorepo{scene: s, repo: repo, held: map[string][]byte{}}
}

// replace commits a state of a folder and waits until Flux has its revision.
func (m *monorepo) replace(folder string, files map[string]string) {
	m.T.Helper()
	change := map[string][]byte{}
	for name := range m.held {
		if len(name) > len(folder) && name[:len(folder)+1] == folder+"/" {
			change[name] = nil
		}
	}
	for name, text := range below(folder, files) {
		change[name] = []byte(text)
	}
	revision, err := m.repo.Commit(m.Ctx, "Change "+folder, change)
	require.NoError(m.T, err)
	maps.Copy(m.held, change)
	maps.DeleteFunc(m.held, func(_ string, content []byte) bool { return content == nil })
	if m.source == nil {
		m.source = &sourcev1.GitRepository{ObjectMeta: metav1.ObjectMeta{Name: "mono"}, Spec: sourcev1.GitRepositorySpec{
			URL: m.repo.CloneURL, Interval: metav1.Duration{Duration: time.Hour}, Reference: &sourcev1.GitRepositoryRef{Branch: "main"},
		}}
		m.addSource(m.source)
	} else {
		require.NoError(m.T, m.Client().Get(m.Ctx, client.ObjectKeyFromObject(m.source), m.source))
		m.Annotate(m.source, "reconcile.fluxcd.io/requestedAt", revision)
	}
	require.NoError(m.T, m.Await(m.Ctx, m.source, func() bool {
		return m.source.Status.Artifact != nil && m.source.Status.Artifact.Revision == revision
	}))
}

// files are a component version in an archive or CTF.
func (m *monorepo) files(mark string, write func(component.Sink, component.Version) error) map[string]string {
	m.T.Helper()
	written := fileSink{}
	require.NoError(m.T, write(written, m.version(marked("example.com/root", "1.0.0", mark, "", ""))))
	return written
}

func asArchiveFiles(sink component.Sink, v component.Version) error {
	return component.WriteArchive(sink, v, component.SchemaV2)
}

func asCTFFiles(sink component.Sink, v component.Version) error {
	return component.WriteCTF(sink, []component.Version{v}, component.SchemaV2)
}

func TestRevisionsWithoutChangesOfTheComponentStartNoJob(t *testing.T) {
	s := newScene(t)
	m := s.monorepo()
	m.replace("archive", m.files("one", asArchiveFiles))
	m.replace("ctf", m.files("one", asCTFFiles))
	paths := map[string]string{"directory": "archive", "descriptor": "./archive/component-descriptor.yaml", "ctf": "ctf"}
	jobs := map[string]string{}
	for name, path := range paths {
		s.install(name, object{
			"componentDescriptor": object{"sourceRef": object{"kind": "GitRepository", "name": "mono"}, "path": path},
			"blueprint":           object{"ref": object{"resourceName": "blueprint"}},
			"exports":             object{"data": list{object{"name": "mark", "dataRef": name}}},
		})
	}
	for name := range paths {
		done := s.succeeded(name)
		jobs[name] = done.Status.JobID
		require.Len(t, done.Status.Sources, 1)
		assert.NotEmpty(t, done.Status.Sources[0].ContentDigest)
	}
	m.replace("docs", map[string]string{"readme.md": "nothing that anybody uses"})
	m.replace("ctf", m.files("two", asCTFFiles))
	s.Ran("ctf", jobs["ctf"], v1alpha1.PhaseSucceeded)
	assert.Equal(t, `"two"`, s.value("ctf"))
	s.RequireJobs(1, "directory", "descriptor")
	s.RequireJobs(2, "ctf")
	assert.Equal(t, `"one"`, s.value("directory"))

	m.replace("archive", m.files("two", asArchiveFiles))
	for _, name := range []string{"directory", "descriptor"} {
		s.Ran(name, jobs[name], v1alpha1.PhaseSucceeded)
		assert.Equal(t, `"two"`, s.value(name))
	}
	s.RequireJobs(2, "directory", "descriptor", "ctf")
}
