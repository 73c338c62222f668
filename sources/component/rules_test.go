// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// answering is a resolver that has every component version.
var answering = component.ResolverFunc(func(_ context.Context, k component.Key, _ component.Hint) (*component.Descriptor, error) {
	return &component.Descriptor{Name: k.Name, Version: k.Version}, nil
})

// overwritesOf makes overwrites of repositories, each with a source of its own.
func overwritesOf(count int) component.Overwrites {
	var out component.Overwrites
	for i := range count {
		out = append(out, v1alpha1.ComponentVersionOverwrite{Source: side(fmt.Sprint("old", i), "", ""), Substitution: side(fmt.Sprint("new", i), "", "")})
	}
	return out
}

func TestOverwritesAreReadOnceForAllReferences(t *testing.T) {
	work := func(count int) float64 {
		resolver := overwritesOf(count).Wrap(registry(t, "old1"), answering)
		return testing.AllocsPerRun(5, func() {
			_, err := resolver.Resolve(t.Context(), key("a"), component.Hint{})
			require.NoError(t, err)
		})
	}
	assert.InDelta(t, work(3), work(300), 10)
}

func TestOverwritesThatWereInterruptedAreReadByTheNext(t *testing.T) {
	resolver := overwritesOf(3).Wrap(registry(t, "old1"), answering)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := resolver.Resolve(ctx, key("a"), component.Hint{})
	require.ErrorIs(t, err, context.Canceled)
	_, err = resolver.Resolve(t.Context(), key("a"), component.Hint{})
	assert.NoError(t, err)
}

func TestForgottenOverwritesAreReadAgain(t *testing.T) {
	once := overwritesOf(3).Once()
	for range 2 {
		_, diff, err := once.Apply(t.Context(), component.Location{Repository: registry(t, "old1"), Key: key("a")})
		require.NoError(t, err)
		assert.Contains(t, diff, "new1")
		once.Forget()
	}
}

func TestOverwritesStopWhenNobodyWaits(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := overwritesOf(3).Apply(ctx, component.Location{Key: key("a")})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestWrapNamesTheWrongOverwriteEachTime(t *testing.T) {
	raw := v1alpha1.NewAnyJSON([]byte(`{"baseUrl":"a"}`))
	wrong := component.Overwrites{{}, {Source: v1alpha1.ComponentVersionOverwriteReference{ComponentName: "example.com/z", RepositoryContext: &raw}}}
	resolver := wrong.Wrap(component.Typed{}, answering)
	for range 2 {
		_, err := resolver.Resolve(t.Context(), key("a"), component.Hint{})
		assert.EqualError(t, err, "component version overwrites are wrong: overwrites[1].source: repositoryContext: field type is missing; name the type, for example OCIRegistry")
	}
}

// slowly applies overwrites one by one, as Overwrites.Apply is described.
func slowly(t *testing.T, overwrites component.Overwrites, l component.Location) component.Location {
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
		var overwrites component.Overwrites
		for range random.IntN(9) {
			overwrites = append(overwrites, v1alpha1.ComponentVersionOverwrite{Source: anySide(), Substitution: anySide()})
		}
		before := component.Location{Key: component.Key{Name: some("x", "y", ""), Version: some("1", "2", "")}}
		if base := some("", "a", "b"); base != "" {
			before.Repository = registry(t, base)
		}
		got, _, err := overwrites.Apply(t.Context(), before)
		require.NoError(t, err)
		require.Equal(t, slowly(t, overwrites, before), got, "%+v of %+v", overwrites, before)
	}
}
