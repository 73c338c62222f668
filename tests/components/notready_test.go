// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/opencontainers/go-digest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
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

func TestStatusRepeatsWhatAnUnreadySourceSays(t *testing.T) {
	s := newScene(t)
	s.addSource(&sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Name: "closed"}, Spec: sourcev1.OCIRepositorySpec{
		URL: "oci://127.0.0.1:1/closed", Insecure: true, Interval: metav1.Duration{Duration: time.Hour},
	}})
	s.install("root", fromSource("closed", "root"))
	s.says("root", "spec.componentDescriptor.sourceRef: sourceRef OCIRepository "+s.Namespace+"/closed", "connection refused")
}

// bare is a second cluster with our controller but without Flux.
func (s *scene) bare() *platform.Cluster {
	s.T.Helper()
	cluster, err := s.SecondCluster(s.Ctx, s.Namespace, platform.Options{
		LandscaperCRDs: true, AddToScheme: []func(*runtime.Scheme) error{v1alpha1.AddToScheme},
	})
	require.NoError(s.T, err)
	require.NoError(s.T, cluster.Apply(s.Ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}))
	landscape.Run(s.Ctx, s.T, cluster, landscape.Controller, landscape.AllRights, "controller")
	return cluster
}

func TestKindsThatAreNotServedAreNamed(t *testing.T) {
	s := newScene(t)
	cluster := s.bare()
	for name, spec := range map[string]v1alpha1.InstallationSpec{
		"component": {
			ComponentDescriptor: &v1alpha1.ComponentDescriptorDefinition{SourceReference: &v1alpha1.SourceReference{Kind: "ExternalArtifact", Name: "absent"}},
			Blueprint:           v1alpha1.BlueprintDefinition{Reference: &v1alpha1.BlueprintReference{ResourceName: "blueprint"}},
		},
		"blueprint": {Blueprint: v1alpha1.BlueprintDefinition{SourceReference: &v1alpha1.SourceReference{Kind: "ExternalArtifact", Name: "absent"}}},
	} {
		inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: s.Namespace, Annotations: map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"},
		}, Spec: spec}
		require.NoError(t, cluster.Client().Create(s.Ctx, inst))
		failed := &v1alpha1.Installation{ObjectMeta: s.Named(name)}
		require.NoError(t, cluster.Await(s.Ctx, failed, func() bool { return failed.Status.Phase == v1alpha1.PhaseFailed }))
		require.NotNil(t, failed.Status.LastError)
		assert.Equal(t, "SourceKindNotInstalled", failed.Status.LastError.Reason)
		for _, part := range []string{"ExternalArtifact " + s.Namespace + "/absent", "the cluster does not serve this kind"} {
			assert.Contains(t, failed.Status.LastError.Message, part)
		}
	}
}
