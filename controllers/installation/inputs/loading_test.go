// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

func TestLargeBlueprintsOfANamespaceWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &loadLimit{}
		first, err := l.reserve(t.Context(), "busy")
		require.NoError(t, err)
		first.shrink(unknownSize)
		_, err = l.reserve(t.Context(), "busy")
		require.NoError(t, err)
		began := time.Now()
		_, err = l.reserve(t.Context(), "busy")
		assert.ErrorIs(t, err, ErrLoadLimit)
		assert.Equal(t, reserveTimeout, time.Since(began))

		time.AfterFunc(time.Second, first.Give)
		began = time.Now()
		_, err = l.reserve(t.Context(), "busy")
		require.NoError(t, err)
		assert.Equal(t, time.Second, time.Since(began))

		began = time.Now()
		_, err = l.reserve(t.Context(), "calm")
		require.NoError(t, err)
		assert.Zero(t, time.Since(began), "the other namespace waits for nobody")
	})
}

func TestSmallBlueprintsReserveNothing(t *testing.T) {
	l := &loadLimit{}
	for range 100 {
		r, err := l.reserve(t.Context(), "n")
		require.NoError(t, err)
		r.shrink(smallBlueprint)
	}
}

func TestNothingIsLeftOfReservations(t *testing.T) {
	l := &loadLimit{}
	r, err := l.reserve(t.Context(), "n")
	require.NoError(t, err)
	r.shrink(1 << 20)
	r.Give()
	first, err := l.reserve(t.Context(), "n")
	require.NoError(t, err)
	second, err := l.reserve(t.Context(), "n")
	require.NoError(t, err)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.reserve(ended, "n")
	assert.ErrorIs(t, err, context.Canceled)
	first.Give()
	second.Give()
	(*reservation)(nil).Give()
	assert.Empty(t, l.namespaces)
}

// TestSoakDownloadsThatHangDelayNoOtherBlueprint has as many downloads under way as blueprints may be loaded at once.
func TestSoakDownloadsThatHangDelayNoOtherBlueprint(t *testing.T) {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	document := []byte("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n")
	require.NoError(t, archive.WriteHeader(&tar.Header{Name: "blueprint.yaml", Mode: 0o600, Size: int64(len(document))}))
	_, err := archive.Write(document)
	require.NoError(t, err)
	require.NoError(t, archive.Close())
	require.NoError(t, zipped.Close())
	asked := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if request.URL.Path != "/answers" {
			asked <- struct{}{}
			<-request.Context().Done()
			return
		}
		_, _ = w.Write(packed.Bytes())
	}))
	t.Cleanup(server.Close)
	store, err := fetch.New(fetch.Options{Dir: t.TempDir(), Retries: -1})
	require.NoError(t, err)
	r := &Reader{Artifacts: store}
	source := func(path string, content []byte) flux.Source {
		return flux.Source{Kind: "GitRepository", Namespace: "n", Name: path, URL: server.URL + "/" + path, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(content))}
	}

	ctx, cancel := context.WithCancel(t.Context())
	var hanging sync.WaitGroup
	for i := range namespaceLimit / unknownSize {
		hanging.Go(func() {
			_, _, err := r.fetchBlueprint(ctx, "n", source(fmt.Sprint(i), []byte{byte(i)}), "")
			assert.Error(t, err)
		})
		<-asked
	}
	soon, enough := context.WithTimeout(t.Context(), reserveTimeout/2)
	defer enough()
	blueprint, reserved, err := r.fetchBlueprint(soon, "n", source("answers", packed.Bytes()), "")
	require.NoError(t, err)
	require.NoError(t, blueprint.problem)
	reserved.Give()
	cancel()
	hanging.Wait()
	assert.Empty(t, r.loading.namespaces)
}
