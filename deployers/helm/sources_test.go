// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	statuses "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// repository is a Helm repository over HTTP that wants a header, if one is set.
type repository struct {
	*httptest.Server
	archive   []byte
	header    string
	digest    bool
	downloads atomic.Int32
}

func newRepository(t *testing.T, packed []byte) *repository {
	r := &repository{archive: packed}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (r *repository) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if r.header != "" && request.Header.Get("Authorization") != r.header {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch request.URL.Path {
	case "/charts/index.yaml":
		entry := "{version: 1.0.0, urls: [files/hello-world.tgz]"
		if r.digest {
			entry += fmt.Sprintf(", digest: %x", sha256.Sum256(r.archive))
		}
		fmt.Fprintf(w, "apiVersion: v1\nentries: {hello-world: [%s}]}\n", entry)
	case "/charts/files/hello-world.tgz":
		r.downloads.Add(1)
		_, _ = w.Write(r.archive)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (r *repository) chart(name, version string) config {
	return config{"helmChartRepo": config{"helmChartRepoUrl": r.URL + "/charts/", "helmChartName": name, "helmChartVersion": version}}
}

// authorize gives the Context credentials for Helm repositories.
func (f *fixture) authorize(auths ...any) {
	f.Helper()
	encoded, err := json.Marshal(config{"auths": auths})
	require.NoError(f, err)
	f.context.Configuration.Configurations = map[string]v1alpha1.AnyJSON{v1alpha1.HelmChartRepoCredentialsKey: v1alpha1.NewAnyJSON(encoded)}
}

func TestC26ChartOfARepository(t *testing.T) {
	f := newFixture(t)
	r := newRepository(t, archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))
	f.configure(config{"chart": r.chart("hello-world", "1.0.0")})
	f.succeed(f.deployer())
	f.configMap("hello-world")
}

func TestChartOfARepositoryIsDownloadedOnce(t *testing.T) {
	f := newFixture(t)
	r := newRepository(t, archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))
	r.digest = true
	d := f.deployer()
	for range 2 {
		f.configure(config{"chart": r.chart("hello-world", "1.0.0")})
		f.newJob()
		f.succeed(d)
	}
	assert.EqualValues(t, 1, r.downloads.Load())
}

func TestAnIndexCannotClaimTheChartOfAnother(t *testing.T) {
	private := newRepository(t, archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))
	private.digest, private.header = true, basic
	f := newFixture(t)
	d := f.deployer()
	f.authorize(config{"url": private.URL, "authHeader": basic})
	f.configure(config{"chart": private.chart("hello-world", "1.0.0")})
	f.succeed(d)

	f.context.Configuration.Configurations = nil
	for name, tc := range map[string]struct{ location, want string }{
		"location of another": {private.URL + "/charts/files/hello-world.tgz", "answers 401"},
		"own location":        {"none.tgz", "answers 404"},
	} {
		t.Run(name, func(t *testing.T) {
			mine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/charts/index.yaml" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				fmt.Fprintf(w, "entries: {hello-world: [{version: 1.0.0, urls: [%s], digest: %x}]}\n", tc.location, sha256.Sum256(private.archive))
			}))
			t.Cleanup(mine.Close)
			f.configure(config{"chart": (&repository{Server: mine}).chart("hello-world", "1.0.0")})
			f.newJob()
			_, err := f.ensure(d)
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// ofRegistry is the chart below the item's path of the registry of the platform.
func (f *fixture) ofRegistry(version string) config {
	return config{"helmChartRepo": config{
		"helmChartRepoUrl": "oci://" + f.platform.Registry.Host + "/" + f.namespace, "helmChartName": "hello-world", "helmChartVersion": version,
	}}
}

func TestD10ChartOfARepositoryInARegistry(t *testing.T) {
	f := newFixture(t)
	for _, version := range []string{"0.1.0+up3.4.5", "1.0.0", "1.2.0", "2.0.0"} {
		f.push("hello-world", version, map[string]string{"templates/cm.yaml": configMapTemplate})
	}
	for wanted, want := range map[string]string{
		"1.0.0": "1.0.0", "1.x": "1.2.0", "*": "2.0.0", "0.x": "0.1.0+up3.4.5", "0.1.0": "0.1.0+up3.4.5", "0.1.0+up3.4.5": "0.1.0+up3.4.5",
	} {
		t.Run(wanted, func(t *testing.T) {
			f.configure(config{"chart": f.ofRegistry(wanted)})
			f.newJob()
			f.succeed(f.deployer())
			assert.Equal(t, want, f.release().ChartVersion)
		})
	}
	f.configure(config{"chart": f.ofRegistry("3.x")})
	f.newJob()
	_, err := f.ensure(f.deployer())
	require.ErrorContains(t, err, `none of its 4 tags is a version in "3.x"`)
	assert.False(t, protocol.IsUnrecoverable(err), "somebody may publish it before the time is up")
}

func TestD10IndexThatNamesARegistry(t *testing.T) {
	files := map[string]string{"templates/cm.yaml": configMapTemplate}
	right := fmt.Sprintf("%x", sha256.Sum256(archive(t, "1.0.0", files)))
	for name, tc := range map[string]struct{ tag, digest, want string }{
		"with a tag":    {":1.0.0", right, ""},
		"without a tag": {"", right, ""},
		"other content": {":1.0.0", strings.Repeat("0", 64), "as its index says"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			location, _, _ := strings.Cut(f.push("hello-world", "1.0.0", files), ":1.0.0")
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				fmt.Fprintf(w, "entries: {hello-world: [{version: 1.0.0, digest: %q, urls: [%q]}]}", tc.digest, "oci://"+location+tc.tag)
			}))
			t.Cleanup(server.Close)
			f.configure(config{"chart": (&repository{Server: server}).chart("hello-world", "1.x")})
			_, err := f.ensure(f.deployer())
			if tc.want != "" {
				require.ErrorContains(t, err, tc.want)
				return
			}
			require.NoError(t, err)
			f.configMap("hello-world")
		})
	}
}

