// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/tests/registry"
)

func TestAFlakyRegistrySucceeds(t *testing.T) {
	content := strings.Repeat("x", 100_000)
	for name, fault := range map[string]registry.Fault{
		"every second request is a 500":        registry.EverySecond(registry.Status(http.StatusInternalServerError, 0)),
		"every second request is a 429":        registry.EverySecond(registry.Status(http.StatusTooManyRequests, 0)),
		"every second request is reset":        registry.EverySecond(registry.Reset()),
		"every second blob breaks":             registry.On("GET", "blobs", registry.EverySecond(registry.Cut(50_000))),
		"every second manifest breaks":         registry.On("GET", "manifests", registry.EverySecond(registry.Cut(10))),
		"the first three requests are refused": registry.Times(3, registry.Status(http.StatusBadGateway, 0)),
	} {
		t.Run(name, func(t *testing.T) {
			r := registry.Start(t, registry.Options{})
			ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, content))
			r.Break(fault)
			b, err := newClient(t, nil).Pull(ctx, ref, PullOptions{})
			require.NoError(t, err)
			require.Equal(t, content, string(b.Bytes))
		})
	}
}

func TestAFlakyRegistryTakesUploads(t *testing.T) {
	for name, fault := range map[string]registry.Fault{
		"every second request is a 500": registry.EverySecond(registry.Status(http.StatusInternalServerError, 0)),
		"every second request is reset": registry.EverySecond(registry.Reset()),
		"the upload is a 503":           registry.On("PUT", "uploads", registry.Times(2, registry.Status(http.StatusServiceUnavailable, 0))),
	} {
		t.Run(name, func(t *testing.T) {
			r, c := registry.Start(t, registry.Options{}), newClient(t, nil)
			r.Break(fault)
			_, err := c.PushArtifact(ctx, r.Ref("shop", "1.0.0"), Artifact{Layers: []Source{BytesSource(HelmChartLayer, []byte("chart"))}}, Credentials{})
			require.NoError(t, err)
			r.Break()
			b, err := c.Pull(ctx, r.Ref("shop", "1.0.0"), PullOptions{})
			require.NoError(t, err)
			require.Equal(t, "chart", string(b.Bytes))
		})
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	t.Run("while there is time", func(t *testing.T) {
		r.Break(registry.Times(1, registry.Status(http.StatusTooManyRequests, 1)))
		began := time.Now()
		_, err := newClient(t, nil).Pull(ctx, ref, PullOptions{})
		require.NoError(t, err)
		require.GreaterOrEqual(t, time.Since(began), time.Second)
	})
	t.Run("and not waited for beyond", func(t *testing.T) {
		r.Forget()
		r.Break(registry.On("GET", "", registry.Status(http.StatusTooManyRequests, 3600)))
		_, err := newClient(t, nil).Pull(ctx, ref, PullOptions{})
		require.ErrorContains(t, err, "answers 429")
		require.Equal(t, 1, r.Count("GET", "manifests"), "it was not asked again")
	})
}

// impatient gives up soon, and not so soon that a busy machine keeps it from what a registry answers at once: an answer may take a quarter of
// the time, and a pause of a download as well.
func impatient(t *testing.T) *Client {
	t.Helper()
	return newClient(t, func(o *Options) { o.Timeout = 6 * time.Second })
}

func TestAHangingRegistryIsNamed(t *testing.T) {
	for name, kind := range map[string]string{"download its manifest": "GET manifests", "download its layer": "GET blobs"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := registry.Start(t, registry.Options{})
			ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
			method, what, _ := strings.Cut(kind, " ")
			r.Break(registry.On(method, what, registry.Hang()))
			_, err := impatient(t).Pull(ctx, ref, PullOptions{})
			require.ErrorContains(t, err, r.Host+"/shop:1.0.0")
			require.ErrorContains(t, err, "could not "+name)
			require.ErrorContains(t, err, "timeout")
			require.ErrorContains(t, err, "check that the registry runs and can be reached")
		})
	}
}

func TestARegistryThatHangsWhenAskedIsNamed(t *testing.T) {
	r := registry.Start(t, registry.Options{})
	ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, "chart"))
	r.Break(registry.On("HEAD", "manifests", registry.Hang()))
	_, err := newClient(t, func(o *Options) { o.Timeout = time.Second }).Resolve(ctx, ref, Credentials{})
	require.ErrorContains(t, err, "could not resolve it")
	require.ErrorContains(t, err, "timeout")
}

// TestADownloadThatDoesNotEndIsNamed has registries that send nothing more, or a little from time to time.
func TestADownloadThatDoesNotEndIsNamed(t *testing.T) {
	content := strings.Repeat("c", 80<<10)
	for name, dose := range map[string]int{"stalled": 0, "dripping": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := registry.Start(t, registry.Options{})
			ref, _ := r.Push(t, "shop", "1.0.0", layer(HelmChartLayer, content))
			r.Break(registry.On("GET", "blobs", func(_ *registry.Registry, w http.ResponseWriter, request *http.Request) bool {
				w.Header().Set("Content-Length", fmt.Sprint(len(content)))
				drip(request.Context(), w, content, dose)
				return true
			}))
			_, err := newClient(t, func(o *Options) { o.TransferTimeout = 3 * time.Second }).PullContent(ctx, ref, PullOptions{})
			require.ErrorContains(t, err, r.Host+"/shop:1.0.0")
			require.ErrorContains(t, err, "could not download its layer")
		})
	}
}

// drip writes a dose of the content every 50 milliseconds.
func drip(ctx context.Context, w http.ResponseWriter, content string, dose int) {
	beat := time.NewTicker(50 * time.Millisecond)
	defer beat.Stop()
	for ; content != ""; content = content[dose:] {
		_, _ = io.WriteString(w, content[:dose])
		_ = http.NewResponseController(w).Flush()
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
	}
}
