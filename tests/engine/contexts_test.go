// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

const repository = `{"type":"OCIRegistry","baseUrl":"registry.example.com/components"}`

func defaultContext(namespace string) *v1alpha1.Context {
	return &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace}}
}

// holds reports whether a Context has the configured repository.
func holds(found *v1alpha1.Context) func() bool {
	return func() bool {
		return found.RepositoryContext != nil && strings.Contains(string(found.RepositoryContext.RawMessage), "registry.example.com") &&
			!strings.Contains(string(found.RepositoryContext.RawMessage), "added")
	}
}

// contextWrites returns what the controller wrote to Contexts.
func (s *site) contextWrites(user string, since time.Time) []platform.Request {
	s.t.Helper()
	requests, err := s.Requests(s.ctx, since)
	require.NoError(s.t, err)
	var writes []platform.Request
	for _, request := range requests {
		if request.User == user && request.Writes() && request.Resource == "contexts" {
			writes = append(writes, request)
		}
	}
	return writes
}

func TestC13DefaultContext(t *testing.T) {
	s := newSite(t)
	s.namespace("before")
	s.namespace("excluded")
	started := time.Now()
	s.controller("keeper", "--default-repository-context={type: OCIRegistry, baseUrl: registry.example.com/components}",
		"--default-context-excluded-namespaces=excluded,kube-system")

	t.Run("namespaces that exist and new ones get one", func(t *testing.T) {
		s.namespace("after")
		for _, namespace := range []string{"before", "after", metav1.NamespaceDefault} {
			found := defaultContext(namespace)
			s.until(found, holds(found))
			assert.JSONEq(t, repository, string(found.RepositoryContext.RawMessage))
		}
	})
	t.Run("manual changes are reverted and other fields are kept", func(t *testing.T) {
		found := defaultContext("after")
		for _, change := range []string{
			`{"repositoryContext":{"added":"x"},"registryPullSecrets":[{"name":"mine"}]}`, `{"repositoryContext":null}`,
		} {
			require.NoError(t, s.Client().Patch(s.ctx, found, client.RawPatch(types.MergePatchType, []byte(change))))
			s.until(found, holds(found))
			require.Len(t, found.RegistryPullSecrets, 1)
			assert.Equal(t, "mine", found.RegistryPullSecrets[0].Name)
		}
	})
	t.Run("a deleted one comes back", func(t *testing.T) {
		gone := defaultContext("after")
		require.NoError(t, s.Client().Get(s.ctx, client.ObjectKeyFromObject(gone), gone))
		require.NoError(t, s.Client().Delete(s.ctx, gone))
		found := defaultContext("after")
		s.until(found, func() bool { return found.UID != "" && found.UID != gone.UID })
	})
	t.Run("one that says so is left alone", func(t *testing.T) {
		found := defaultContext("before")
		change := `{"metadata":{"annotations":{"landscaper.gardener.cloud/ignore":"true"}},"repositoryContext":{"added":"x"}}`
		require.NoError(t, s.Client().Patch(s.ctx, found, client.RawPatch(types.MergePatchType, []byte(change))))
		s.namespace("later")
		later := defaultContext("later")
		s.until(later, holds(later))
		require.NoError(t, s.Client().Get(s.ctx, client.ObjectKeyFromObject(found), found))
		assert.Contains(t, string(found.RepositoryContext.RawMessage), "added")
	})
	t.Run("excluded namespaces are untouched", func(t *testing.T) {
		for _, write := range s.contextWrites("keeper", started) {
			assert.NotContains(t, []string{"excluded", "kube-system"}, write.Namespace)
		}
	})
	t.Run("nothing is created in a namespace that goes", func(t *testing.T) {
		going := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "after"}}
		require.NoError(t, s.Client().Delete(s.ctx, going))
		require.NoError(t, s.AwaitGone(s.ctx, going))
	})
}

func TestWithoutAFlagContextsAreLeftAlone(t *testing.T) {
	s := newSite(t)
	s.namespace("plain")
	started := time.Now()
	s.controller("plain")
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{
		Name: "runs", Namespace: "plain", Annotations: map[string]string{v1alpha1.ReconcileIfChangedAnnotation: "true"},
	}}
	blueprint := v1alpha1.NewAnyJSON([]byte(`{"blueprint.yaml":"{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Blueprint}"}`))
	inst.Spec.Blueprint.Inline = &v1alpha1.InlineBlueprint{Filesystem: blueprint}
	require.NoError(t, s.Client().Create(s.ctx, inst))
	s.until(inst, func() bool { return inst.Status.Phase == v1alpha1.PhaseSucceeded })
	assert.Empty(t, s.contextWrites("plain", started))
}