func TestC26MissingChartOfARepository(t *testing.T) {
	r := newRepository(t, nil)
	for name, tc := range map[string]struct {
		chart config
		want  string
	}{
		"chart":      {r.chart("other", "1.0.0"), `has no chart "other"`},
		"version":    {r.chart("hello-world", "0.0.5"), `has no version "0.0.5" of chart "hello-world"`},
		"repository": {config{"helmChartRepo": config{"helmChartRepoUrl": r.URL + "/none", "helmChartName": "a", "helmChartVersion": "1"}}, "answers 404"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.configure(config{"chart": tc.chart})
			_, err := f.ensure(f.deployer())
			require.Error(t, err)
			assert.Contains(t, err.Error(), tc.want)
			assert.False(t, protocol.IsUnrecoverable(err))
		})
	}
}

const basic = "Basic dXNlcjpwYXNzd29yZA=="

func TestC26PrivateRepository(t *testing.T) {
	r := newRepository(t, archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate}))
	r.header = basic
	t.Run("denied", func(t *testing.T) {
		f := newFixture(t)
		f.configure(config{"chart": r.chart("hello-world", "1.0.0")})
		_, err := f.ensure(f.deployer())
		require.Error(t, err)
		assert.Contains(t, err.Error(), "answers 401")
		assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorUnauthorized)
	})
	t.Run("header", func(t *testing.T) {
		f := newFixture(t)
		f.authorize(config{"url": r.URL, "authHeader": "Basic wrong"}, config{"url": r.URL + "/charts", "authHeader": basic})
		f.configure(config{"chart": r.chart("hello-world", "1.0.0")})
		f.succeed(f.deployer())
	})
	t.Run("secret", func(t *testing.T) {
		f := newFixture(t)
		require.NoError(t, f.cluster.Client.Create(f.ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: "login", Namespace: f.namespace}, StringData: map[string]string{"authHeader": basic},
		}))
		f.authorize(config{"url": r.URL, "secretRef": config{"name": "login"}})
		f.configure(config{"chart": r.chart("hello-world", "1.0.0")})
		f.succeed(f.deployer())
	})
	t.Run("other type", func(t *testing.T) {
		f := newFixture(t)
		f.authorize(config{"url": r.URL, "authHeader": "Bearer token-value"})
		f.configure(config{"chart": r.chart("hello-world", "1.0.0")})
		_, err := f.ensure(f.deployer())
		require.Error(t, err)
		assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorConfigurationProblem)
		assert.NotContains(t, err.Error(), "token-value")
	})
}

