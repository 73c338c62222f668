// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform_test

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/tests/platform"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/binaries"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/programs"
	"github.com/flux-landscaper/flux-landscaper/tests/platform/servers"
)

func TestMain(m *testing.M) {
	os.Exit(platform.Main(m, platform.Options{
		ControllerManager: true, Flux: true, Git: true, Registry: true, Audit: true,
	}))
}

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestCommitReachesTheClusterThroughFlux(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	namespace := p.Namespace(t)
	repo, err := p.Git.CreateRepository(ctx, namespace)
	require.NoError(t, err)
	revision, err := repo.Commit(ctx, "Say hello", map[string][]byte{"deploy/hello.yaml": []byte(`
apiVersion: v1
kind: ConfigMap
metadata: {name: hello}
data: {greeting: hello}
`)})
	require.NoError(t, err)

	started := time.Now()
	require.NoError(t, p.ApplyYAML(ctx, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: hello, namespace: %[1]s}
spec: {interval: 1h, url: %[2]q, ref: {branch: main}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: hello, namespace: %[1]s}
spec:
  interval: 1h
  path: ./deploy
  prune: true
  wait: true
  targetNamespace: %[1]s
  sourceRef: {kind: GitRepository, name: hello}
`, namespace, repo.CloneURL)))
	kustomization := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Name: "hello", Namespace: namespace}}
	require.NoError(t, p.AwaitReady(ctx, kustomization))
	t.Logf("Kustomization ready after %s", time.Since(started).Round(time.Millisecond))

	assert.Equal(t, revision, kustomization.Status.LastAppliedRevision)
	configMap := &corev1.ConfigMap{}
	require.NoError(t, p.Client().Get(ctx, client.ObjectKey{Name: "hello", Namespace: namespace}, configMap))
	assert.Equal(t, "hello", configMap.Data["greeting"])
}

func TestFluxFetchesAnArtifactFromTheRegistry(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	namespace := p.Namespace(t)
	digest, err := p.Registry.PushFluxArtifact(ctx, namespace+"/shop", "1.2.3", servers.Files(map[string]string{"a.yaml": "a: 1"}))
	require.NoError(t, err)

	source := ociRepository(namespace, p.Registry.URL(namespace+"/shop"))
	require.NoError(t, p.Client().Create(ctx, source))
	require.NoError(t, p.AwaitReady(ctx, source))

	assert.Equal(t, "1.2.3@"+digest, source.Status.Artifact.Revision)
}

func TestFluxFetchesAHelmChartFromTheRegistry(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	namespace := p.Namespace(t)
	chart, err := servers.PackageChart(servers.Files(map[string]string{
		"Chart.yaml":        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n",
	}))
	require.NoError(t, err)
	_, err = p.Registry.PushHelmChart(ctx, namespace+"/web", "1.0.0", chart)
	require.NoError(t, err)

	require.NoError(t, p.ApplyYAML(ctx, fmt.Sprintf(`
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmRepository
metadata: {name: charts, namespace: %[1]s}
spec: {type: oci, insecure: true, interval: 1h, url: %[2]q}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: HelmChart
metadata: {name: web, namespace: %[1]s}
spec: {chart: web, version: 1.x, interval: 1h, sourceRef: {kind: HelmRepository, name: charts}}
`, namespace, p.Registry.URL(namespace))))
	fetched := &sourcev1.HelmChart{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: namespace}}
	require.NoError(t, p.AwaitReady(ctx, fetched))

	assert.Equal(t, "1.0.0", fetched.Status.Artifact.Revision)
}

func ociRepository(namespace, url string) *sourcev1.OCIRepository {
	return &sourcev1.OCIRepository{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: namespace},
		Spec: sourcev1.OCIRepositorySpec{
			URL:       url,
			Insecure:  true,
			Interval:  metav1.Duration{Duration: time.Hour},
			Reference: &sourcev1.OCIRepositoryRef{SemVer: ">=1.0.0"},
		},
	}
}

func TestRegistryCountsDownloads(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	namespace := p.Namespace(t)
	_, err := p.Registry.PushFluxArtifact(ctx, namespace+"/shop", "1.0.0", servers.Files(map[string]string{"count": namespace}))
	require.NoError(t, err)
	started := time.Now()

	source := ociRepository(namespace, p.Registry.URL(namespace+"/shop"))
	require.NoError(t, p.Client().Create(ctx, source))
	require.NoError(t, p.AwaitReady(ctx, source))

	var layers int
	for _, request := range p.Registry.Requests(started) {
		if request.Repository == namespace+"/shop" && request.Kind == "blobs" && request.Method == "GET" {
			assert.Positive(t, p.Registry.Downloads(started)[request.Reference])
			layers++
		}
	}
	assert.Positive(t, layers)
}

func TestUnavailableServersRefuseEverything(t *testing.T) {
	p := platform.Shared(t)
	p.Registry.Unavailable(true)
	p.Git.Unavailable(true)
	t.Cleanup(func() {
		p.Registry.Unavailable(false)
		p.Git.Unavailable(false)
	})

	for _, url := range []string{"http://" + p.Registry.Host + "/v2/", p.Git.URL + "/any.git/info/refs"} {
		response, err := http.Get(url)
		require.NoError(t, err)
		assert.NoError(t, response.Body.Close())
		assert.Equal(t, http.StatusServiceUnavailable, response.StatusCode, url)
	}
}

func TestCommitDeletesFilesWithoutContent(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	repo, err := p.Git.CreateRepository(ctx, p.Namespace(t))
	require.NoError(t, err)
	_, err = repo.Commit(ctx, "Add", map[string][]byte{"a/b.yaml": []byte("b"), "c.yaml": {}})
	require.NoError(t, err)

	_, err = repo.Commit(ctx, "Remove", map[string][]byte{"a/b.yaml": nil})
	require.NoError(t, err)

	clone := t.TempDir()
	require.NoError(t, exec.Command("git", "clone", "--quiet", repo.CloneURL, clone).Run())
	assert.NoFileExists(t, clone+"/a/b.yaml")
	assert.FileExists(t, clone+"/c.yaml")
}

func TestRepositoryTakesAPersonsPush(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	repo, err := p.Git.CreateRepository(ctx, p.Namespace(t)+"/pushed")
	require.NoError(t, err)
	_, err = repo.Commit(ctx, "Begin", nil)
	require.NoError(t, err)

	out, err := exec.Command("git", "-C", repo.Dir, "push", repo.CloneURL, "main:other").CombinedOutput()

	require.NoError(t, err, "%s", out)
}

func TestArtifactsWithTheSameContentHaveTheSameDigest(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	files := servers.Files(map[string]string{"b/c.yaml": "c: 1", "a.yaml": "a: 1"})

	first, err := p.Registry.PushFluxArtifact(ctx, "same/one", "1.0.0", files)
	require.NoError(t, err)
	second, err := p.Registry.PushFluxArtifact(ctx, "same/two", "1.0.0", files)
	require.NoError(t, err)

	assert.Equal(t, first, second)
}

func TestRequestsCountAWatchOnce(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	config, err := p.NewUser("watcher", "system:masters")
	require.NoError(t, err)
	watcher, err := client.NewWithWatch(config, client.Options{})
	require.NoError(t, err)
	since := time.Now()
	for range 3 {
		stream, err := watcher.Watch(ctx, &corev1.ConfigMapList{}, client.InNamespace("default"))
		require.NoError(t, err)
		stream.Stop()
		for range stream.ResultChan() {
		}
	}

	requests, err := p.Requests(ctx, since)
	require.NoError(t, err)

	watches := slices.DeleteFunc(requests, func(r platform.Request) bool { return r.User != "watcher" || r.Verb != "watch" })
	assert.Len(t, watches, 3)
}

func TestUserHasNoRightsOfItsOwn(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	config, err := p.NewUser("stranger")
	require.NoError(t, err)
	stranger, err := client.New(config, client.Options{})
	require.NoError(t, err)

	err = stranger.List(ctx, &corev1.SecretList{})

	require.True(t, apierrors.IsForbidden(err), "%v", err)
	assert.Contains(t, err.Error(), `User "stranger" cannot list resource "secrets"`)
}

func TestRequestsNameUserVerbAndResource(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	namespace := p.Namespace(t)
	config, err := p.NewUser("writer", "system:masters")
	require.NoError(t, err)
	writer, err := client.New(config, client.Options{})
	require.NoError(t, err)
	configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "counted", Namespace: namespace}}
	require.NoError(t, writer.Create(ctx, configMap.DeepCopy()))
	since := time.Now()
	require.NoError(t, writer.Delete(ctx, configMap))
	require.Error(t, writer.Delete(ctx, configMap))

	requests, err := p.Requests(ctx, since)
	require.NoError(t, err)

	var codes []int
	for _, request := range requests {
		if request.User == "writer" && request.Writes() {
			assert.Equal(t, []string{"delete", "configmaps", namespace, "counted"},
				[]string{request.Verb, request.Resource, request.Namespace, request.Name})
			codes = append(codes, request.Code)
		}
	}
	assert.Equal(t, []int{200, 404}, codes)
}

func TestControllerManagerEmptiesDeletedNamespaces(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "doomed-"}}
	require.NoError(t, p.Client().Create(ctx, namespace))

	require.NoError(t, p.Client().Delete(ctx, namespace))

	require.NoError(t, p.AwaitGone(ctx, namespace))
}

func TestSecondClusterHasDataOfItsOwn(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	namespace := p.Namespace(t)
	started := time.Now()
	fenced, err := p.SecondCluster(ctx, namespace, platform.Options{})
	require.NoError(t, err)
	t.Logf("second cluster ready after %s", time.Since(started).Round(time.Millisecond))

	err = fenced.Client().Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{})

	require.True(t, apierrors.IsNotFound(err), "%v", err)
}

func TestSecondClusterRefusesUsersOfTheFirst(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)
	fenced, err := p.SecondCluster(ctx, p.Namespace(t), platform.Options{})
	require.NoError(t, err)
	config, err := p.NewUser("admin", "system:masters")
	require.NoError(t, err)
	config.Host, config.CAData = fenced.RestConfig.Host, fenced.RestConfig.CAData
	foreigner, err := client.New(config, client.Options{})
	require.NoError(t, err)

	err = foreigner.List(ctx, &corev1.NamespaceList{})

	assert.True(t, apierrors.IsUnauthorized(err), "%v", err)
}

func TestSecondClusterNeedsANameOfItsOwn(t *testing.T) {
	p, ctx := platform.Shared(t), testContext(t)

	_, err := p.SecondCluster(ctx, p.Name, platform.Options{})

	require.ErrorIs(t, err, fs.ErrExist)
	assert.NoError(t, p.AwaitAPIServer(ctx), "the cluster of this name must not suffer")
}

func TestDataSurvivesAKilledAPIServer(t *testing.T) {
	p, ctx := platform.New(t, platform.Options{}), testContext(t)
	namespace := p.Namespace(t)

	require.NoError(t, p.Process(binaries.APIServer).Restart())
	require.NoError(t, p.AwaitAPIServer(ctx))

	require.NoError(t, p.Client().Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{}))
}

func TestStopLeavesNothingBehind(t *testing.T) {
	started := time.Now()
	p, err := platform.Start(t.Context(), platform.Options{ControllerManager: true, Flux: true, Git: true, Registry: true})
	require.NoError(t, err)
	ready := time.Since(started)
	processes := []*programs.Process{p.Etcd()}
	for _, component := range []binaries.Component{
		binaries.APIServer, binaries.ControllerManager, binaries.SourceController, binaries.KustomizeController,
	} {
		processes = append(processes, p.Process(component))
	}
	started = time.Now()

	require.NoError(t, p.Stop())

	t.Logf("started in %s, stopped in %s", ready.Round(time.Millisecond), time.Since(started).Round(time.Millisecond))
	for _, process := range processes {
		assert.ErrorIs(t, syscall.Kill(process.PID(), 0), syscall.ESRCH)
	}
	assert.NoFileExists(t, p.KubeconfigPath)
	assert.NoDirExists(t, strings.TrimSuffix(p.KubeconfigPath, "/main/admin.kubeconfig"))
	_, err = net.Dial("tcp", strings.TrimPrefix(p.RestConfig.Host, "https://"))
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	assert.NoError(t, p.Stop(), "a second Stop")
}
