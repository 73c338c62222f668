// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"testing"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
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

func TestComponentOfAnUnreadySourceIsWaitedFor(t *testing.T) {
	s := newScene(t)
	s.install("root", fromSource("root", "root"))
	named := "spec.componentDescriptor.sourceRef: sourceRef OCIRepository " + s.Namespace + "/root"
	s.says("root", named+": it does not exist")
	source := s.follow("root", "example.com/root", "1.x")
	s.says("root", named, "NAME_UNKNOWN")
	s.publish(marked("example.com/sub", "1.0.0", "sub1", "", ""), marked("example.com/root", "1.0.0", "root1", "example.com/sub", "1.0.0"))
	s.Refresh(source)
	first := s.succeeded("root")
	assert.Equal(t, `"root1sub1"`, s.value("root"))
	s.RequireJobs(1, "root")

	t.Log("a new version refers to another one")
	s.publish(marked("example.com/sub", "2.0.0", "sub2", "", ""), marked("example.com/root", "1.1.0", "root2", "example.com/sub", "2.0.0"))
	s.Refresh(source)
	s.Ran("root", first.Status.JobID, v1alpha1.PhaseSucceeded)
	assert.Equal(t, `"root2sub2"`, s.value("root"))
	s.RequireJobs(2, "root")
}

// TestC11ARestartedControllerResolvesTheSignedComponentAgain runs alone: it kills the controller that all tests share.
func TestC11ARestartedControllerResolvesTheSignedComponentAgain(t *testing.T) {
	s := &scene{landscape.NewScene(t)}
	key, public := newKey(t)
	s.publishSigned(key, marked("example.com/root", "1.0.0", "root", "example.com/sub", "1.0.0"), marked("example.com/sub", "1.0.0", "sub", "", ""))
	s.trust(public)
	s.install("root", signed("blueprint"))
	require.Eventually(t, func() bool { return s.Child("root", "below") != nil }, landscape.Patience, tick)
	require.NoError(t, s.Processes[landscape.Controller].Kill9())
	require.NoError(t, s.Processes[landscape.Controller].Restart())
	done := s.succeeded("root")
	assert.Equal(t, `"rootsub"`, s.value("mark"))
	s.RequireJobs(1, "root")
	verified := conditions.Get(done, v1alpha1.ComponentVerifiedCondition)
	require.NotNil(t, verified)
	assert.Equal(t, "SignatureVerified", verified.Reason)
	assert.Contains(t, verified.Message, `signature "release" of component example.com/root:1.0.0`)
	assert.Equal(t, "CoveredBySignature", conditions.GetReason(s.Child("root", "below"), v1alpha1.ComponentVerifiedCondition))
}
