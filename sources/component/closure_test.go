// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// key returns version 1.0.0 of example.com/<name>.
func key(name string) component.Key {
	return component.Key{Name: "example.com/" + name, Version: "1.0.0"}
}

// refersTo makes a component with references.
func refersTo(name string, others ...string) *component.Descriptor {
	d := &component.Descriptor{Schema: component.SchemaV2, Name: "example.com/" + name, Version: "1.0.0"}
	for _, other := range others {
		d.References = append(d.References, component.Reference{
			Element: component.Element{Name: other, Version: "1.0.0"}, ComponentName: "example.com/" + other,
		})
	}
	return d
}

// catalog is a resolver that counts.
type catalog struct {
	versions map[component.Key]*component.Descriptor
	mu       sync.Mutex
	asked    map[component.Key]int
}

func newCatalog(versions ...*component.Descriptor) *catalog {
	out := &catalog{versions: map[component.Key]*component.Descriptor{}, asked: map[component.Key]int{}}
	for _, d := range versions {
		out.versions[d.Key()] = d
	}
	return out
}

func (c *catalog) Resolve(_ context.Context, key component.Key, _ component.Hint) (*component.Descriptor, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[key]++
	if d := c.versions[key]; d != nil {
		return d, nil
	}
	return nil, fmt.Errorf("component %s: %w", key, component.ErrNotFound)
}

func namesIn(closed *component.Closed) []string {
	var out []string
	for _, d := range closed.Descriptors {
		out = append(out, d.Name[len("example.com/"):])
	}
	return out
}

func TestClosureIsTransitiveAndInOrder(t *testing.T) {
	root := refersTo("root", "b", "a")
	catalog := newCatalog(refersTo("a", "d"), refersTo("b", "c", "a"), refersTo("c"), refersTo("d", "c"))
	closed, err := component.Closure(t.Context(), root, catalog.Resolve, component.Limits{})
	require.NoError(t, err)
	assert.Equal(t, []string{"root", "b", "a", "c", "d"}, namesIn(closed))
	assert.Same(t, catalog.versions[key("d")], closed.Find(key("d")))
	assert.Nil(t, closed.Find(key("x")))
	for k, times := range catalog.asked {
		assert.Equal(t, 1, times, "times that %s was resolved", k)
	}
}

func TestClosureEndsInCycles(t *testing.T) {
	root := refersTo("root", "a")
	closed, err := component.Closure(t.Context(), root, newCatalog(refersTo("a", "b"), refersTo("b", "a", "root", "b")).Resolve, component.Limits{})
	require.NoError(t, err)
	assert.Equal(t, []string{"root", "a", "b"}, namesIn(closed))
}

func TestClosureNamesTheWayToAFailure(t *testing.T) {
	_, err := component.Closure(t.Context(), refersTo("root", "a"), newCatalog(refersTo("a", "b")).Resolve, component.Limits{})
	assert.ErrorIs(t, err, component.ErrNotFound)
	assert.ErrorContains(t, err, "component example.com/root:1.0.0 → example.com/a:1.0.0 → example.com/b:1.0.0 cannot be resolved")
}

func TestAPartialClosureLeavesOutWhatIsMissing(t *testing.T) {
	closed, err := component.Closure(t.Context(), refersTo("root", "a", "x"), newCatalog(refersTo("a", "y")).Resolve, component.Limits{Partial: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"root", "a"}, namesIn(closed))
	assert.Equal(t, []component.Key{key("x"), key("y")}, closed.Missing)
}

func TestClosureTakesNothingForNotFound(t *testing.T) {
	nothing := component.Resolver(func(context.Context, component.Key, component.Hint) (*component.Descriptor, error) { return nil, nil })
	_, err := component.Closure(t.Context(), refersTo("root", "a"), nothing, component.Limits{})
	assert.ErrorIs(t, err, component.ErrNotFound)
}

func TestClosureTellsWhoRefers(t *testing.T) {
	root := refersTo("root", "a")
	resolver := component.Resolver(func(_ context.Context, k component.Key, hint component.Hint) (*component.Descriptor, error) {
		assert.Same(t, root, hint.From)
		assert.Same(t, &root.References[0], hint.Reference)
		return refersTo("a"), nil
	})
	_, err := component.Closure(t.Context(), root, resolver, component.Limits{})
	require.NoError(t, err)
}

