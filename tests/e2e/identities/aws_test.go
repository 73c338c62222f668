// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package identities

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// account makes a ServiceAccount that names the role, and returns its subject.
func (s *scene) account(namespace string) string {
	s.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "puller", Annotations: map[string]string{"eks.amazonaws.com/role-arn": role},
	}}
	require.NoError(s.t, s.Client().Create(s.ctx, account))
	return "system:serviceaccount:" + namespace + ":puller"
}

// context makes the Context; identity may be nil.
func (s *scene) context(namespace string, identity map[string]any) {
	s.t.Helper()
	fields := map[string]any{"repositoryContext": map[string]any{"type": "OCIRegistry", "baseUrl": host + "/components"}}
	if identity != nil {
		fields["registryIdentity"] = identity
	}
	s.put("Context", namespace, "default", fields)
}

var byPuller = map[string]any{"provider": "aws", "serviceAccountName": "puller"}

// deploy applies an Installation that exports the text of the component.
func (s *scene) deploy(namespace, name string) {
	s.t.Helper()
	const blueprint = `{apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Blueprint, exports: [{name: text, type: data, schema: {type: string}}],
  exportExecutions: [{name: e, type: GoTemplate, template: 'exports: {text: {{ getResourceContent "cd://resources/text" }}}'}]}`
	s.put("Installation", namespace, name, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{v1alpha1.ReconcileIfChangedAnnotation: "true"}},
		"spec": map[string]any{
			"componentDescriptor": map[string]any{"ref": map[string]any{"componentName": "example.com/shop", "version": "1.0.0"}},
			"blueprint":           map[string]any{"inline": map[string]any{"filesystem": map[string]any{"blueprint.yaml": blueprint}}},
			"exports":             map[string]any{"data": []any{map[string]any{"name": "text", "dataRef": name}}},
		},
	})
}

// succeeded waits until an Installation has exported the text.
func (s *scene) succeeded(namespace, name, text string) {
	s.t.Helper()
	s.await(namespace, name, func(inst *v1alpha1.Installation) bool {
		return inst.Status.Phase == v1alpha1.PhaseSucceeded && inst.Status.IsIdle()
	})
	data := &v1alpha1.DataObject{}
	require.NoError(s.t, s.Client().Get(s.ctx, client.ObjectKey{Namespace: namespace, Name: name}, data))
	assert.Equal(s.t, `"`+text+`"`, string(data.Data.RawMessage))
}

// says waits until an Installation that has not succeeded says all of the parts.
func (s *scene) says(namespace, name string, parts ...string) *v1alpha1.Installation {
	s.t.Helper()
	return s.await(namespace, name, func(inst *v1alpha1.Installation) bool {
		message := conditions.GetMessage(inst, meta.ReadyCondition)
		for _, part := range parts {
			if !strings.Contains(message, part) {
				return false
			}
		}
		return inst.Status.Phase != v1alpha1.PhaseSucceeded
	})
}

func TestComponentsOfARegistryOfAWS(t *testing.T) {
	s := newScene(t)
	s.publish("example.com/shop", "hello")
	shop := s.Namespace(t)
	s.aws.Trust(role, s.account(shop))
	s.context(shop, byPuller)
	s.deploy(shop, "first")
	s.succeeded(shop, "first", "hello")
	downloads := s.registry.Count(http.MethodGet, "blobs")
	require.Positive(t, downloads)

	s.aws.Rotate(-time.Second)
	s.restart()
	asked := len(s.registry.Requests())
	s.deploy(shop, "second")
	s.succeeded(shop, "second", "hello")
	require.Greater(t, len(s.registry.Requests()), asked)
	assert.Equal(t, downloads, s.registry.Count(http.MethodGet, "blobs"), "another login of the same identity keeps what is cached")

	t.Run("a Context without identity is refused", func(t *testing.T) {
		other := s.Namespace(t)
		s.context(other, nil)
		s.deploy(other, "shop")
		failed := s.says(other, "shop", "add a login for this host")
		assert.Equal(t, "Unauthorized", failed.Status.LastError.Reason)
	})
	t.Run("an identity of the controller is for nobody", func(t *testing.T) {
		other := s.Namespace(t)
		s.context(other, map[string]any{"provider": "aws"})
		s.deploy(other, "shop")
		s.says(other, "shop", "registryIdentity: it names no ServiceAccount", "--registry-controller-identity")
	})
	t.Run("a ServiceAccount that is missing is waited for, and one whom the cloud does not know is refused", func(t *testing.T) {
		other := s.Namespace(t)
		s.context(other, byPuller)
		s.deploy(other, "shop")
		s.says(other, "shop", "registryIdentity: ServiceAccount "+other+"/puller not found")
		subject := s.account(other)
		s.says(other, "shop", "log in as ServiceAccount "+other+"/puller at aws", subject+" may not assume the role", "with <token>")
		s.aws.Trust(role, subject)
		s.succeeded(other, "shop", "hello")
	})
	t.Run("an identity that is withdrawn loses what is cached", func(t *testing.T) {
		s.aws.Trust(role, "")
		s.aws.Rotate(-time.Second)
		s.restart()
		s.deploy(shop, "third")
		s.says(shop, "third", "AccessDenied")
	})
	log, err := os.ReadFile(s.log)
	require.NoError(t, err)
	for _, secret := range []string{"eyJ", s.aws.Password()} {
		assert.False(t, strings.Contains(string(log), secret), "the log shows a token or password")
	}
}
