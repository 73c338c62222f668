// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
)

// inlineRepositoryOf is a repository in which components are written in place.
func inlineRepositoryOf(t *testing.T, components ...*component.Descriptor) component.Typed {
	t.Helper()
	files := map[string]any{}
	for _, d := range components {
		text, err := d.Encode(component.SchemaV2)
		require.NoError(t, err)
		files[d.Name[len("example.com/"):]+".yaml"] = string(text)
	}
	typed, err := component.NewTyped(map[string]any{"type": "inline", "fileSystem": files})
	require.NoError(t, err)
	return typed
}

func anyOf(raw []byte) *v1alpha1.AnyJSON {
	found := v1alpha1.NewAnyJSON(raw)
	return &found
}

// viewOf looks a component up as a job does.
func viewOf(t *testing.T, s Scope, definition v1alpha1.ComponentDescriptorDefinition) *View {
	t.Helper()
	client, err := oci.New(oci.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	store, err := fetch.New(fetch.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	repositories, err := New(Options{OCI: client, Store: store})
	require.NoError(t, err)
	found := Component{Session: repositories.Open(s)}
	t.Cleanup(found.Session.Close)
	found.Root, err = found.Session.Root(t.Context(), definition)
	require.NoError(t, err)
	found.Closed, err = found.Session.Closure(t.Context(), found.Root.Descriptor)
	require.NoError(t, err)
	if s.Repository != nil {
		found.Standard, err = component.ParseTyped(s.Repository.RawMessage)
		require.NoError(t, err)
	}
	return &View{Component: found}
}

func TestRepositoryOfResourceKeys(t *testing.T) {
	root := descriptor(t, "root", `{name: sub, componentName: example.com/sub, version: 1.0.0}`)
	sub := descriptor(t, "sub", "")
	both, alone, elsewhere := inlineRepositoryOf(t, root, sub), inlineRepositoryOf(t, root), inlineRepositoryOf(t, sub)
	text, err := root.Encode(component.SchemaV2)
	require.NoError(t, err)
	byRef := v1alpha1.ComponentDescriptorDefinition{Reference: &v1alpha1.ComponentDescriptorReference{ComponentName: root.Name, Version: root.Version}}
	explicit := v1alpha1.ComponentDescriptorDefinition{Reference: &v1alpha1.ComponentDescriptorReference{
		ComponentName: root.Name, Version: root.Version, RepositoryContext: anyOf(both.Raw),
	}}
	moved := []v1alpha1.ComponentVersionOverwrite{{
		Source:       v1alpha1.ComponentVersionOverwriteReference{ComponentName: sub.Name},
		Substitution: v1alpha1.ComponentVersionOverwriteReference{RepositoryContext: anyOf(elsewhere.Raw)},
	}}
	rights, err := ParseRights(nil, []byte("type: ocm.config.ocm.software/v1\nresolvers: [{prefix: example.com/sub, repository: "+string(elsewhere.Raw)+"}]"))
	require.NoError(t, err)
	shared := component.Typed{}
	for name, tc := range map[string]struct {
		scope      Scope
		definition v1alpha1.ComponentDescriptorDefinition
		// root and sub are the repositories in the keys of their resources; zero for the default, which needs no mention.
		root, sub component.Typed
	}{
		"default of the Context":                     {Scope{Repository: anyOf(both.Raw)}, byRef, shared, shared},
		"repository of the Installation":             {Scope{Repository: anyOf(alone.Raw)}, explicit, both, both},
		"reference moved by an overwrite":            {Scope{Repository: anyOf(both.Raw), Overwrites: moved}, byRef, shared, elsewhere},
		"reference found by a resolver":              {Scope{Repository: anyOf(alone.Raw), Rights: rights}, byRef, shared, elsewhere},
		"written in place, reference is the default": {Scope{Repository: anyOf(both.Raw)}, v1alpha1.ComponentDescriptorDefinition{Inline: anyOf(text)}, inlineAs(t, root), shared},
	} {
		t.Run(name, func(t *testing.T) {
			view := viewOf(t, tc.scope, tc.definition)
			for _, want := range []struct {
				of    *component.Descriptor
				where component.Typed
			}{{root, tc.root}, {sub, tc.sub}} {
				got := view.closure().Repositories[templating.ComponentKey(want.of.Name, want.of.Version)]
				if want.where.IsZero() {
					assert.Nil(t, got, want.of.Name)
					continue
				}
				typed, err := component.NewTyped(got)
				require.NoError(t, err)
				assert.Equal(t, want.where.String(), typed.String(), want.of.Name)
			}
		})
	}
}

// inlineAs is the repository in the key of a resource of a component that is written into the Installation.
func inlineAs(t *testing.T, d *component.Descriptor) component.Typed {
	t.Helper()
	typed, err := component.NewTyped(inlineRepository(d))
	require.NoError(t, err)
	return typed
}

func descriptor(t *testing.T, name, references string) *component.Descriptor {
	t.Helper()
	d, err := component.Decode(fmt.Appendf(nil, `{meta: {schemaVersion: v2}, component: {name: example.com/%s, version: 1.0.0, provider: x,
		repositoryContexts: [], sources: [], componentReferences: [%s], resources: []}}`, name, references))
	require.NoError(t, err)
	return d
}
