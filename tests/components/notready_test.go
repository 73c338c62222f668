// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// offer makes an ExternalArtifact of an archive. The server answers 404 while gone is set.
func (s *scene) offer(name string, content []byte, gone *atomic.Bool) {
	s.T.Helper()
	s.Offer(name, digest.FromBytes(content).String(), len(content), func(w http.ResponseWriter, r *http.Request) {
		if gone.Load() {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	})
}

func TestArtifactsThatAreGoneAreWaitedFor(t *testing.T) {
	s := newScene(t)
	written := fileSink{}
	blueprint := map[string]string{"blueprint.yaml": exporting("here")}
	version := s.version(build("example.com/root", "1.0.0").local("blueprint", blueprintType, blueprintMediaType, archive(blueprint)))
	require.NoError(t, component.WriteCTF(written, []component.Version{version}, component.SchemaV2))
	gone := &atomic.Bool{}
	gone.Store(true)
	s.offer("component", archive(written), gone)
	s.offer("blueprint", archive(blueprint), gone)
	ref := func(name string) object { return object{"kind": "ExternalArtifact", "name": name} }
	s.install("component", object{
		"componentDescriptor": object{"sourceRef": ref("component")}, "blueprint": object{"ref": object{"resourceName": "blueprint"}},
		"exports": object{"data": list{object{"name": "mark", "dataRef": "component"}}},
	})
	s.install("blueprint", object{
		"blueprint": object{"sourceRef": ref("blueprint")}, "exports": object{"data": list{object{"name": "mark", "dataRef": "blueprint"}}},
	})
	names := map[string]string{"component": "spec.componentDescriptor", "blueprint": "spec.blueprint.sourceRef"}
	for name, field := range names {
		s.says(name, field, "ExternalArtifact "+s.Namespace+"/"+name, "the server answers 404", "reconcile the source")
	}
	gone.Store(false)
	for name := range names {
		s.succeeded(name)
		assert.Equal(t, `"here"`, s.value(name))
	}
	s.RequireJobs(1, "component", "blueprint")
}
