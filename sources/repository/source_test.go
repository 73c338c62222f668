// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"errors"
	"testing"

	fluxmeta "github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func fromSource(name, path string) v1alpha1.ComponentDescriptorDefinition {
	return v1alpha1.ComponentDescriptorDefinition{SourceReference: &v1alpha1.SourceReference{Kind: "Bucket", Name: name}, Path: path}
}

// layer is the descriptor layer of a component version, which is what Flux stores of it.
func layer(t testing.TB, v component.Version) []byte {
	document, err := v.Descriptor.Encode(component.SchemaV2)
	require.NoError(t, err)
	return packed(t, false, map[string]string{component.DescriptorFile: string(document)})
}

// pulled makes a source one that pulls from a registry, with a pull secret.
func (a artifacts) pulled(name, url, secret string) {
	source := a[name]
	source.Kind = "OCIRepository"
	object := &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: sourcev1.OCIRepositorySpec{URL: url}}
	if secret != "" {
		object.Spec.SecretRef = &fluxmeta.LocalObjectReference{Name: secret}
	}
	source.Object = object
	a[name] = source
}

func TestSourceOfADescriptorLayerLeadsToItsRegistry(t *testing.T) {
	for name, tc := range map[string]struct {
		users  []registry.User
		secret string
		fails  error
	}{
		"public registry":      {},
		"secret of the source": {users: []registry.User{{Name: "flux", Password: "hunter2"}}, secret: "right"},
		"wrong secret":         {users: []registry.User{{Name: "flux", Password: "hunter2"}}, secret: "wrong", fails: oci.ErrUnauthorized},
		"no secret":            {users: []registry.User{{Name: "flux", Password: "hunter2"}}, fails: oci.ErrUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			reg := registry.Start(t, registry.Options{Users: tc.users})
			publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, shop(t), db(t))
			offered := artifacts{}
			offered.offer(t, "shop", layer(t, shop(t)))
			offered.pulled("shop", "oci://"+reg.Host+"/c/component-descriptors/"+shopName, tc.secret)
			secrets := map[string]map[string][]byte{"right": pullSecret(reg.Host, "flux", "hunter2"), "wrong": pullSecret(reg.Host, "flux", "hunter3")}
			r := repositories(t, func(o *Options) {
				o.Source = offered.source
				o.Secret = func(_ context.Context, namespace, name string) (map[string][]byte, error) { return secrets[name], nil }
			})
			s := session(t, r, Scope{Namespace: "ns"})
			found, err := s.Root(t.Context(), fromSource("shop", ""))
			require.NoError(t, err)
			closed, err := s.Closure(t.Context(), found.Descriptor)
			if tc.fails != nil {
				require.ErrorIs(t, err, tc.fails)
				assert.NotContains(t, err.Error(), "hunter")
				return
			}
			require.NoError(t, err)
			assert.Len(t, closed.Descriptors, 2)
			assert.Equal(t, "some text", text(t, s, found.Descriptor, "text"))
			require.Len(t, s.SourcesUsed(), 1)
			assert.Equal(t, "OCIRepository", s.SourcesUsed()[0].Kind)
		})
	}
}

func TestSourceWithADescriptorAlone(t *testing.T) {
	reg := registry.Start(t, registry.Options{})
	v := shop(t)
	publish(t, reg, component.OCIRegistry{BaseURL: reg.Host + "/c"}, v, db(t))
	repository, err := component.NewTyped(ociSpec(reg.Host + "/c"))
	require.NoError(t, err)
	v.Descriptor.RepositoryContexts = []component.Typed{repository}
	document, err := v.Descriptor.Encode(component.SchemaV3)
	require.NoError(t, err)
	offered := artifacts{}
	offered.offer(t, "plain", document)
	offered.offer(t, "tree", packed(t, true, map[string]string{"deep/shop.yaml": string(document), "README": "x"}))
	r := repositories(t, func(o *Options) { o.Source = offered.source })
	for name, definition := range map[string]v1alpha1.ComponentDescriptorDefinition{"the artifact": fromSource("plain", ""), "a file in it": fromSource("tree", "./deep/shop.yaml")} {
		t.Run(name, func(t *testing.T) {
			s := session(t, r, Scope{Namespace: "ns"})
			found, err := s.Root(t.Context(), definition)
			require.NoError(t, err)
			closed, err := s.Closure(t.Context(), found.Descriptor)
			require.NoError(t, err)
			assert.Len(t, closed.Descriptors, 2)
			assert.Equal(t, "some text", text(t, s, found.Descriptor, "text"))
		})
	}
}

