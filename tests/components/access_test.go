// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"encoding/json"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// loginTo is a pull secret for the user "reader".
func loginTo(private *registry.Registry, password string) string {
	login, err := json.Marshal(object{"auths": object{private.Host: object{"username": "reader", "password": password}}})
	if err != nil {
		panic(err)
	}
	return string(login)
}

// login replaces a pull secret.
func (s *scene) login(name string, private *registry.Registry, password string) {
	s.T.Helper()
	secret := &corev1.Secret{
		ObjectMeta: s.Named(name),
		StringData: map[string]string{".dockerconfigjson": loginTo(private, password)},
	}
	require.NoError(s.T, s.Client().Update(s.Ctx, secret))
}

// locked makes a private registry with a component and a Context whose login for it is wrong.
func (s *scene) locked() *registry.Registry {
	s.T.Helper()
	private := registry.Start(s.T, registry.Options{Users: []registry.User{{Name: "reader", Password: "open sesame"}}})
	s.pushInto(private, marked("example.com/root", "1.0.0", "root", "", ""))
	s.secret("pull", map[string]string{".dockerconfigjson": loginTo(private, "open barley")})
	s.Put("Context", "default", object{
		"repositoryContext":   object{"type": "OCIRegistry", "baseUrl": private.URL()},
		"registryPullSecrets": list{object{"name": "pull"}},
	})
	return private
}

// refused waits until an Installation has failed because a registry refused its login.
func (s *scene) refused(name string) *v1alpha1.Installation {
	s.T.Helper()
	inst := s.Ended(name, v1alpha1.PhaseFailed)
	require.Equal(s.T, "Unauthorized", inst.Status.LastError.Reason, inst.Status.LastError.Message)
	require.Contains(s.T, inst.Status.LastError.Message, "correct the login for this host")
	return inst
}

func TestC12CorrectedLoginsStartTheFailedJobAgain(t *testing.T) {
	s := newScene(t)
	private := s.locked()
	s.installMarked("follows")
	spec := of("example.com/root", "1.0.0", "blueprint", nil)
	s.Put("Installation", "asks", object{"metadata": object{"annotations": object{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile}}, "spec": spec})
	former := s.refused("follows").Status.JobID
	asks := s.refused("asks")
	assert.Contains(t, conditions.GetMessage(asks, meta.ReadyCondition), "then annotate the installation with landscaper.gardener.cloud/operation=reconcile")

	s.login("pull", private, "still wrong")
	former = s.Ran("follows", former, v1alpha1.PhaseFailed).Status.JobID
	s.refused("follows")
	s.login("pull", private, "open sesame")
	s.Ran("follows", former, v1alpha1.PhaseSucceeded)
	assert.Equal(t, `"root"`, s.value("follows"))
	s.RequireJobs(3, "follows")
	s.RequireJobs(1, "asks")
	s.Annotate(s.Installation("asks"), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	s.succeeded("asks")
	s.RequireJobs(2, "asks")
}

func TestC12ACorrectedContextStartsTheFailedJobAgain(t *testing.T) {
	s := newScene(t)
	private := s.locked()
	s.installMarked("one")
	former := s.refused("one").Status.JobID
	s.secret("other", map[string]string{".dockerconfigjson": loginTo(private, "open sesame")})
	s.Put("Context", "default", object{
		"repositoryContext":   object{"type": "OCIRegistry", "baseUrl": private.URL()},
		"registryPullSecrets": list{object{"name": "other"}},
	})
	s.Ran("one", former, v1alpha1.PhaseSucceeded)
	s.RequireJobs(2, "one")
}

func TestC12LoginsOfResourcesStartTheFailedJobAgain(t *testing.T) {
	s := newScene(t)
	private := registry.Start(t, registry.Options{Users: []registry.User{{Name: "reader", Password: "open sesame"}}})
	text, _ := private.Push(t, "texts/hello", "1.0.0", registry.Layer{MediaType: "text/plain", Content: "hello"})
	s.publish(build("example.com/root", "1.0.0").
		blueprint("blueprint", object{"deployExecutions": goTemplate(mockTemplate(`{text: {{ getResourceContent "cd://resources/text" }}}`))}, nil).
		resource("text", "plainText", object{"type": "ociArtifact", "imageReference": "http://" + text}, nil))
	s.secret("pull", map[string]string{".dockerconfigjson": loginTo(private, "open barley")})
	s.useRegistry(object{"registryPullSecrets": list{object{"name": "pull"}}})
	s.install("one", of("example.com/root", "1.0.0", "blueprint", nil))
	former := s.refused("one").Status.JobID
	s.login("pull", private, "open sesame")
	s.Ran("one", former, v1alpha1.PhaseSucceeded)
	s.RequireJobs(2, "one")
}

// TestC12ARestartForgetsNoRefusedLogin runs alone: it kills the controller that all tests share.
func TestC12ARestartForgetsNoRefusedLogin(t *testing.T) {
	s := &scene{landscape.NewScene(t)}
	private := s.locked()
	s.secret("other", map[string]string{".dockerconfigjson": loginTo(private, "open barley")})
	s.Put("Context", "other", object{
		"repositoryContext":   object{"type": "OCIRegistry", "baseUrl": private.URL()},
		"registryPullSecrets": list{object{"name": "other"}},
	})
	s.installMarked("corrected")
	s.install("waits", of("example.com/root", "1.0.0", "blueprint", object{"context": "other"}))
	s.refused("corrected")
	former := s.refused("waits").Status.JobID
	require.NoError(t, s.Processes[landscape.Controller].Kill9())
	s.login("pull", private, "open sesame")
	require.NoError(t, s.Processes[landscape.Controller].Restart())
	s.succeeded("corrected")
	s.login("other", private, "open sesame")
	s.Ran("waits", former, v1alpha1.PhaseSucceeded)
	s.RequireJobs(2, "corrected", "waits")
}