func TestC26RemoteArchive(t *testing.T) {
	packed := archive(t, "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/chart.tgz":
			_, _ = w.Write(packed)
		case "/moved.tgz":
			http.Redirect(w, r, "/chart.tgz", http.StatusFound)
		case "/away.tgz":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/huge.tgz":
			_, _ = io.CopyN(w, zeros{}, 21<<20)
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	t.Cleanup(server.Close)
	for path, want := range map[string]string{
		"/chart.tgz": "", "/moved.tgz": "", "/away.tgz": "unsupported protocol scheme", "/huge.tgz": "larger than 20 MiB", "/other?token=hidden": "answers 418",
	} {
		t.Run(strings.Trim(path, "/"), func(t *testing.T) {
			f := newFixture(t)
			f.configure(config{"chart": config{"archive": config{"remote": config{"url": server.URL + path}}}})
			_, err := f.ensure(f.deployer())
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, want)
			assert.NotContains(t, err.Error(), "hidden")
		})
	}
}

// zeros is endless.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestM05PrivateChartsAreRefusedWhereTheOperatorWants(t *testing.T) {
	r := newRepository(t, nil)
	f := newFixture(t)
	f.options.PublicOnly = true
	f.configure(config{"chart": config{"archive": config{"remote": config{"url": r.URL + "/chart.tgz"}}}})
	_, err := f.ensure(f.deployer())
	require.ErrorContains(t, err, "the address is not public")
}

func TestNamesOfAPrivateNetworkAreNotToldApart(t *testing.T) {
	told := func(host string) string {
		f := newFixture(t)
		f.options.PublicOnly = true
		f.configure(config{"chart": config{"archive": config{"remote": config{"url": "http://" + host + ":8080/chart.tgz"}}}})
		_, err := f.ensure(f.deployer())
		require.Error(t, err)
		return strings.ReplaceAll(err.Error(), host, "<host>")
	}
	require.Equal(t, told("localhost"), told("nobody.invalid"))
}

func TestC26PrivateRegistryIsDeniedWithoutCredentials(t *testing.T) {
	f := newFixture(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("WWW-Authenticate", `Basic realm="private"`)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(server.Close)
	f.configure(config{"chart": config{"ref": strings.TrimPrefix(server.URL, "http://") + "/charts/hello-world:1.0.0"}})
	_, err := f.ensure(f.deployer())
	require.Error(t, err)
	assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorUnauthorized)
}

// sourceOf is a chart that a Flux source of the item's namespace offers.
func sourceOf(kind, name, path string) config {
	return config{"sourceRef": config{"kind": kind, "name": name}, "path": path}
}

// deploySource applies sources, waits for one and deploys its chart.
func (f *fixture) deploySource(yaml string, source client.Object, chart config) {
	f.Helper()
	require.NoError(f, f.platform.ApplyYAML(f.ctx, fmt.Sprintf(yaml, f.namespace)))
	require.NoError(f, f.platform.AwaitReady(f.ctx, source))
	f.configure(config{"chart": chart, "values": config{"testData": "from flux"}})
	f.succeed(f.deployer())
	assert.Equal(f, "from flux", f.configMap("hello-world")["testData"])
	status, err := statuses.DecodeStatus(f.item.Status.ProviderStatus.Raw)
	require.NoError(f, err)
	assert.NotEmpty(f, status.Release.Source.Revision)
}