func TestSourceRefusals(t *testing.T) {
	offered := artifacts{}
	offered.offer(t, "empty", packed(t, true, map[string]string{"README": "x"}))
	offered.offer(t, "noise", []byte("neither tar nor descriptor"))
	offered.offer(t, "two", tarOf(t, func(s component.Sink) error {
		return component.WriteCTF(s, []component.Version{shop(t), db(t)}, component.SchemaV2)
	}))
	offered.offer(t, "unsafe", packed(t, true, map[string]string{"../x": "x"}))
	r := repositories(t, func(o *Options) { o.Source = offered.source })
	for name, tc := range map[string]struct {
		definition v1alpha1.ComponentDescriptorDefinition
		kind       fault.Kind
		says       string
	}{
		"no descriptor":     {fromSource("empty", ""), fault.Stalled, component.DescriptorFile},
		"no such path":      {fromSource("empty", "nope"), fault.Stalled, `path "nope"`},
		"noise":             {fromSource("noise", ""), fault.Stalled, "Bucket ns/noise"},
		"several":           {fromSource("two", ""), fault.Stalled, "example.com/db:2.0.0, example.com/shop:1.0.0"},
		"unsafe":            {fromSource("unsafe", ""), fault.Stalled, ".."},
		"no such source":    {fromSource("missing", ""), fault.Waiting, "does not exist"},
		"empty definition":  {v1alpha1.ComponentDescriptorDefinition{}, fault.Stalled, "set ref, inline or sourceRef"},
		"path that escapes": {fromSource("empty", "../../etc/passwd"), fault.Stalled, "is not in its artifact"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := session(t, r, Scope{Namespace: "ns"}).Root(t.Context(), tc.definition)
			require.ErrorContains(t, err, tc.says)
			assert.Equal(t, tc.kind, fault.KindOf(err), err)
		})
	}
}

func TestFluxSourcesCanBeSwitchedOff(t *testing.T) {
	_, err := session(t, repositories(t, nil), Scope{}).Root(t.Context(), fromSource("x", ""))
	assert.ErrorContains(t, err, "no Flux sources")
}

func TestReferencesIntoACTFOfFlux(t *testing.T) {
	offered := artifacts{}
	offered.offer(t, "two", tarOf(t, func(s component.Sink) error {
		return component.WriteCTF(s, []component.Version{shop(t), db(t)}, component.SchemaV2)
	}))
	r := repositories(t, func(o *Options) { o.Source = offered.source })
	s := session(t, r, Scope{Namespace: "ns", Repository: raw(t, map[string]any{"type": "fluxSource", "sourceRef": map[string]any{"kind": "Bucket", "name": "two"}})})
	found, err := s.Root(t.Context(), byName(shopName, "1.0.0", nil))
	require.NoError(t, err)
	closed, err := s.Closure(t.Context(), found.Descriptor)
	require.NoError(t, err)
	assert.Len(t, closed.Descriptors, 2)
}

func TestAScopeCanRequireVerifiedSources(t *testing.T) {
	offered := artifacts{}
	offered.offer(t, "two", tarOf(t, func(s component.Sink) error {
		return component.WriteCTF(s, []component.Version{shop(t), db(t)}, component.SchemaV2)
	}))
	r := repositories(t, func(o *Options) { o.Source = offered.source })
	fromBucket := raw(t, map[string]any{"type": "fluxSource", "sourceRef": map[string]any{"kind": "Bucket", "name": "two"}})
	for _, required := range []bool{false, true} {
		_, err := session(t, r, Scope{Namespace: "ns", Repository: fromBucket, RequireVerified: required}).Root(t.Context(), byName(shopName, "1.0.0", nil))
		var refused *flux.Error
		assert.Equal(t, required, errors.As(err, &refused), err)
		if required {
			assert.Equal(t, flux.NotVerified, refused.Reason)
		}
	}
}

func TestAFailingAPIServerIsRetried(t *testing.T) {
	r := repositories(t, func(o *Options) {
		o.Source = func(context.Context, string, v1alpha1.SourceReference) (flux.Source, error) {
			return flux.Source{}, errors.New("connection refused")
		}
	})
	_, err := session(t, r, Scope{}).Root(t.Context(), fromSource("x", ""))
	assert.Equal(t, fault.Retry, fault.KindOf(err))
}
