// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/release"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestSecretsMayBecomeKnownWhileAnErrorIsWorded(t *testing.T) {
	j := &journal{}
	known := make(chan struct{})
	go func() {
		defer close(known)
		j.withhold([]string{"s3cr3t"}, nil)
	}()
	_ = explain("install", Request{}, j, errors.New("the context ended")).Error()
	<-known
	assert.NotContains(t, explain("install", Request{}, j, errors.New("bad s3cr3t")).Error(), "s3cr3t")
}

func TestLogsOfPodsStayAsTheyWereTaken(t *testing.T) {
	j := &journal{}
	j.keepPod("a", "text")
	taken, _ := errors.AsType[*Error](explain("install", Request{}, j, errors.New("failed")))
	j.keepPod("b", "late")
	assert.Equal(t, map[string]string{"a": "text"}, taken.Pods)
}

func TestTheEndOfALogShowsNoPartOfASecret(t *testing.T) {
	key := "-----BEGIN PRIVATE KEY-----\n" + strings.Repeat("c2VjcmV0\n", 30) + "-----END PRIVATE KEY-----\n"
	secrets := sensitive(map[string]any{"privateKey": key, "password": "s3cr3t-and-long"})
	for name, test := range map[string]struct{ log, want string }{
		"of several lines": {key[60:], strings.TrimSuffix(strings.Repeat("***; ", podLogLines), "; ")},
		"cut in a line":    {"one line\n" + strings.Repeat("x", maxReadLog-len("one line\n")-6) + "s3cr3t", "one line"},
		"cut in the only":  {strings.Repeat("x", maxReadLog-6) + "s3cr3t", ""},
		"not cut":          {"one line\nwith s3cr3t-and-long", "one line; with ***"},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, lastOf(redact(wholeLines(test.log), secrets)))
		})
	}
}

func TestAPanicOfHelmIsAnErrorOfWhoWaits(t *testing.T) {
	_, err := untilEnd(t.Context(), func() (*release.Release, error) { panic("broken") })
	require.ErrorContains(t, err, "broke off by a panic")
}

func TestBoundRequestsEndWithTheOperation(t *testing.T) {
	started := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		close(started)
		<-r.Context().Done()
	}))
	defer server.Close()
	operation, cancel := context.WithCancel(t.Context())
	client := &http.Client{Transport: &bound{operation: operation, next: http.DefaultTransport}}
	response, err := client.Get(server.URL)
	require.NoError(t, err)
	defer response.Body.Close()
	<-started
	cancel()
	_, err = io.ReadAll(response.Body)
	require.ErrorIs(t, err, context.Canceled, "a watch ends")
	_, err = client.Get(server.URL)
	require.ErrorIs(t, err, context.Canceled, "no request is sent")
}

func timed(timeout time.Duration) Flags {
	return Flags{ReleaseSettings: helmv1alpha1.ReleaseSettings{Timeout: &v1alpha1.Duration{Duration: timeout}}}
}

func TestBudget(t *testing.T) {
	short, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	for name, tc := range map[string]struct {
		ctx      context.Context
		flags    Flags
		min, max time.Duration
	}{
		"what is left":     {short, Flags{}, 90 * time.Second, 99 * time.Second},
		"configured":       {short, timed(5 * time.Second), 5 * time.Second, 5 * time.Second},
		"never longer":     {short, timed(time.Hour), 90 * time.Second, 99 * time.Second},
		"room for undoing": {short, Flags{ReleaseSettings: helmv1alpha1.ReleaseSettings{Atomic: true}}, 70 * time.Second, 80 * time.Second},
		"no limit":         {t.Context(), Flags{}, unlimitedBudget, unlimitedBudget},
	} {
		t.Run(name, func(t *testing.T) {
			budget := tc.flags.budget(tc.ctx)
			assert.GreaterOrEqual(t, budget, tc.min)
			assert.LessOrEqual(t, budget, tc.max)
		})
	}
}

func TestLoadDirectory(t *testing.T) {
	chart := func(extra fstest.MapFS) fstest.MapFS {
		files := fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: a\nversion: 1.0.0\n")}}
		maps.Copy(files, extra)
		return files
	}
	for name, tc := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"good":               {chart(nil), ""},
		"no chart":           {fstest.MapFS{"a": {}}, "no Chart.yaml"},
		"library":            {chart(fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: a\nversion: 1.0.0\ntype: library\n")}}), "library chart"},
		"invalid":            {chart(fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: a\n")}}), "version"},
		"missing dependency": {chart(fstest.MapFS{"Chart.yaml": {Data: []byte("apiVersion: v2\nname: a\nversion: 1.0.0\ndependencies: [{name: b, version: 1.0.0}]\n")}}), "b"},
		"huge file":          {chart(fstest.MapFS{"big": {Data: make([]byte, maxChartFile+1)}}), "exceeds the limits"},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := New(Options{})
			require.NoError(t, err)
			_, err = e.LoadDirectory(t.Context(), "n", tc.files, name)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrChart)
			assert.ErrorContains(t, err, tc.want)
		})
	}
}

