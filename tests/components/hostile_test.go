// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// pushInto stores component versions in a registry, past its door and its faults.
func (s *scene) pushInto(r *registry.Registry, versions ...*built) {
	s.T.Helper()
	for _, b := range versions {
		version := s.version(b)
		image, err := version.Image(component.SchemaV2)
		require.NoError(s.T, err)
		repository := "component-descriptors/" + version.Descriptor.Name
		for _, content := range append(image.Layers, image.Config) {
			r.PushBlob(s.T, repository, content.MediaType, s.bytes(content))
		}
		r.PushManifest(s.T, repository, version.Descriptor.Version, image.Manifest.MediaType, s.bytes(image.Manifest))
	}
}

// private is a component with all that lies in its registry: a blueprint, a schema of another component, and a text.
func private() []*built {
	return []*built{
		build("example.com/types", "1.0.0").local("size", schemaType, schemaMediaType, []byte(`{"type": "integer", "maximum": 10}`)),
		build("example.com/root", "1.0.0").refers("types", "example.com/types", "1.0.0", nil).
			local("text", "plainText", "text/plain", []byte("private")).
			blueprint("blueprint", object{
				"imports": list{object{"name": "size", "type": "data", "required": false, "default": object{"value": 3},
					"schema": object{"$ref": "cd://componentReferences/types/resources/size"}}},
				"exports":          list{object{"name": "mark", "type": "data", "schema": object{"type": "string"}}},
				"deployExecutions": goTemplate(mockTemplate(`{mark: {{ getResourceContent "cd://resources/text" }}}`)),
				"exportExecutions": goTemplate(`exports: {mark: {{ .values.deployitems.item.mark | quote }}}`),
			}, nil),
	}
}

// pullSecret is the data of a pull secret for a registry in one of the forms.
type pullSecret func(r *registry.Registry) map[string]string

func dockerConfig(key string, login object) pullSecret {
	return func(r *registry.Registry) map[string]string {
		return map[string]string{key: text(object{"auths": object{r.Host: login}})}
	}
}

// ocmCredentials are the only form that can hold a certificate authority.
func ocmCredentials(r *registry.Registry) map[string]string {
	host, port, _ := strings.Cut(r.Host, ":")
	properties := object{"username": "reader", "password": "open sesame"}
	if len(r.CA) > 0 {
		properties["certificateAuthority"] = string(r.CA)
	}
	return map[string]string{".ocmcredentialconfig": text(object{
		"type": "generic.config.ocm.software/v1", "configurations": list{object{
			"type": "credentials.config.ocm.software", "consumers": list{object{
				"identity":    object{"type": "OCIRegistry", "hostname": host, "port": port},
				"credentials": list{object{"type": "Credentials", "properties": properties}},
			}},
		}},
	})}
}

func TestC12EveryFormOfPullSecretOpensPrivateRegistries(t *testing.T) {
	t.Parallel()
	encoded := object{"auth": base64.StdEncoding.EncodeToString([]byte("reader:open sesame"))}
	for name, tc := range map[string]struct {
		options registry.Options
		secret  pullSecret
	}{
		"basic with another key":          {registry.Options{}, dockerConfig("config.json", encoded)},
		"token with an identity token":    {registry.Options{Token: true}, dockerConfig(".dockerconfigjson", object{"identitytoken": "refresh me"})},
		"token over TLS with credentials": {registry.Options{TLS: true, Token: true}, ocmCredentials},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			tc.options.Users = []registry.User{{Name: "reader", Password: "open sesame", IdentityToken: "refresh me"}}
			r := registry.Start(t, tc.options)
			s.pushInto(r, private()...)
			s.secret("pull", tc.secret(r))
			s.Put("Context", "default", object{
				"repositoryContext": object{"type": "OCIRegistry", "baseUrl": r.URL()}, "registryPullSecrets": list{object{"name": "pull"}},
			})
			s.installMarked("root")
			s.succeeded("root")
			assert.Equal(t, `"private"`, s.value("root"))
			assert.NotZero(t, r.Count(http.MethodGet, "blobs"))
		})
	}
}

// hostile is a registry that misbehaves, and what an Installation says about it.
type hostile struct {
	// fault is nil for one that cannot be reached.
	fault registry.Fault
	// heals says that the Installation goes on by itself when the registry is repaired.
	heals bool
	parts []string
}

const (
	isTriedAgain = "it is tried again"
	tooLarge     = "smaller or raise the limit of the controller"
	far          = int64(1) << 40
	fiveGB       = int64(5) << 30
)

