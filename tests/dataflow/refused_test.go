// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

const password = "open sesame"

// login writes the pull secret of the default Context.
func (s *scene) login(private *registry.Registry, password string) {
	s.T.Helper()
	auths, err := json.Marshal(object{"auths": object{private.Host: object{"username": "reader", "password": password}}})
	require.NoError(s.T, err)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "pull", Namespace: s.Namespace},
		Data:       map[string][]byte{corev1.DockerConfigJsonKey: auths},
	}
	require.NoError(s.T, s.Apply(s.Ctx, secret))
	s.Put("Context", "default", object{"registryPullSecrets": list{object{"name": "pull"}}})
}

// reading is the spec of a root of which only a sub-installation of a sub-installation reads something from a registry.
func reading(t *testing.T, private *registry.Registry) object {
	text, _ := private.Push(t, "texts/hello", "1.0.0", registry.Layer{MediaType: "text/plain", Content: "hello"})
	resource := object{
		"name": "text", "type": "plainText", "version": "1.0.0", "relation": "external",
		"access": object{"type": "ociArtifact", "imageReference": "http://" + text},
	}
	reader := object{"name": "reader", "blueprint": inTemplate(object{
		"deployExecutions": goTemplate("deployItems:\n" + mockItem("item", `{text: {{ getResourceContent "cd://resources/text" }}}`)),
	})}
	middle := object{"name": "middle", "blueprint": inTemplate(object{"subinstallations": list{reader}})}
	return object{
		"componentDescriptor": object{"inline": object{"meta": object{"schemaVersion": "v2"}, "component": object{
			"name": "example.com/root", "version": "1.0.0", "provider": "example.com", "sources": list{}, "componentReferences": list{},
			"repositoryContexts": list{object{"type": "OCIRegistry", "baseUrl": "registry.example.com"}}, "resources": list{resource},
		}}},
		"blueprint": inline(object{"subinstallations": list{middle}}),
	}
}

func privateRegistry(t *testing.T) *registry.Registry {
	return registry.Start(t, registry.Options{Users: []registry.User{{Name: "reader", Password: password}}})
}

// requireRefused fails unless an Installation failed because a registry refused a sub-installation.
func (s *scene) requireRefused(failure *v1alpha1.Error) {
	s.T.Helper()
	require.Equal(s.T, "ChildrenFailed", failure.Reason)
	require.Contains(s.T, failure.Message, "correct the login for this host")
}

func TestC12CorrectedLoginsOfSubinstallationsStartTheirRootAgain(t *testing.T) {
	s := newScene(t)
	private := privateRegistry(t)
	s.login(private, "open barley")
	s.install("follows", reading(t, private))
	s.installWith("asks", reading(t, private), object{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile})
	s.requireRefused(s.failed("follows"))
	s.requireRefused(s.failed("asks"))

	former := s.Installation("follows")
	require.NoError(t, s.Client().Get(s.Ctx, s.key("follows"), former))
	s.login(private, "still wrong")
	again := s.Ran("follows", former.Status.JobID, v1alpha1.PhaseFailed)
	s.requireRefused(again.Status.LastError)
	s.login(private, password)
	s.Ran("follows", again.Status.JobID, v1alpha1.PhaseSucceeded)
	s.RequireJobs(3, "follows")
	s.RequireJobs(1, "asks")
	s.reconcile("asks")
	s.succeeded("asks")
}

// TestC12ARestartForgetsNoRefusedSubinstallation runs alone: it kills the controller that all tests share.
func TestC12ARestartForgetsNoRefusedSubinstallation(t *testing.T) {
	s := &scene{landscape.NewScene(t)}
	private := privateRegistry(t)
	s.login(private, "open barley")
	s.install("one", reading(t, private))
	s.requireRefused(s.failed("one"))
	require.NoError(t, s.Processes[landscape.Controller].Kill9())
	s.login(private, password)
	require.NoError(t, s.Processes[landscape.Controller].Restart())
	s.succeeded("one")
	assert.Nil(t, s.Child("one", "middle").Status.LastError)
	s.RequireJobs(2, "one")
}
