// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

// at makes a client with its cache in dir, which stands for a process.
func at(t *testing.T, dir string) *Client {
	return newClient(t, func(o *Options) { o.Dir = dir })
}

func as(t *testing.T, r *registry.Registry, l string) PullOptions {
	return PullOptions{Credentials: credentials(t, map[string]string{r.Host: l})}
}

func TestARestartCausesNoDownload(t *testing.T) {
	r, dir := registry.Start(t, registry.Options{}), t.TempDir()
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	_, err := at(t, dir).Pull(ctx, ref, PullOptions{})
	require.NoError(t, err)
	r.Forget()
	b, err := at(t, dir).Pull(ctx, ref, PullOptions{})
	require.NoError(t, err)
	require.Equal(t, "chart", string(b.Bytes))
	require.Zero(t, r.Count("GET", "blobs")+r.Count("GET", "manifests"))
	require.Equal(t, 1, r.Count("HEAD", "manifests"))
}

func TestDamagedContentIsFetchedAgain(t *testing.T) {
	r, dir := registry.Start(t, registry.Options{}), t.TempDir()
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	_, err := at(t, dir).Pull(ctx, ref, PullOptions{})
	require.NoError(t, err)
	walk(t, dir, func(path string, content []byte) {
		if string(content) == "chart" {
			require.NoError(t, os.WriteFile(path, []byte("chArt"), 0o600))
		}
	})
	b, err := at(t, dir).Pull(ctx, ref, PullOptions{})
	require.NoError(t, err)
	require.Equal(t, "chart", string(b.Bytes))
	require.Equal(t, 2, r.Count("GET", "blobs"))
}

func walk(t *testing.T, dir string, visit func(path string, content []byte)) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		visit(path, content)
		return err
	}))
}

func TestTheDiskShowsNoNames(t *testing.T) {
	r, dir := registry.Start(t, registry.Options{Users: []registry.User{{Name: "somebody", Password: "hunter2"}}, Token: true}), t.TempDir()
	ref, _ := r.Push(t, "team/shop", "rc-7", layer(HelmChartLayer, "chart"))
	_, err := at(t, dir).Pull(ctx, ref, as(t, r, "somebody:hunter2"))
	require.NoError(t, err)
	seen := 0
	walk(t, dir, func(path string, content []byte) {
		seen++
		name := strings.TrimPrefix(path, dir)
		for _, secret := range []string{"somebody", "hunter2", r.Host, "shop", "rc-7"} {
			require.NotContains(t, name, secret)
			if !strings.HasSuffix(name, "/content") {
				require.False(t, bytes.Contains(content, []byte(secret)), "%s in %s", secret, name)
			}
		}
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, "%s is for the owner alone", name)
	})
	require.Greater(t, seen, 3)
}

func TestADownRegistryIsTolerated(t *testing.T) {
	for name, fault := range map[string]func(*registry.Registry){
		"connection refused": (*registry.Registry).Down,
		"503":                func(r *registry.Registry) { r.Break(registry.Status(http.StatusServiceUnavailable, 0)) },
		"reset":              func(r *registry.Registry) { r.Break(registry.Reset()) },
		"hanging":            func(r *registry.Registry) { r.Break(registry.Hang()) },
	} {
		t.Run(name, func(t *testing.T) {
			r, dir := registry.Start(t, registry.Options{}), t.TempDir()
			ref, manifest := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
			fresh, err := at(t, dir).Pull(ctx, ref, PullOptions{})
			require.NoError(t, err)
			require.False(t, fresh.Stale)
			fault(r)
			restarted := newClient(t, func(o *Options) { o.Dir, o.Timeout = dir, 3*time.Second })
			b, err := restarted.Pull(ctx, ref, PullOptions{})
			require.NoError(t, err)
			require.True(t, b.Stale)
			require.Equal(t, "chart", string(b.Bytes))
			require.Equal(t, manifest, b.ManifestDigest)
			resolved, err := restarted.Resolve(ctx, ref, Credentials{})
			require.NoError(t, err)
			require.True(t, resolved.Stale)
			require.Equal(t, manifest, resolved.Digest)
			_, err = restarted.Pull(ctx, r.Ref("shop", "2.0.0"), PullOptions{})
			require.Error(t, err, "nothing is known about another tag")
			require.ErrorContains(t, err, "check that the registry runs")
		})
	}
}

func TestTheRegistryIsAskedAgainWhenItIsUp(t *testing.T) {
	r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
	ref, _ := r.Push(t, "shop", "latest", layer(HelmChartLayer, "one"))
	_, err := c.Pull(ctx, ref, PullOptions{})
	require.NoError(t, err)
	r.Down()
	b, err := c.Pull(ctx, ref, PullOptions{})
	require.NoError(t, err)
	require.True(t, b.Stale)
	r.Push(t, "shop", "latest", layer(HelmChartLayer, "two"))
	r.Up(t)
	b, err = c.Pull(ctx, ref, PullOptions{})
	require.NoError(t, err)
	require.False(t, b.Stale)
	require.Equal(t, "two", string(b.Bytes))
}

