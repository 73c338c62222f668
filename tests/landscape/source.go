// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Refresh asks Flux to look at a source now and waits until it did.
func (s *Scene) Refresh(source client.Object) {
	s.T.Helper()
	now := time.Now().Format(time.RFC3339Nano)
	s.Annotate(source, meta.ReconcileRequestAnnotation, now)
	require.NoError(s.T, s.Await(s.Ctx, source, func() bool {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(source)
		require.NoError(s.T, err)
		handled, _, _ := unstructured.NestedString(content, "status", "lastHandledReconcileAt")
		return handled == now
	}))
}

// Offer makes an ExternalArtifact of revision v1 with a digest, as a controller that makes such artifacts does. The handler serves its content.
func (s *Scene) Offer(name, digest string, size int, serve http.HandlerFunc) *sourcev1.ExternalArtifact {
	s.T.Helper()
	server := httptest.NewServer(serve)
	s.T.Cleanup(server.Close)
	source := &sourcev1.ExternalArtifact{ObjectMeta: s.Named(name)}
	require.NoError(s.T, s.Client().Create(s.Ctx, source))
	source.Status.Artifact = &meta.Artifact{URL: server.URL + "/" + name + ".tar.gz", Path: name + ".tar.gz"}
	source.Status.Conditions = []metav1.Condition{{
		Type: meta.ReadyCondition, Status: metav1.ConditionTrue, Reason: meta.SucceededReason, LastTransitionTime: metav1.Now(),
	}}
	s.Publish(source, "v1", digest, size)
	return source
}

// Publish gives an ExternalArtifact another revision.
func (s *Scene) Publish(source *sourcev1.ExternalArtifact, revision, digest string, size int) {
	s.T.Helper()
	bytes := int64(size)
	artifact := source.Status.Artifact
	artifact.Revision, artifact.Digest, artifact.Size, artifact.LastUpdateTime = revision, digest, &bytes, metav1.Now()
	require.NoError(s.T, s.Client().Status().Update(s.Ctx, source))
}
