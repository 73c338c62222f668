// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package charts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/components"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/fetch"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
)

const (
	// largestChart is what one call of a tenant may have in memory where there are no others.
	largestChart = 128 << 20
	// large is the size of charts and indexes that count.
	large = 3 << 20
)

// largeServer offers a chart, and indexes, that count.
type largeServer struct {
	*httptest.Server
	chart []byte
}

func newLargeServer(t *testing.T) *largeServer {
	s := &largeServer{chart: bytes.Repeat([]byte("x"), large)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *largeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	layer := ocispec.Descriptor{MediaType: oci.HelmChartLayer, Digest: digest.FromBytes(s.chart), Size: large}
	config := ocispec.Descriptor{MediaType: "application/vnd.cncf.helm.config.v1+json", Digest: digest.FromString("{}"), Size: 2}
	manifest, _ := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": ocispec.MediaTypeImageManifest, "config": config, "layers": []ocispec.Descriptor{layer},
	})
	switch path := r.URL.Path; {
	case path == "/small/index.yaml":
		fmt.Fprintf(w, "entries: {hello: [{version: 1.0.0, urls: [%s/hello.tgz]}]}", s.URL)
	case path == "/large/index.yaml":
		fmt.Fprintf(w, "entries: {hello: [{version: 1.0.0, urls: [oci://none.example.invalid/hello]}]}\n#%s", strings.Repeat("x", large))
	case path == "/hello.tgz", strings.HasSuffix(path, "/blobs/"+layer.Digest.String()):
		w.Header().Set("Content-Length", fmt.Sprint(len(s.chart)))
		_, _ = w.Write(s.chart)
	case strings.Contains(path, "/manifests/"):
		w.Header().Set("Content-Type", ocispec.MediaTypeImageManifest)
		w.Header().Set("Docker-Content-Digest", digest.FromBytes(manifest).String())
		_, _ = w.Write(manifest)
	case path == "/v2/":
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// finder returns one that looks into no charts.
func (s *largeServer) finder(t *testing.T) *Finder {
	t.Helper()
	e, err := engine.New(engine.Options{Unread: true})
	require.NoError(t, err)
	registries, err := oci.New(oci.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	artifacts, err := fetch.New(fetch.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	f, err := New(e, components.Access{Registries: registries, Artifacts: artifacts})
	require.NoError(t, err)
	return f
}

// way gets something large.
type way func(context.Context, *Finder, *contract.Item) error

func (s *largeServer) ways() map[string]way {
	asChart := func(chart *engine.Chart, err error) error {
		if err == nil && chart == nil {
			return fmt.Errorf("no chart")
		}
		return err
	}
	repositoryOf := func(path string) *helmv1alpha1.HelmChartRepo {
		return &helmv1alpha1.HelmChartRepo{HelmChartRepoUrl: s.URL + path, HelmChartName: "hello", HelmChartVersion: "1.0.0"}
	}
	return map[string]way{
		"archive": func(ctx context.Context, f *Finder, item *contract.Item) error {
			return asChart(f.fromArchive(ctx, item, &helmv1alpha1.ArchiveAccess{Remote: &helmv1alpha1.RemoteArchiveAccess{URL: s.URL + "/hello.tgz"}}))
		},
		"chart of a repository": func(ctx context.Context, f *Finder, item *contract.Item) error {
			return asChart(f.fromRepository(ctx, item, repositoryOf("/small"), ""))
		},
		"index of a repository": func(ctx context.Context, f *Finder, item *contract.Item) error {
			_, err := f.entryOf(ctx, item, nil, s.URL+"/large", repositoryOf("/large"))
			return err
		},
		"chart of a registry": func(ctx context.Context, f *Finder, item *contract.Item) error {
			return asChart(f.fromRegistry(ctx, item, strings.TrimPrefix(s.URL, "http://")+"/hello:1.0.0"))
		},
		"file of a Flux source": func(ctx context.Context, f *Finder, item *contract.Item) error {
			return asChart(f.fromFile(ctx, item, fetch.Artifact{URL: s.URL + "/hello.tgz", Digest: digest.FromBytes(s.chart).String()}, "chart.sourceRef"))
		},
		"content of a component": func(ctx context.Context, f *Finder, item *contract.Item) error {
			content := &repository.Blob{ReadSeekCloser: closing{bytes.NewReader(s.chart)}, Size: large, Digest: digest.FromBytes(s.chart)}
			return asChart(f.fromAccess(ctx, item, "chart.resourceRef", &repository.Chart{Content: content}))
		},
	}
}

type closing struct{ io.ReadSeeker }

func (closing) Close() error { return nil }

// TestWhatIsLargeWaitsForRoomWhereverItComesFrom has another call of the tenant hold all that there is.
func TestWhatIsLargeWaitsForRoomWhereverItComesFrom(t *testing.T) {
	s := newLargeServer(t)
	for name, get := range s.ways() {
		t.Run(name, func(t *testing.T) {
			f, item := s.finder(t), &contract.Item{DeployItem: &v1alpha1.DeployItem{}}
			item.DeployItem.Namespace = "n"
			busy, endBusy := f.engine.Session(t.Context(), "n")
			defer endBusy()
			require.NoError(t, f.engine.Reserve(busy, largestChart))

			ctx, cancel := context.WithCancel(t.Context())
			waiting, isWaiting := ctx, false
			waiting, end := f.engine.Session(engine.OnWait(waiting, func() { isWaiting = true; cancel() }), "n")
			defer end()
			require.ErrorIs(t, get(waiting, f, item), context.Canceled)
			assert.True(t, isWaiting)

			calm, endCalm := f.engine.Session(engine.OnWait(t.Context(), func() { t.Error("another tenant waits") }), "calm")
			defer endCalm()
			require.NoError(t, get(calm, f, item))
		})
	}
}

// TestAnIndexIsLetGoWhenItIsRead has a call that waits with its chart hold up nobody with the index.
func TestAnIndexIsLetGoWhenItIsRead(t *testing.T) {
	s := newLargeServer(t)
	f, item := s.finder(t), &contract.Item{DeployItem: &v1alpha1.DeployItem{}}
	ctx, end := f.engine.Session(t.Context(), "n")
	defer end()
	require.NoError(t, s.ways()["index of a repository"](ctx, f, item))
	other, endOther := f.engine.Session(engine.OnWait(t.Context(), func() { t.Error("it waits") }), "n")
	defer endOther()
	assert.NoError(t, f.engine.Reserve(other, largestChart))
}

func TestAChartThatGetsNoRoomIsAskedForAgain(t *testing.T) {
	failure := kit.AsFailure("", badChart("chart.ref", fmt.Errorf("load: %w", engine.ErrChartsBusy)))
	assert.Equal(t, kit.Retry, failure.Kind)
	assert.Equal(t, "ChartsBusy", failure.Reason)
}
