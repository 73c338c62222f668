// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

func TestSignaturePolicyAsksFor(t *testing.T) {
	asking := &v1alpha1.Installation{Spec: v1alpha1.InstallationSpec{Verification: &v1alpha1.Verification{SignatureName: "release"}}}
	silent := &v1alpha1.Installation{}
	for policy, want := range map[SignaturePolicy][2]bool{
		Enforce: {true, true}, DoNotEnforce: {true, false}, Disabled: {false, false},
	} {
		assert.Equal(t, want, [2]bool{policy.asksFor(asking), policy.asksFor(silent)}, policy)
	}
}

func TestEnforcedPolicyRefusesInstallationsThatNameNoSignature(t *testing.T) {
	r := &Reader{SignaturePolicy: Enforce}
	s := &Reading{inst: &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}}
	err := r.verifyComponent(t.Context(), s)
	var failure *protocol.Failure
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, reasonNotRequested, failure.Reason)
	assert.ErrorContains(t, err, "spec.verification.signatureName")
}

// descriptor decodes a descriptor of schema v2.
func descriptor(t *testing.T, name, references string) *component.Descriptor {
	t.Helper()
	d, err := component.Decode(fmt.Appendf(nil, `{meta: {schemaVersion: v2}, component: {name: example.com/%s, version: 1.0.0, provider: x,
		repositoryContexts: [], sources: [], componentReferences: [%s], resources: [
		{name: blueprint, version: 1.0.0, type: blueprint, relation: external, access: {type: ociArtifact, imageReference: r/x:1}}]}}`, name, references))
	require.NoError(t, err)
	return d
}

// resolved returns a component with everything behind it.
func resolved(t *testing.T, definition v1alpha1.ComponentDescriptorDefinition, where string, root *component.Descriptor, others ...*component.Descriptor) *Component {
	t.Helper()
	resolver := component.Resolver(func(_ context.Context, key component.Key, _ component.Hint) (*component.Descriptor, error) {
		for _, other := range others {
			if other.Key() == key {
				return other, nil
			}
		}
		return nil, component.ErrNotFound
	})
	closed, err := component.Closure(t.Context(), root, resolver, component.Limits{})
	require.NoError(t, err)
	repositoryOf, err := component.ParseTyped([]byte(where))
	require.NoError(t, err)
	return &Component{closed: closed, root: &repository.Root{Descriptor: root, Definition: definition, Repository: repositoryOf}}
}

const registryContext = `{"baseUrl":"registry.example.com","type":"OCIRegistry"}`