// packed is an archive of a chart.
func packed(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	writer := tar.NewWriter(zipped)
	for name, content := range files {
		require.NoError(t, writer.WriteHeader(&tar.Header{Name: "chart/" + name, Mode: 0o644, Size: int64(len(content))}))
		_, err := writer.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	require.NoError(t, zipped.Close())
	return out.Bytes()
}

const plainChart = "apiVersion: v2\nname: a\nversion: 1.0.0\n"

func TestWhatHelmDoesNotParseIsNotLimited(t *testing.T) {
	many := "[" + strings.Repeat("1,", 300_000) + "1]"
	e, err := New(Options{})
	require.NoError(t, err)
	chart, err := e.Load(t.Context(), "n", packed(t, map[string]string{
		"Chart.yaml": plainChart, "dashboards/values.json": many, "templates/values.yaml": "{{ x *a & &b }}", "charts/_b.tgz": "a",
		"values.schema.json": "{\n\t\"description\": \"&a or *a\"}", "charts/b/Chart.yaml": plainChart,
	}))
	require.NoError(t, err)
	assert.Equal(t, "a", chart.Name)
}

func TestUnknownDriver(t *testing.T) {
	_, err := New(Options{Driver: "sql"})
	require.ErrorContains(t, err, `"sql" is unknown`)
}

func TestD21PluralsOfDriversMeanTheSame(t *testing.T) {
	for given, want := range map[string]string{
		"": DriverSecret, "secret": DriverSecret, "secrets": DriverSecret, "configmap": DriverConfigMap, "configmaps": DriverConfigMap,
	} {
		t.Run(given, func(t *testing.T) {
			e, err := New(Options{Driver: given})
			require.NoError(t, err)
			assert.Equal(t, want, e.driver)
		})
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("no archive"))
	f.Add([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff})
	e, err := New(Options{})
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, archive []byte) {
		if _, err := e.Load(t.Context(), "n", archive); err != nil {
			assert.ErrorIs(t, err, ErrChart)
		}
	})
}

func FuzzParseManifest(f *testing.F) {
	f.Add("a: 1\n---\nb: 2\n")
	f.Add("- 1")
	f.Add("---\n# only a comment\n")
	f.Fuzz(func(t *testing.T, manifest string) {
		objects, _ := ParseManifest(manifest)
		for _, object := range objects {
			assert.NotEmpty(t, object)
		}
	})
}

func TestTheDigestOfADirectoryIsThatOfItsChart(t *testing.T) {
	e, err := New(Options{})
	require.NoError(t, err)
	load := func(key, template string) string {
		chart, err := e.LoadDirectory(t.Context(), "n", fstest.MapFS{
			"Chart.yaml":        {Data: []byte("apiVersion: v2\nname: a\nversion: 1.0.0\n")},
			"templates/cm.yaml": {Data: []byte(template)},
		}, key)
		require.NoError(t, err)
		return chart.Digest
	}
	first := load("commit-1//chart", "a: b")
	assert.Equal(t, first, load("commit-2//chart", "a: b"), "the commit changed another directory")
	assert.NotEqual(t, first, load("commit-3//chart", "a: c"))
}

func TestChartsBeyondTheirMemoryAreAtFault(t *testing.T) {
	large := string(packed(t, map[string]string{
		"Chart.yaml": plainChart, "a": strings.Repeat("x", maxChartFile), "b": strings.Repeat("x", maxChartFile),
	}))
	files := map[string]string{"Chart.yaml": plainChart}
	for i := range 80 {
		files[fmt.Sprintf("charts/%d.tgz", i)] = large
	}
	e, err := New(Options{})
	require.NoError(t, err)
	_, err = e.Load(t.Context(), "n", packed(t, files))
	require.ErrorIs(t, err, ErrChart)
	assert.ErrorContains(t, err, "384 MiB of memory")
	chart, err := e.Load(t.Context(), "n", packed(t, map[string]string{"Chart.yaml": plainChart}))
	require.NoError(t, err, "others go on")
	assert.Equal(t, "a", chart.Name)
}

func TestNoRevisionsAreKeptThatAreNotRead(t *testing.T) {
	for _, tt := range []struct{ wanted, kept int }{{0, 1000}, {1, 1}, {1001, 1000}} {
		assert.Equal(t, tt.kept, Request{MaxHistory: &tt.wanted}.maxHistory())
	}
	assert.Equal(t, 10, Request{}.maxHistory())
}
