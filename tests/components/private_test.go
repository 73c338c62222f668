// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

// TestOnlyTheStorageOfFluxMayBePrivate runs alone: it replaces the controller that all tests share by one with --no-private-networks. Whatever a tenant writes
// into the status of a source, he learns nothing of private servers, and what Flux itself offers is used.
func TestOnlyTheStorageOfFluxMayBePrivate(t *testing.T) {
	s := &scene{landscape.NewScene(t)}
	_, err := s.Registry.PushFluxArtifact(s.Ctx, s.Namespace+"/blueprint", "1.0.0", servers.Files(map[string]string{"blueprint.yaml": document(object{})}))
	require.NoError(t, err)
	source := &sourcev1.OCIRepository{ObjectMeta: s.Named("blueprint"), Spec: sourcev1.OCIRepositorySpec{
		URL: s.Registry.URL(s.Namespace + "/blueprint"), Insecure: true, Interval: metav1.Duration{Duration: time.Hour},
		Reference: &sourcev1.OCIRepositoryRef{Tag: "1.0.0"},
	}}
	require.NoError(t, s.Client().Create(s.Ctx, source))
	require.NoError(t, s.Await(s.Ctx, source, func() bool { return source.Status.Artifact != nil }))
	storage, err := url.Parse(source.Status.Artifact.URL)
	require.NoError(t, err)
	s.controllerWith("--no-private-networks", "--artifact-hosts="+storage.Host)
	var asked atomic.Int32
	s.Offer("evil", "sha256:"+strings.Repeat("0", 64), 1, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, "private", http.StatusTeapot)
	})

	s.install("own", object{"blueprint": object{"sourceRef": object{"kind": "OCIRepository", "name": "blueprint"}}})
	s.install("evil", object{"blueprint": object{"sourceRef": object{"kind": "ExternalArtifact", "name": "evil"}}})

	s.succeeded("own")
	s.AwaitState("evil", func(inst *v1alpha1.Installation) bool {
		return strings.Contains(conditions.GetMessage(inst, meta.ReadyCondition)+conditions.GetMessage(inst, meta.ReconcilingCondition),
			"its server has no public address and is none of --artifact-hosts")
	})
	assert.Zero(t, asked.Load(), "private servers are not asked")
}