func TestChildComponent(t *testing.T) {
	inlined := v1alpha1.NewAnyJSON([]byte(`{}`))
	byRef := v1alpha1.ComponentDescriptorDefinition{Reference: &v1alpha1.ComponentDescriptorReference{ComponentName: "example.com/root", Version: "1.0.0"}}
	inPlace := v1alpha1.ComponentDescriptorDefinition{Inline: &inlined}
	plain := `{name: sub, componentName: example.com/sub, version: 1.0.0}`
	sub := descriptor(t, "sub", "")
	text, err := sub.Encode(component.SchemaV2)
	require.NoError(t, err)
	embedded := fmt.Sprintf(`{"name": "sub", "componentName": "example.com/sub", "version": "1.0.0", "labels": [{"name": %q, "value": %s}]}`,
		component.LabelEmbedded, asJSON(t, text))
	for name, tc := range map[string]struct {
		definition v1alpha1.ComponentDescriptorDefinition
		reference  string
		uri        string
		want       string
	}{
		"own component":        {byRef, plain, "cd://resources/blueprint", `{"ref":{"componentName":"example.com/root","version":"1.0.0"}}`},
		"referenced component": {byRef, plain, "cd://componentReferences/sub/resources/blueprint", `{"ref":{"repositoryContext":` + registryContext + `,"componentName":"example.com/sub","version":"1.0.0"}}`},
		"embedded component":   {inPlace, embedded, "cd://componentReferences/sub/resources/blueprint", `{"inline":` + asJSON(t, text) + `}`},
		"inline without embedded component": {inPlace, plain, "cd://componentReferences/sub/resources/blueprint",
			`{"ref":{"repositoryContext":` + registryContext + `,"componentName":"example.com/sub","version":"1.0.0"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Inputs{Component: resolved(t, tc.definition, registryContext, descriptor(t, "root", tc.reference), sub)}
			inst := &v1alpha1.Installation{Spec: v1alpha1.InstallationSpec{ComponentDescriptor: &tc.definition}}
			blueprint, found, err := s.followBlueprint(inst, tc.uri)
			require.NoError(t, err)
			assert.Equal(t, "blueprint", blueprint.ResourceName)
			raw, err := json.Marshal(found)
			require.NoError(t, err)
			assert.JSONEq(t, tc.want, string(raw))
		})
	}
}

func TestChildComponentsThatCannotBeFound(t *testing.T) {
	for uri, want := range map[string]string{
		"cd://resources/nothing": "nothing", "cd://componentReferences/nothing/resources/blueprint": "nothing", "cd://things": "by turns",
	} {
		s := &Inputs{Component: resolved(t, v1alpha1.ComponentDescriptorDefinition{}, registryContext, descriptor(t, "root", ""))}
		_, _, err := s.followBlueprint(&v1alpha1.Installation{}, uri)
		assert.ErrorContains(t, err, want, uri)
	}
	_, _, err := (&Inputs{}).followBlueprint(&v1alpha1.Installation{}, "cd://resources/blueprint")
	assert.ErrorContains(t, err, "set spec.componentDescriptor")
}

func asJSON(t *testing.T, document []byte) string {
	t.Helper()
	decoded, err := component.Decode(document)
	require.NoError(t, err)
	raw, err := json.Marshal(decoded.View(component.SchemaV2))
	require.NoError(t, err)
	return string(raw)
}

func TestVerifiedComponentsOfChildrenComeFromTheRoot(t *testing.T) {
	covering := resolved(t, v1alpha1.ComponentDescriptorDefinition{}, registryContext,
		descriptor(t, "root", `{name: sub, componentName: example.com/sub, version: 1.0.0}`), descriptor(t, "sub", ""))
	own, err := covering.behind(t.Context(), component.Key{Name: "example.com/sub", Version: "1.0.0"})
	require.NoError(t, err)
	assert.Same(t, covering.closed.Descriptors[1], own.Root)
	_, err = covering.behind(t.Context(), component.Key{Name: "example.com/sub", Version: "2.0.0"})
	assert.ErrorIs(t, err, component.ErrNotFound)
}

func TestComponentFailures(t *testing.T) {
	source := func(waiting bool) error {
		return fmt.Errorf("component: %w", &flux.Error{Reason: flux.NotReady, Waiting: waiting, Problem: "no artifact", Cure: "wait"})
	}
	for name, tc := range map[string]struct {
		err    error
		kind   protocol.FailureKind
		reason string
	}{
		"unauthorised":       {oci.ErrUnauthorized, protocol.Stalled, "Unauthorized"},
		"not found":          {component.ErrNotFound, protocol.Stalled, "ComponentNotFound"},
		"no repository":      {&fault.Error{Kind: fault.Stalled, Class: repository.ErrRepositoryMissing}, protocol.Stalled, "RepositoryContextMissing"},
		"network":            {errors.New("connection reset"), protocol.Retry, "ComponentNotResolved"},
		"source not ready":   {source(true), protocol.Waiting, "SourceNotReady"},
		"source not allowed": {source(false), protocol.Stalled, "SourceNotReady"},
		"known failure":      {protocol.Stall("a", "b", "c"), protocol.Stalled, "b"},
	} {
		t.Run(name, func(t *testing.T) {
			var failure *protocol.Failure
			require.ErrorAs(t, (&Reader{}).componentFailure(&Reading{inst: &v1alpha1.Installation{}}, tc.err), &failure)
			assert.Equal(t, tc.kind, failure.Kind)
			assert.Equal(t, tc.reason, failure.Reason)
		})
	}
}

func TestContextsAreFoundByWhatTheyName(t *testing.T) {
	repositoryContext := v1alpha1.NewAnyJSON([]byte(`{"type":"fluxSource","sourceRef":{"kind":"OCIRepository","name":"shop"}}`))
	c := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "default"}, ContextConfiguration: v1alpha1.ContextConfiguration{
		RepositoryContext: &repositoryContext, OCMConfig: &v1alpha1.LocalObjectReference{Name: "ocm"},
		RegistryPullSecrets: []v1alpha1.LocalObjectReference{{Name: "pull"}}, ComponentVersionOverwritesReference: "overwrites",
		VerificationSignatures: map[string]v1alpha1.VerificationSignature{"release": {
			PublicKeySecretReference: &v1alpha1.SecretReference{ObjectReference: v1alpha1.ObjectReference{Name: "keys", Namespace: "other"}},
		}},
	}}
	assert.ElementsMatch(t, []string{
		"Secret/ns/pull", "ConfigMap/ns/ocm", "ComponentVersionOverwrites/ns/overwrites", "Secret/other/keys", "OCIRepository/ns/shop",
	}, UsedByContext(c))
}

func TestDigestOfTheUsedPart(t *testing.T) {
	files := func(content, other string) fstest.MapFS {
		return fstest.MapFS{"a/component-descriptor.yaml": {Data: []byte(content)}, "b/readme": {Data: []byte(other)}}
	}
	digest := func(content, other, at string) string {
		found, err := digestOf(files(content, other), at)
		require.NoError(t, err)
		return found
	}
	assert.Equal(t, digest("x", "1", "./a"), digest("x", "2", "a/"), "other directories do not count")
	assert.NotEqual(t, digest("x", "1", "a"), digest("y", "1", "a"))
	assert.Equal(t, digest("x", "1", "a/component-descriptor.yaml"), digest("x", "2", "a/component-descriptor.yaml"))
	assert.NotEqual(t, digest("x", "1", ""), digest("x", "2", ""))
	_, err := digestOf(files("x", "1"), "c")
	assert.ErrorContains(t, err, "not exist")
}

func TestUsedPartOfAnArtifact(t *testing.T) {
	files := fstest.MapFS{
		"component-descriptor.yaml": {}, "blobs/x": {}, "a/component-descriptor.yaml": {}, "a/blobs/x": {}, "b/component-descriptor.yaml": {}, "ctf/artifact-index.json": {},
	}
	for at, want := range map[string]string{
		"": "", "ctf": "ctf", "a": "a", "a/component-descriptor.yaml": "/a/", "./a/component-descriptor.yaml": "/a/",
		"component-descriptor.yaml": "/", "b/component-descriptor.yaml": "b/component-descriptor.yaml", "c/component-descriptor.yaml": "c/component-descriptor.yaml",
	} {
		assert.Equal(t, want, usedPart(files, at), at)
	}
	archive, err := digestOf(files, usedPart(files, "a/component-descriptor.yaml"))
	require.NoError(t, err)
	files["a/blobs/x"] = &fstest.MapFile{Data: []byte("another")}
	changed, err := digestOf(files, usedPart(files, "a/component-descriptor.yaml"))
	require.NoError(t, err)
	assert.NotEqual(t, archive, changed, "blobs beside the descriptor count")
}
