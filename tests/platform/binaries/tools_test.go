// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLockIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := TryLock(path)
	require.NoError(t, err)
	_, err = TryLock(path)
	require.ErrorIs(t, err, syscall.EWOULDBLOCK)
	require.NoError(t, first.Close())
	second, err := TryLock(path)
	require.NoError(t, err)
	require.NoError(t, second.Close())
}

func TestWaitingForTheLockSaysForWhom(t *testing.T) {
	var said bytes.Buffer
	s := &store{root: t.TempDir(), log: &said}
	release, err := s.lock(t.Context(), "etcd")
	require.NoError(t, err)
	defer release()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no patience"))

	_, err = s.lock(ctx, "kube-apiserver")

	require.ErrorContains(t, err, "no patience")
	assert.Contains(t, said.String(), "which provides etcd")
}

func TestAssetsFolderIsHonoured(t *testing.T) {
	assets := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", assets)
	require.NoError(t, os.WriteFile(filepath.Join(assets, "etcd"), nil, 0o755))

	path, ok := fromAssets(recipe{component: Etcd, envtest: true})
	assert.True(t, ok)
	assert.Equal(t, filepath.Join(assets, "etcd"), path)
	_, ok = fromAssets(recipe{component: APIServer, envtest: true})
	assert.False(t, ok, "kube-apiserver is not in the folder")
}

func TestCacheFolderFollowsTheModule(t *testing.T) {
	s := &store{root: "cache", source: t.TempDir()}
	r := recipe{module: serversModule}
	require.NoError(t, os.MkdirAll(s.moduleSource(r), 0o755))
	goMod := filepath.Join(s.moduleSource(r), "go.mod")
	require.NoError(t, os.WriteFile(goMod, []byte("module a"), 0o600))
	first := s.dir(r)

	require.NoError(t, os.WriteFile(goMod, []byte("module b"), 0o600))

	assert.NotEqual(t, first, s.dir(r))
	assert.NotEqual(t, s.dir(r), s.dir(recipe{module: serversModule, ldflags: "-s"}))
}

func TestCRDsThatAreThereNeedNoModule(t *testing.T) {
	s := &store{root: t.TempDir(), source: t.TempDir(), log: &bytes.Buffer{}}
	r := recipe{component: HelmController, module: rareModule, crds: "example.com/helm-controller"}
	require.NoError(t, os.MkdirAll(s.crdDir(r), 0o755))

	folder, err := s.definitions(t.Context(), r)

	require.NoError(t, err)
	assert.Equal(t, s.crdDir(r), folder)
	_, err = CRDs(t.Context(), &bytes.Buffer{}, Etcd)
	assert.ErrorContains(t, err, "etcd brings no CRDs")
}
