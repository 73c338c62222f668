// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// follow makes an OCIRepository that follows the versions of a component.
func (s *scene) follow(name, of, versions string) *sourcev1.OCIRepository {
	s.T.Helper()
	source := &sourcev1.OCIRepository{
		ObjectMeta: s.Named(name),
		Spec: sourcev1.OCIRepositorySpec{
			URL: s.Registry.URL(s.base() + "/component-descriptors/" + of), Insecure: true, Interval: metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.OCIRepositoryRef{SemVer: versions},
			// The descriptor is the layer of this type, and no gzipped tar as Flux would expect.
			LayerSelector: &sourcev1.OCILayerSelector{MediaType: component.MediaTypeDescriptorTar, Operation: sourcev1.OCILayerCopy},
		},
	}
	require.NoError(s.T, s.Client().Create(s.Ctx, source))
	return source
}

// fromSource is the spec of an Installation of the component in an OCIRepository.
func fromSource(name, export string) object {
	return object{
		"componentDescriptor": object{"sourceRef": object{"kind": "OCIRepository", "name": name}},
		"blueprint":           object{"ref": object{"resourceName": "blueprint"}},
		"exports":             object{"data": list{object{"name": "mark", "dataRef": export}}},
	}
}

func TestNewVersionOfAComponentRollsItsInstallationsForwardOnce(t *testing.T) {
	s := newScene(t)
	s.publish(marked("example.com/root", "1.0.0", "root1", "example.com/sub", "1.0.0"), marked("example.com/sub", "1.0.0", "sub1", "", ""))
	source := s.follow("root", "example.com/root", "1.x")
	names := []string{"one", "two"}
	for _, name := range names {
		s.install(name, fromSource("root", name))
	}
	jobs := map[string]string{}
	for _, name := range names {
		done := s.succeeded(name)
		jobs[name] = done.Status.JobID
		assert.Equal(t, `"root1sub1"`, s.value(name))
		require.Len(t, done.Status.Sources, 1)
		assert.True(t, strings.HasPrefix(done.Status.Sources[0].Revision, "1.0.0@sha256:"), done.Status.Sources)
	}

	s.publish(marked("example.com/sub", "2.0.0", "sub2", "", ""), marked("example.com/root", "1.1.0", "root2", "example.com/sub", "2.0.0"))
	s.Refresh(source)
	for _, name := range names {
		done := s.Ran(name, jobs[name], v1alpha1.PhaseSucceeded)
		assert.True(t, strings.HasPrefix(done.Status.Sources[0].Revision, "1.1.0@sha256:"), done.Status.Sources)
		assert.Equal(t, `"root2sub2"`, s.value(name))
	}
	s.awaitSuccesses(2, names...)
	quiet := time.Now()
	s.publish(marked("example.com/root", "2.0.0", "outside", "", ""))
	s.Refresh(source)
	s.RequireNoWrites(quiet)
	s.RequireJobs(2, names...)
}

func TestComponentOfAnUnreadySourceIsWaitedFor(t *testing.T) {
	s := newScene(t)
	s.install("root", fromSource("root", "root"))
	waits := func(what string) {
		s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
			return strings.Contains(conditions.GetMessage(inst, meta.ReadyCondition), what)
		})
	}
	waits("spec.componentDescriptor.sourceRef: sourceRef OCIRepository " + s.Namespace + "/root: it does not exist")
	source := s.follow("root", "example.com/root", "1.x")
	waits("NAME_UNKNOWN")
	s.publish(marked("example.com/root", "1.0.0", "root", "", ""))
	s.Refresh(source)
	s.succeeded("root")
	s.RequireJobs(1, "root")
}

func TestSourcesThatFluxHasNotVerifiedAreRefusedWhereTheContextRequiresIt(t *testing.T) {
	s := newScene(t)
	s.useRegistry(object{"requireVerifiedSources": true})
	s.publish(marked("example.com/root", "1.0.0", "root", "", ""))
	s.follow("root", "example.com/root", "1.x")
	s.install("component", fromSource("root", "component"))
	failure := s.failed("component")
	assert.Equal(t, "SourceNotVerified", failure.Reason)
	assert.Contains(t, failure.Message, "spec.componentDescriptor.sourceRef: sourceRef OCIRepository "+s.Namespace+"/root")
	assert.Contains(t, failure.Message, "set spec.verify")

	_, err := s.Registry.PushFluxArtifact(s.Ctx, s.Namespace+"/blueprint", "1.0.0", servers.Files(map[string]string{"blueprint.yaml": document(object{})}))
	require.NoError(t, err)
	blueprint := &sourcev1.OCIRepository{
		ObjectMeta: s.Named("blueprint"),
		Spec: sourcev1.OCIRepositorySpec{
			URL: s.Registry.URL(s.Namespace + "/blueprint"), Insecure: true, Interval: metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.OCIRepositoryRef{Tag: "1.0.0"},
		},
	}
	require.NoError(t, s.Client().Create(s.Ctx, blueprint))
	s.install("blueprint", object{"blueprint": object{"sourceRef": object{"kind": "OCIRepository", "name": "blueprint"}}})
	assert.Equal(t, "SourceNotVerified", s.failed("blueprint").Reason)
}

// TestARestartedControllerResolvesTheComponentAgain runs alone: it kills the controller that all tests share.
func TestARestartedControllerResolvesTheComponentAgain(t *testing.T) {
	s := &scene{landscape.NewScene(t)}
	key, public := newKey(t)
	s.publishSigned(key, marked("example.com/root", "1.0.0", "root", "example.com/sub", "1.0.0"), marked("example.com/sub", "1.0.0", "sub", "", ""))
	s.trust(public)
	s.install("root", signed("blueprint"))
	require.Eventually(t, func() bool { return s.Child("root", "below") != nil }, landscape.Patience, tick)
	require.NoError(t, s.Processes[landscape.Controller].Kill9())
	require.NoError(t, s.Processes[landscape.Controller].Restart())
	s.succeeded("root")
	assert.Equal(t, `"rootsub"`, s.value("mark"))
	s.RequireJobs(1, "root")
}
