// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/Masterminds/semver/v3"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func TestTags(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{somebody}, Public: []string{"shop", "web"}})
	for _, tag := range []string{"1.0.0", "1.1.0"} {
		r.Push(t, "shop", tag, layer(HelmChartLayer, tag))
	}
	c := newClient(t, nil)
	for name, login := range map[string]Credentials{"nobody": {}, "wrong password": credentials(t, map[string]string{r.Host: "somebody:wrong"})} {
		t.Run(name, func(t *testing.T) {
			tags, err := c.Tags(ctx, "oci://"+r.Host+"/shop", login)
			require.NoError(t, err)
			require.ElementsMatch(t, []string{"1.0.0", "1.1.0"}, tags)
		})
	}
	_, err := c.Tags(ctx, r.Host+"/web", Credentials{})
	require.ErrorIs(t, err, ErrNotFound)
	_, err = c.Tags(ctx, r.Host+"/private", Credentials{})
	require.ErrorIs(t, err, ErrUnauthorized)
}

// listing answers with pages of tags, each with a link to the next, without end.
func listing(perPage int) registry.Fault {
	var pages atomic.Int32
	return registry.On("GET", "tags", func(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) bool {
		tags, page := make([]string, perPage), pages.Add(1)
		for i := range tags {
			tags[i] = fmt.Sprintf("1.%d.%d", page, i)
		}
		w.Header().Set("Link", fmt.Sprintf(`</v2/shop/tags/list?last=%d>; rel="next"`, page))
		_ = json.NewEncoder(w).Encode(map[string]any{"name": "shop", "tags": tags})
		return true
	})
}

func TestPagesOfTagsEnd(t *testing.T) {
	for name, perPage := range map[string]int{"full pages": 10_000, "pages of one": 1, "empty pages": 0} {
		t.Run(name, func(t *testing.T) {
			r := registry.Start(t, registry.Options{Faults: []registry.Fault{listing(perPage)}})
			_, err := newClient(t, nil).Tags(ctx, r.Host+"/shop", Credentials{})
			require.ErrorIs(t, err, ErrTooLarge)
			require.LessOrEqual(t, r.Count("GET", "tags"), maxTagPages)
		})
	}
}

func TestPagesOfTagsAreJoined(t *testing.T) {
	r := registry.Start(t, registry.Options{Faults: []registry.Fault{registry.Times(3, listing(10))}})
	_, err := newClient(t, nil).Tags(ctx, r.Host+"/shop", Credentials{})
	require.ErrorIs(t, err, ErrNotFound, "the fourth page is that of an empty registry")
	r.Push(t, "shop", "2.0.0", layer("x/y", ""))
	r.Break(registry.Times(3, listing(10)))
	tags, err := newClient(t, nil).Tags(ctx, r.Host+"/shop", Credentials{})
	require.NoError(t, err)
	require.Len(t, tags, 31)
}

func TestLatest(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	for _, tag := range []string{"1.0.0", "v1.10.0", "1.9.0", "2.0.0-rc.1", "2.0.0-rc.2", "latest", "3", "4.0", "0.1.0_build", "0.2.0", "0.2.0_up3.4.9", "0.2.0_up3.4.10", "0.3.0-rc.1_up1", "0.4.0_a_b"} {
		r.Push(t, "shop", tag, layer("x/y", tag))
	}
	c := newClient(t, nil)
	for versions, want := range map[string]string{
		"*": "v1.10.0", "1.x": "v1.10.0", "~1.9": "1.9.0", ">=1.0.0 <1.9.0": "1.0.0", ">=2.0.0-0": "2.0.0-rc.2", "1.0.0": "1.0.0",
		"0.1.x": "0.1.0_build", "0.1.0": "0.1.0_build", "0.x": "0.2.0_up3.4.10", "0.2.0": "0.2.0_up3.4.10", "~0.3.0-0": "0.3.0-rc.1_up1",
	} {
		t.Run(versions, func(t *testing.T) {
			tag, err := c.Latest(ctx, r.Host+"/shop", versions, Credentials{})
			require.NoError(t, err)
			require.Equal(t, want, tag)
		})
	}
	_, err := c.Latest(ctx, r.Host+"/shop", ">=5", Credentials{})
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "none of its 14 tags")
	_, err = c.Latest(ctx, r.Host+"/shop", "one", Credentials{})
	require.ErrorIs(t, err, ErrInvalid)
}

func TestEqualVersionsHaveAnOrder(t *testing.T) {
	any, err := semver.NewConstraint("*")
	require.NoError(t, err)
	require.Equal(t, "1.0.0", highest([]string{"v1.0.0", "1.0.0"}, any))
	require.Equal(t, "1.0.0", highest([]string{"1.0.0", "v1.0.0"}, any))
}
