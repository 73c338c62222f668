// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// emptyStore is a store whose go command has downloaded nothing yet and asks one proxy only.
func emptyStore(t *testing.T, proxy string) *store {
	t.Helper()
	t.Setenv("GOMODCACHE", filepath.Join(t.TempDir(), "modules"))
	t.Setenv("GOPROXY", proxy)
	source, err := RepositoryRoot()
	require.NoError(t, err)
	return &store{root: t.TempDir(), source: source, log: &bytes.Buffer{}}
}

func rareRecipe(t *testing.T) recipe {
	t.Helper()
	for _, r := range recipes {
		if r.component == NotificationController {
			return r
		}
	}
	t.Fatal("no recipe")
	return recipe{}
}

func TestAModuleThatNobodyServesIsNotDownloaded(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer proxy.Close()
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for name, address := range map[string]string{"refused": proxy.URL, "unreachable": closed.URL, "off": "off"} {
		t.Run(name, func(t *testing.T) {
			s := emptyStore(t, address)

			_, err := s.obtain(t.Context(), rareRecipe(t))

			require.ErrorIs(t, err, ErrNotDownloaded)
			assert.Contains(t, err.Error(), "github.com/fluxcd/notification-controller", "the reason names the module")
		})
	}
}

func TestAModuleWithOtherContentFails(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if filepath.Ext(r.URL.Path) == ".mod" {
			_, _ = w.Write([]byte("module github.com/fluxcd/notification-controller\n"))
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	defer proxy.Close()
	s := emptyStore(t, proxy.URL)

	_, err := s.obtain(t.Context(), rareRecipe(t))

	require.ErrorContains(t, err, "checksum mismatch")
	assert.NotErrorIs(t, err, ErrNotDownloaded)
}

func TestARareComponentBlocksNoOther(t *testing.T) {
	s := &store{root: t.TempDir(), log: &bytes.Buffer{}}
	release, err := s.lockFor(t.Context(), rareRecipe(t))
	require.NoError(t, err)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	other, err := s.lockFor(ctx, recipe{component: Etcd})
	require.NoError(t, err)
	other()
	_, err = s.lockFor(ctx, rareRecipe(t))
	require.Error(t, err, "two builds of the same one")
	assert.False(t, rareRecipe(t).wanted(nil), "only who names it gets it")
	assert.True(t, rareRecipe(t).wanted([]Component{NotificationController}))
}