func (f *fixture) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Namespace: f.namespace}
}

func TestChartOfAFluxHelmChart(t *testing.T) {
	f := newFixture(t)
	f.push("hello-world", "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})
	f.deploySource(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: %[1]s}
spec: {type: oci, insecure: true, interval: 1h, url: "`+f.platform.Registry.URL(f.namespace)+`"}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: hello, namespace: %[1]s}
spec: {chart: hello-world, version: 1.x, interval: 1h, sourceRef: {kind: HelmRepository, name: charts}}
`, &sourcev1.HelmChart{ObjectMeta: f.meta("hello")}, sourceOf("HelmChart", "hello", ""))
}

// TestChartOfAFluxOCIRepository has an archive that the source has unpacked. TestItemWaitsForItsSourceByWatch has one as it was.
func TestChartOfAFluxOCIRepository(t *testing.T) {
	f := newFixture(t)
	f.push("hello-world", "1.0.0", map[string]string{"templates/cm.yaml": configMapTemplate})
	f.deploySource(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: hello, namespace: %[1]s}
spec:
  interval: 1h
  insecure: true
  url: "`+f.platform.Registry.URL(f.namespace+"/hello-world")+`"
  ref: {semver: 1.x}
  layerSelector: {mediaType: application/vnd.cncf.helm.chart.content.v1.tar+gzip, operation: extract}
`, &sourcev1.OCIRepository{ObjectMeta: f.meta("hello")}, sourceOf("OCIRepository", "hello", ""))
}

func TestChartOfAFluxGitRepository(t *testing.T) {
	f := newFixture(t)
	repo, err := f.platform.Git.CreateRepository(f.ctx, f.namespace)
	require.NoError(t, err)
	_, err = repo.Commit(f.ctx, "Add chart", map[string][]byte{
		"charts/hello/Chart.yaml":             []byte("apiVersion: v2\nname: hello-world\nversion: 1.0.0\n"),
		"charts/hello/templates/cm.yaml":      []byte(configMapTemplate),
		"charts/hello/.helmignore":            []byte("ignored.yaml\n"),
		"charts/hello/templates/ignored.yaml": []byte("{{ fail `not ignored` }}"),
	})
	require.NoError(t, err)
	f.deploySource(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: hello, namespace: %[1]s}
spec: {interval: 1h, url: "`+repo.CloneURL+`", ref: {branch: main}}
`, &sourcev1.GitRepository{ObjectMeta: f.meta("hello")}, sourceOf("GitRepository", "hello", "./charts/hello"))

	f.configure(config{"chart": sourceOf("GitRepository", "hello", "charts/none")})
	f.newJob()
	_, err = f.ensure(f.deployer())
	require.ErrorContains(t, err, `"charts/none"`)
	assert.Contains(t, protocol.CodesOf(err), v1alpha1.ErrorConfigurationProblem)
}

func TestSourceThatCannotBeUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		chart         config
		want          string
		unrecoverable bool
	}{
		"missing":         {sourceOf("OCIRepository", "none", ""), "OCIRepository", false},
		"unknown kind":    {sourceOf("Secret", "none", ""), "chart.sourceRef.kind", true},
		"other namespace": {config{"sourceRef": config{"kind": "HelmChart", "name": "a", "namespace": "other"}}, "--no-cross-namespace-refs", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.configure(config{"chart": tc.chart})
			_, err := f.ensure(f.deployer())
			require.ErrorContains(t, err, tc.want)
			assert.Equal(t, tc.unrecoverable, protocol.IsUnrecoverable(err))
		})
	}
}