func TestClosureIsParallelWithinItsLimit(t *testing.T) {
	const parallel = 4
	var others []string
	for i := range 40 {
		others = append(others, fmt.Sprintf("c%d", i))
	}
	var running, most atomic.Int32
	full := make(chan struct{})
	resolver := component.Resolver(func(_ context.Context, k component.Key, _ component.Hint) (*component.Descriptor, error) {
		now := running.Add(1)
		defer running.Add(-1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		if now == parallel {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		<-full
		return refersTo(k.Name[len("example.com/"):]), nil
	})
	closed, err := component.Closure(t.Context(), refersTo("root", others...), resolver, component.Limits{Parallel: parallel})
	require.NoError(t, err)
	assert.Len(t, closed.Descriptors, 41)
	assert.EqualValues(t, parallel, most.Load())
}

func TestClosureCancelsTheRestAtTheFirstError(t *testing.T) {
	broken := errors.New("broken")
	resolver := component.Resolver(func(ctx context.Context, k component.Key, _ component.Hint) (*component.Descriptor, error) {
		if k == key("a") {
			return nil, broken
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	_, err := component.Closure(t.Context(), refersTo("root", "b", "c", "a", "d"), resolver, component.Limits{})
	assert.ErrorIs(t, err, broken)
}

func TestAPanicOfAResolverIsAnErrorOfWhoWaits(t *testing.T) {
	resolver := component.Resolver(func(context.Context, component.Key, component.Hint) (*component.Descriptor, error) { panic("broken") })
	_, err := component.Closure(t.Context(), refersTo("root", "a"), resolver, component.Limits{})
	assert.ErrorContains(t, err, "broke off by a panic")
}

func TestClosureHasLimits(t *testing.T) {
	endless := component.Resolver(func(_ context.Context, k component.Key, _ component.Hint) (*component.Descriptor, error) {
		name := k.Name[len("example.com/"):]
		return refersTo(name, name+"1", name+"2"), nil
	})
	large, err := component.Decode([]byte("meta: {schemaVersion: v2}\ncomponent: {name: example.com/a, version: 1.0.0}"))
	require.NoError(t, err)
	for want, test := range map[string]struct {
		limits   component.Limits
		resolver component.Resolver
	}{
		"more than 10 component versions":   {component.Limits{Components: 10}, endless},
		"behind more than 3 references":     {component.Limits{Depth: 3}, endless},
		"take more than 20 bytes of memory": {component.Limits{Bytes: 20}, newCatalog(large).Resolve},
	} {
		_, err := component.Closure(t.Context(), refersTo("root", "a"), test.resolver, test.limits)
		assert.ErrorContains(t, err, want)
	}
}

// TestAClosureEndsWhileALevelArrives has many large components beside each other.
func TestAClosureEndsWhileALevelArrives(t *testing.T) {
	var others []string
	for i := range 1000 {
		others = append(others, fmt.Sprintf("c%d", i))
	}
	var asked atomic.Int32
	large := component.Resolver(func(_ context.Context, k component.Key, _ component.Hint) (*component.Descriptor, error) {
		asked.Add(1)
		return component.Decode(fmt.Appendf(nil, "meta: {schemaVersion: v2}\ncomponent: {name: %s, version: 1.0.0, labels: [{name: l, value: %s}]}",
			k.Name, strings.Repeat("x", 1000)))
	})
	_, err := component.Closure(t.Context(), refersTo("root", others...), large, component.Limits{Bytes: 20_000, Parallel: 2})
	require.ErrorContains(t, err, "component example.com/root:1.0.0 take more than 20000 bytes of memory; split it")
	assert.Less(t, asked.Load(), int32(25))
}

func TestLocate(t *testing.T) {
	a := refersTo("a")
	a.Resources = []component.Resource{{Element: component.Element{Name: "chart", Version: "1.0.0"}, Type: "helmChart"}}
	root := refersTo("root", "a")
	closed, err := component.Closure(t.Context(), root, newCatalog(a).Resolve, component.Limits{})
	require.NoError(t, err)
	locate := func(uri string) (*component.Descriptor, *component.Resource, error) {
		reference, err := component.ParseReference(uri)
		require.NoError(t, err)
		return closed.Locate(root, reference)
	}
	d, resource, err := locate("cd://componentReferences/a/resources/chart")
	require.NoError(t, err)
	assert.Same(t, a, d)
	assert.Same(t, &a.Resources[0], resource)
	_, _, err = locate("cd://componentReferences/b/resources/chart")
	assert.ErrorContains(t, err, `component example.com/root:1.0.0 has no reference with name "b"; it has: a`)
	_, _, err = locate("cd://resources/chart")
	assert.ErrorContains(t, err, `component example.com/root:1.0.0 has no resource with name "chart"; it has: none`)
	_, err = closed.Follow(&component.Reference{ComponentName: "example.com/z", Element: component.Element{Name: "z", Version: "1.0.0"}})
	assert.ErrorIs(t, err, component.ErrNotFound)
}

func TestViewAll(t *testing.T) {
	closed, err := component.Closure(t.Context(), refersTo("root", "a"), newCatalog(refersTo("a")).Resolve, component.Limits{})
	require.NoError(t, err)
	v2 := closed.ViewAll(component.SchemaV2).(map[string]any)
	assert.Equal(t, map[string]any{"schemaVersion": "v2"}, v2["meta"])
	assert.Equal(t, "example.com/a", v2["components"].([]any)[1].(map[string]any)["component"].(map[string]any)["name"])
	v3 := closed.ViewAll(component.SchemaV3).([]any)
	assert.Equal(t, "example.com/a", v3[1].(map[string]any)["metadata"].(map[string]any)["name"])
}

// overwriteList is a list of overwrites as manifests have it.
type overwriteList []v1alpha1.ComponentVersionOverwrite

func (l overwriteList) read() *component.Overwrites { return component.NewOverwrites(l) }

// side makes one side of an overwrite.
func side(repository, name, version string) v1alpha1.ComponentVersionOverwriteReference {
	out := v1alpha1.ComponentVersionOverwriteReference{ComponentName: name, Version: version}
	if repository != "" {
		raw := v1alpha1.NewAnyJSON(fmt.Appendf(nil, `{"type":"OCIRegistry","baseUrl":%q}`, repository))
		out.RepositoryContext = &raw
	}
	return out
}

func registry(t testing.TB, base string) component.Typed {
	return typed(t, fmt.Sprintf("{type: ociRegistry, baseUrl: %s}", base))
}

func TestOverwrites(t *testing.T) {
	before := component.Location{Repository: registry(t, "old"), Key: component.Key{Name: "example.com/a", Version: "1"}}
	for name, test := range map[string]struct {
		overwrites overwriteList
		want       component.Location
		diff       string
	}{
		"none":                  {nil, before, ""},
		"other component":       {overwriteList{{Source: side("", "example.com/b", ""), Substitution: side("", "", "2")}}, before, ""},
		"other repository":      {overwriteList{{Source: side("other", "", ""), Substitution: side("", "", "2")}}, before, ""},
		"same as it was":        {overwriteList{{Substitution: side("old", "example.com/a", "1")}}, before, ""},
		"version of a name":     {overwriteList{{Source: side("", "example.com/a", ""), Substitution: side("", "", "2")}}, component.Location{Repository: before.Repository, Key: component.Key{Name: "example.com/a", Version: "2"}}, "- version: 1\n+ version: 2"},
		"empty source":          {overwriteList{{Substitution: side("", "example.com/b", "")}}, component.Location{Repository: before.Repository, Key: component.Key{Name: "example.com/b", Version: "1"}}, "- componentName: example.com/a\n+ componentName: example.com/b"},
		"repository, by alias":  {overwriteList{{Source: side("old", "example.com/a", "1"), Substitution: side("new", "", "")}}, component.Location{Repository: registry(t, "new"), Key: before.Key}, "- repositoryContext: {\"baseUrl\":\"old\",\"type\":\"ociRegistry\"}\n+ repositoryContext: {\"baseUrl\":\"new\",\"type\":\"OCIRegistry\"}"},
		"parts of several":      {overwriteList{{Substitution: side("", "", "2")}, {Substitution: side("", "example.com/b", "")}}, component.Location{Repository: before.Repository, Key: component.Key{Name: "example.com/b", Version: "2"}}, "- componentName: example.com/a\n+ componentName: example.com/b\n- version: 1\n+ version: 2"},
		"collected parts block": {overwriteList{{Substitution: side("", "", "2")}, {Substitution: side("", "example.com/b", "3")}}, component.Location{Repository: before.Repository, Key: component.Key{Name: "example.com/a", Version: "2"}}, "- version: 1\n+ version: 2"},
		"not recursive":         {overwriteList{{Source: side("", "", "1"), Substitution: side("", "", "2")}, {Source: side("", "", "2"), Substitution: side("", "example.com/c", "")}}, component.Location{Repository: before.Repository, Key: component.Key{Name: "example.com/a", Version: "2"}}, "- version: 1\n+ version: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			got, diff, err := test.overwrites.read().Apply(before)
			require.NoError(t, err)
			assert.Equal(t, test.want.Key, got.Key)
			assert.True(t, test.want.Repository.Equal(got.Repository), "repository is %s", got.Repository)
			assert.Equal(t, test.diff, diff)
		})
	}
}

func TestOverwriteOfNoRepository(t *testing.T) {
	got, diff, err := overwriteList{{Substitution: side("new", "", "")}}.read().Apply(component.Location{Key: key("a")})
	require.NoError(t, err)
	assert.True(t, registry(t, "new").Equal(got.Repository))
	assert.Equal(t, "+ repositoryContext: {\"baseUrl\":\"new\",\"type\":\"OCIRegistry\"}", diff)
}

func TestOverwritesNameTheWrongEntry(t *testing.T) {
	raw := v1alpha1.NewAnyJSON([]byte(`{"baseUrl":"a"}`))
	_, _, err := overwriteList{{}, {Substitution: v1alpha1.ComponentVersionOverwriteReference{RepositoryContext: &raw}}}.
		read().Apply(component.Location{Key: key("a")})
	assert.ErrorContains(t, err, "overwrites[1].substitution: repositoryContext: field type is missing")
}

// version makes a component of any version with references name:version.
func version(name, version string, references ...component.Key) *component.Descriptor {
	d := &component.Descriptor{Schema: component.SchemaV2, Name: "example.com/" + name, Version: version}
	for i, k := range references {
		d.References = append(d.References, component.Reference{
			Element: component.Element{Name: fmt.Sprintf("r%d", i), Version: k.Version}, ComponentName: k.Name,
		})
	}
	return d
}

func TestOverwritesApplyToOverwrittenComponentsToo(t *testing.T) {
	root := version("root", "1.0.0", key("a"))
	b2 := version("b", "2.0.0")
	next := newCatalog(version("a", "2.0.0", key("b")), b2)
	resolver := overwriteList{
		{Source: side("", "example.com/a", ""), Substitution: side("", "", "2.0.0")},
		{Source: side("", "example.com/b", ""), Substitution: side("", "", "2.0.0")},
	}.read().Wrap(component.Typed{}, next.Resolve)
	closed, err := component.Closure(t.Context(), root, resolver, component.Limits{})
	require.NoError(t, err)
	found, err := closed.Component(root, []map[string]string{{"name": "r0"}, {"name": "r0"}})
	require.NoError(t, err)
	assert.Same(t, b2, found)
	assert.Nil(t, closed.Find(key("b")), "the version that was replaced")
}

func TestTwoReferencesOverwrittenToOneComponent(t *testing.T) {
	root := version("root", "1.0.0", key("a"), component.Key{Name: "example.com/a", Version: "2.0.0"})
	next := newCatalog(version("a", "2.0.0", key("c")), refersTo("c"))
	resolver := overwriteList{{Source: side("", "", "1.0.0"), Substitution: side("", "", "2.0.0")}}.read().Wrap(component.Typed{}, next.Resolve)
	next.versions[component.Key{Name: "example.com/c", Version: "2.0.0"}] = version("c", "2.0.0")
	closed, err := component.Closure(t.Context(), root, resolver, component.Limits{})
	require.NoError(t, err)
	assert.Equal(t, []string{"root", "a", "c"}, namesIn(closed))
}

func TestWrapTellsWhereToLook(t *testing.T) {
	for name, test := range map[string]struct {
		hint, want component.Typed
	}{
		"overwritten default": {component.Typed{}, registry(t, "new")},
		"given and kept":      {registry(t, "elsewhere"), registry(t, "elsewhere")},
	} {
		t.Run(name, func(t *testing.T) {
			asked := component.Resolver(func(_ context.Context, k component.Key, hint component.Hint) (*component.Descriptor, error) {
				assert.True(t, test.want.Equal(hint.Repository), "repository is %s", hint.Repository)
				return refersTo("a"), nil
			})
			overwrites := overwriteList{{Source: side("default", "", ""), Substitution: side("new", "", "")}}
			_, err := overwrites.read().Wrap(registry(t, "default"), asked)(t.Context(), key("a"), component.Hint{Repository: test.hint})
			require.NoError(t, err)
		})
	}
}

func TestWrapRefusesAnotherComponent(t *testing.T) {
	liar := component.Resolver(func(context.Context, component.Key, component.Hint) (*component.Descriptor, error) {
		return refersTo("b"), nil
	})
	_, err := overwriteList(nil).read().Wrap(component.Typed{}, liar)(t.Context(), key("a"), component.Hint{})
	assert.ErrorContains(t, err, "holds component example.com/b:1.0.0 where example.com/a:1.0.0 should be")
}
