// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// answering is a resolver that has every component version.
var answering = component.Resolver(func(_ context.Context, k component.Key, _ component.Hint) (*component.Descriptor, error) {
	return &component.Descriptor{Name: k.Name, Version: k.Version}, nil
})

func TestWrapNamesTheWrongOverwriteEachTime(t *testing.T) {
	raw := v1alpha1.NewAnyJSON([]byte(`{"baseUrl":"a"}`))
	wrong := component.NewOverwrites([]v1alpha1.ComponentVersionOverwrite{{}, {Source: v1alpha1.ComponentVersionOverwriteReference{ComponentName: "example.com/z", RepositoryContext: &raw}}})
	resolver := wrong.Wrap(component.Typed{}, answering)
	for range 2 {
		_, err := resolver(t.Context(), key("a"), component.Hint{})
		assert.EqualError(t, err, "component version overwrites are wrong: overwrites[1].source: repositoryContext: field type is missing; name the type, for example OCIRegistry")
	}
}

// slowly applies overwrites one by one, as Overwrites.Apply is described.
func slowly(t *testing.T, overwrites []v1alpha1.ComponentVersionOverwrite, l component.Location) component.Location {
	out, taken := l, [3]bool{}
	for _, o := range overwrites {
		if !matchesAll(t, o.Source, l) {
			continue
		}
		gives := [3]bool{o.Substitution.RepositoryContext != nil, o.Substitution.ComponentName != "", o.Substitution.Version != ""}
		if gives[0] && taken[0] || gives[1] && taken[1] || gives[2] && taken[2] {
			continue
		}
		if gives[0] {
			out.Repository, taken[0] = typed(t, string(o.Substitution.RepositoryContext.RawMessage)), true
		}
		if gives[1] {
			out.Key.Name, taken[1] = o.Substitution.ComponentName, true
		}
		if gives[2] {
			out.Key.Version, taken[2] = o.Substitution.Version, true
		}
	}
	return out
}

func matchesAll(t *testing.T, source v1alpha1.ComponentVersionOverwriteReference, l component.Location) bool {
	return (source.RepositoryContext == nil || typed(t, string(source.RepositoryContext.RawMessage)).Equal(l.Repository)) &&
		(source.ComponentName == "" || source.ComponentName == l.Key.Name) && (source.Version == "" || source.Version == l.Key.Version)
}

func TestOverwritesDoWhatTheyWouldOneByOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	some := func(parts ...string) string { return parts[random.IntN(len(parts))] }
	anySide := func() v1alpha1.ComponentVersionOverwriteReference {
		return side(some("", "", "a", "b"), some("", "", "x", "y"), some("", "", "1", "2"))
	}
	for range 3000 {
		var overwrites []v1alpha1.ComponentVersionOverwrite
		for range random.IntN(9) {
			overwrites = append(overwrites, v1alpha1.ComponentVersionOverwrite{Source: anySide(), Substitution: anySide()})
		}
		before := component.Location{Key: component.Key{Name: some("x", "y", ""), Version: some("1", "2", "")}}
		if base := some("", "a", "b"); base != "" {
			before.Repository = registry(t, base)
		}
		got, _, err := component.NewOverwrites(overwrites).Apply(before)
		require.NoError(t, err)
		require.Equal(t, slowly(t, overwrites, before), got, "%+v of %+v", overwrites, before)
	}
}