func TestAnAnswerIsNotTolerated(t *testing.T) {
	for name, tc := range map[string]struct {
		status int
		kind   error
	}{
		"401": {http.StatusUnauthorized, ErrUnauthorized},
		"403": {http.StatusForbidden, ErrUnauthorized},
		"404": {http.StatusNotFound, ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
			ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
			_, err := c.Pull(ctx, ref, PullOptions{})
			require.NoError(t, err)
			r.Break(registry.Status(tc.status, 0))
			_, err = c.Pull(ctx, ref, PullOptions{})
			require.ErrorIs(t, err, tc.kind)
			r.Down()
			_, err = c.Pull(ctx, ref, PullOptions{})
			require.ErrorContains(t, err, "connection refused", "what was withdrawn is not served later either")
		})
	}
}

func TestOnlyTheirOwnGrantHelpsWhileTheRegistryIsDown(t *testing.T) {
	r := registry.Start(t, registry.Options{Users: []registry.User{{Name: "a", Password: "1"}, {Name: "b", Password: "2"}}})
	ref, _ := r.Push(t, "private", "1.0.0", layer(HelmChartLayer, "secret chart"))
	c := newClient(t, nil)
	_, err := c.Pull(ctx, ref, as(t, r, "a:1"))
	require.NoError(t, err)
	r.Down()
	_, err = c.Pull(ctx, ref, as(t, r, "a:1"))
	require.NoError(t, err)
	for name, o := range map[string]PullOptions{"anonymous": {}, "wrong password": as(t, r, "a:2"), "a good login that never asked": as(t, r, "b:2")} {
		t.Run(name, func(t *testing.T) {
			_, err := c.Pull(ctx, ref, o)
			require.ErrorContains(t, err, "connection refused")
		})
	}
}

// A registry in the hands of a tenant claims that its tag stands for the digest of somebody else's manifest.
func TestAClaimedDigestGivesNoAccess(t *testing.T) {
	private := registry.Start(t, registry.Options{Users: []registry.User{{Name: "a", Password: "1"}}})
	ref, stolen := private.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "secret chart"))
	c := newClient(t, nil)
	m, err := c.Manifest(ctx, ref, as(t, private, "a:1").Credentials)
	require.NoError(t, err)
	evil := registry.Start(t, registry.Options{})
	evil.Break(registry.On("HEAD", "", func(_ *registry.Registry, w http.ResponseWriter, _ *http.Request) bool {
		w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
		w.Header().Set("Docker-Content-Digest", string(stolen))
		w.Header().Set("Content-Length", strconv.Itoa(len(m.Raw)))
		return true
	}))
	_, err = c.Manifest(ctx, evil.Ref("shop", "1.0.0"), Credentials{})
	require.ErrorIs(t, err, ErrNotFound, "the registry has to hand it out itself")
}

func TestPullsShareOneDownload(t *testing.T) {
	r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
	content := strings.Repeat("x", 1<<20)
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, content))
	const callers = 20
	results := make(chan error, callers)
	for range callers {
		go func() {
			opened, err := c.PullContent(ctx, ref, PullOptions{})
			if err == nil {
				_, err = io.Copy(io.Discard, opened)
				_ = opened.Close()
			}
			results <- err
		}()
	}
	for range callers {
		require.NoError(t, <-results)
	}
	require.Equal(t, 1, r.Count("GET", "blobs"))
}

func TestADownloadGoesOnWhenNobodyWaits(t *testing.T) {
	arrived, goOn := make(chan struct{}), make(chan struct{})
	r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	waiting, leave := context.WithCancel(ctx)
	r.Break(registry.On("GET", "blobs", func(_ *registry.Registry, _ http.ResponseWriter, _ *http.Request) bool {
		close(arrived)
		<-goOn
		return false
	}))
	go func() { <-arrived; leave() }()
	_, err := c.PullContent(waiting, ref, PullOptions{})
	require.ErrorIs(t, err, context.Canceled)
	close(goOn)
	b, err := c.Pull(ctx, ref, PullOptions{})
	require.NoError(t, err)
	require.Equal(t, digest.FromString("chart"), b.Digest)
	require.Equal(t, 1, r.Count("GET", "blobs"))
}

func TestContentLargerThanTheCache(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	c := newClient(t, func(o *Options) { o.Dir, o.CacheBytes = t.TempDir(), 1 })
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	content, err := c.PullContent(ctx, ref, PullOptions{})
	require.NoError(t, err)
	read, err := io.ReadAll(content)
	require.NoError(t, err)
	require.Equal(t, "chart", string(read))
	require.NoError(t, content.Close())
	walk(t, c.options.Dir, func(path string, _ []byte) { require.NotEqual(t, "content", filepath.Base(path)) })
}