// TestHostileRegistries runs alone, because it measures the memory of the controller that all tests share.
func TestHostileRegistries(t *testing.T) {
	shared := landscape.Shared(t)
	controller := shared.Processes[landscape.Controller]
	pid := controller.PID()
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0) // begins a new peak
	before := controller.PeakMemory()
	require.NotZero(t, before)
	manifest := ocispec.MediaTypeImageManifest
	t.Run("kinds", func(t *testing.T) {
		for name, h := range map[string]hostile{
			"fails":             {registry.Status(http.StatusInternalServerError, 0), true, []string{"500", "check that the registry runs and can be reached", isTriedAgain}},
			"is down":           {nil, true, []string{"check that the registry runs and can be reached", isTriedAgain}},
			"hangs":             {registry.Hang(), true, []string{"check that the registry runs and can be reached", isTriedAgain}},
			"refuses":           {registry.Status(http.StatusForbidden, 0), false, []string{"403", "registryPullSecrets"}},
			"cuts blobs":        {registry.On(http.MethodGet, "blobs", registry.Cut(5)), true, []string{isTriedAgain}},
			"other blobs":       {registry.On(http.MethodGet, "blobs", registry.Body("application/octet-stream", []byte("something else"))), false, []string{"push the artifact anew"}},
			"endless blobs":     {registry.On(http.MethodGet, "blobs", registry.Zeros(-1, far)), false, []string{"push the artifact anew"}},
			"other manifests":   {registry.On("", "manifests", registry.Body(manifest, []byte(`{"schemaVersion": 2, "layers": []}`))), false, []string{"manifest is malformed", "publish the component version anew"}},
			"endless manifests": {registry.On("", "manifests", registry.Zeros(-1, far)), true, []string{"Content-Length", isTriedAgain}},
			"huge manifests":    {registry.On("", "manifests", registry.Zeros(fiveGB, fiveGB)), false, []string{tooLarge}},
		} {
			t.Run(name, func(t *testing.T) { h.run(newScene(t)) })
		}
	})
	grown := controller.PeakMemory() - before
	t.Logf("the controller grew by %d MiB beyond %d MiB", grown>>20, before>>20)
	assert.Less(t, grown, programs.Sanitized(200<<20), "bytes")
	assert.True(t, controller.Running())
	assert.Equal(t, pid, controller.PID())
}

// run installs from the registry, waits until status says what is wrong, and repairs it.
func (h hostile) run(s *scene) {
	s.T.Helper()
	r := registry.Start(s.T, registry.Options{})
	s.pushInto(r, private()...)
	if h.fault == nil {
		r.Down()
	} else {
		r.Break(h.fault)
	}
	s.Put("Context", "default", object{"repositoryContext": object{"type": "OCIRegistry", "baseUrl": r.URL()}})
	s.installMarked("root")
	s.says("root", append(h.parts, r.Host, "component example.com/root:1.0.0", "spec.componentDescriptor")...)
	s.requireNothing("root")
	if r.Break(); h.fault == nil {
		r.Up(s.T)
	}
	if !h.heals {
		s.Ended("root", v1alpha1.PhaseFailed)
		s.Annotate(s.Installation("root"), v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	}
	s.succeeded("root")
	assert.Equal(s.T, `"private"`, s.value("root"))
}

// says waits until an Installation says what is wrong.
func (s *scene) says(name string, parts ...string) {
	s.T.Helper()
	s.AwaitState(name, func(inst *v1alpha1.Installation) bool {
		message := conditions.GetMessage(inst, meta.ReadyCondition)
		for _, part := range parts {
			if !strings.Contains(message, part) {
				return false
			}
		}
		return !conditions.IsTrue(inst, meta.ReadyCondition)
	})
}

// requireNothing checks that an Installation has neither deployed nor exported anything.
func (s *scene) requireNothing(name string) {
	s.T.Helper()
	key := client.ObjectKey{Namespace: s.Namespace, Name: name}
	assert.True(s.T, apierrors.IsNotFound(s.Client().Get(s.Ctx, key, &v1alpha1.Execution{})))
	assert.True(s.T, apierrors.IsNotFound(s.Client().Get(s.Ctx, key, &v1alpha1.DataObject{})))
}

func TestTroubleThatPassesIsBridged(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]registry.Fault{
		"every second request fails": registry.EverySecond(registry.Status(http.StatusServiceUnavailable, 0)),
		"many requests reset":        registry.Times(30, registry.Reset()),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			r := registry.Start(t, registry.Options{})
			s.pushInto(r, private()...)
			r.Break(fault)
			s.Put("Context", "default", object{"repositoryContext": object{"type": "OCIRegistry", "baseUrl": r.URL()}})
			s.installMarked("root")
			s.succeeded("root")
			assert.Equal(t, `"private"`, s.value("root"))
			s.RequireJobs(1, "root")
		})
	}
}

// TestAComponentThatClaimsTooMuchIsRefused has a manifest that announces a descriptor of 5 GB, which the registry sends.
func TestAComponentThatClaimsTooMuchIsRefused(t *testing.T) {
	s := newScene(t)
	r := registry.Start(t, registry.Options{})
	s.pushInto(r, private()...)
	const repository = "component-descriptors/example.com/root"
	version := s.version(private()[1])
	image, err := version.Image(component.SchemaV2)
	require.NoError(t, err)
	var manifest ocispec.Manifest
	require.NoError(t, json.Unmarshal(s.bytes(image.Manifest), &manifest))
	manifest.Layers[0].Size = fiveGB
	r.PushManifest(t, repository, "1.0.0", ocispec.MediaTypeImageManifest, manifest)
	r.Break(registry.On(http.MethodGet, "blobs", registry.Zeros(fiveGB, fiveGB)))
	s.Put("Context", "default", object{"repositoryContext": object{"type": "OCIRegistry", "baseUrl": r.URL()}})
	s.installMarked("root")
	s.says("root", r.Host+"/"+repository, tooLarge)
	s.Ended("root", v1alpha1.PhaseFailed)
	s.requireNothing("root")
}
