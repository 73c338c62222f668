// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// TestWhatTheContextLacksIsWaitedForByEvent provides one thing after another; each time the Installation goes on by itself.
func TestWhatTheContextLacksIsWaitedForByEvent(t *testing.T) {
	s := newScene(t)
	s.publish(build("example.com/root", "1.0.0").blueprint("blueprint", object{"deployExecutions": goTemplate(mockTemplate("{}"))}, nil))
	s.install("root", of("example.com/root", "1.0.0", "blueprint", object{"context": "shop"}))
	lacks := func(what string) {
		s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
			return inst.Status.LastError != nil && inst.Status.LastError.Reason == "ContextIncomplete" && strings.Contains(inst.Status.LastError.Message, what)
		})
	}
	lacks("Context " + s.Namespace + "/shop not found")
	s.Put("Context", "shop", object{
		"repositoryContext": s.repository(), "componentVersionOverwrites": "overwrites",
		"registryPullSecrets": list{object{"name": "pull"}}, "ocmConfig": object{"name": "ocm"},
	})
	lacks("ComponentVersionOverwrites " + s.Namespace + "/overwrites not found")
	s.Put("ComponentVersionOverwrites", "overwrites", object{"overwrites": list{}})
	lacks("Secret " + s.Namespace + "/pull not found")
	s.secret("pull", map[string]string{".dockerconfigjson": `{"auths": {}}`})
	lacks("ConfigMap " + s.Namespace + "/ocm not found")
	config := &corev1.ConfigMap{ObjectMeta: s.Named("ocm")}
	require.NoError(t, s.Client().Create(s.Ctx, config))
	lacks("has no key .ocmconfig")
	config.Data = map[string]string{".ocmconfig": "type: generic.config.ocm.software/v1\nconfigurations: []\n"}
	require.NoError(t, s.Client().Update(s.Ctx, config))
	s.succeeded("root")
}

func TestMissingDefaultContextIsNoProblemUnlessNeeded(t *testing.T) {
	s := newScene(t)
	s.publish(build("example.com/root", "1.0.0").blueprint("blueprint", object{"deployExecutions": goTemplate(mockTemplate("{}"))}, nil))
	s.install("without", object{"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": document(object{})}}}})
	s.install("own", object{
		"componentDescriptor": object{"ref": object{"componentName": "example.com/root", "version": "1.0.0", "repositoryContext": s.repository()}},
		"blueprint":           object{"ref": object{"resourceName": "blueprint"}},
	})
	s.install("needs", of("example.com/root", "1.0.0", "blueprint", nil))
	s.succeeded("without")
	s.succeeded("own")
	assert.Contains(t, s.failed("needs").Message, "create it with a repositoryContext, or set spec.componentDescriptor.ref.repositoryContext")
	s.useRegistry(nil)
	s.succeeded("needs")
}

func TestC12PrivateComponentsNeedThePullSecret(t *testing.T) {
	s := newScene(t)
	private := registry.Start(t, registry.Options{Users: []registry.User{{Name: "reader", Password: "open sesame"}}})
	s.pushInto(private, build("example.com/root", "1.0.0").blueprint("blueprint", object{"deployExecutions": goTemplate(mockTemplate("{}"))}, nil))
	spec := of("example.com/root", "1.0.0", "blueprint", nil)
	repository := object{"type": "OCIRegistry", "baseUrl": private.URL()}
	s.Put("Context", "default", object{"repositoryContext": repository})
	s.install("stranger", spec)
	failure := s.failed("stranger")
	assert.Contains(t, failure.Codes, v1alpha1.ErrorUnauthorized, failure.Message)
	assert.Contains(t, failure.Message, "registryPullSecrets")

	s.secret("pull", map[string]string{".dockerconfigjson": loginTo(private, "open sesame")})
	s.Put("Context", "reader", object{"repositoryContext": repository, "registryPullSecrets": list{object{"name": "pull"}}})
	spec["context"] = "reader"
	s.install("reader", spec)
	s.succeeded("reader")
	s.install("stranger-again", of("example.com/root", "1.0.0", "blueprint", nil))
	assert.Contains(t, s.failed("stranger-again").Codes, v1alpha1.ErrorUnauthorized, "what one Context may read is not served to another")
}

func TestC20DeletionNeedsNoComponent(t *testing.T) {
	s := newScene(t)
	s.publish(s.shop("1.0.0", "shop"))
	s.useRegistry(nil)
	s.Target("cluster")
	s.install("good", of("example.com/shop", "1.0.0", "blueprint", object{"imports": onCluster()}))
	s.install("bad", of("example.com/shop", "9.0.0", "blueprint", object{"imports": onCluster()}))
	s.succeeded("good")
	s.failed("bad")
	s.Put("Context", "default", object{"repositoryContext": object{"type": "OCIRegistry", "baseUrl": "127.0.0.1:1/nothing"}})
	s.Delete(s.Installation("good"))
	s.Delete(s.Installation("bad"))
	config := &corev1.ConfigMap{ObjectMeta: s.Named("shop")}
	s.Gone(s.Installation("good"), s.Installation("bad"), config)
}
