// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

func TestRegistryPaths(t *testing.T) {
	for path, want := range map[string]RegistryRequest{
		"/v2/":                                   {},
		"/v2/shop/manifests/1.0.0":               {Repository: "shop", Kind: "manifests", Reference: "1.0.0"},
		"/v2/team/charts/web/blobs/sha256:abc":   {Repository: "team/charts/web", Kind: "blobs", Reference: "sha256:abc"},
		"/v2/shop/blobs/uploads/4711":            {Repository: "shop", Kind: "uploads", Reference: "4711"},
		"/v2/shop/tags/list":                     {Repository: "shop", Kind: "tags", Reference: "list"},
		"/v2/blobs/manifests/latest":             {Repository: "blobs", Kind: "manifests", Reference: "latest"},
		"/v2/shop/referrers/sha256:0123456789ab": {Repository: "shop", Kind: "referrers", Reference: "sha256:0123456789ab"},
	} {
		assert.Equal(t, want, parseRegistryPath(path), path)
	}
}

func FuzzRegistryPath(f *testing.F) {
	f.Add("/v2/shop/manifests/1.0.0")
	f.Add("/v2/shop/blobs/uploads/")
	f.Fuzz(func(t *testing.T, path string) {
		parsed := parseRegistryPath(path)
		assert.Contains(t, path, parsed.Repository)
		assert.Contains(t, path, parsed.Reference)
	})
}

func TestNamespacePrefixBeginsADNSLabel(t *testing.T) {
	for _, name := range []string{"TestA", "Test_Upper/with space/#01", "TestÜmlaut", strings.Repeat("Long", 40)} {
		prefix := namespacePrefix(name)
		assert.Empty(t, validation.IsDNS1123Label(prefix+"abcde"), prefix)
	}
}

func TestAuditLogIsReadUpToTheMarker(t *testing.T) {
	path := filepath.Join(t.TempDir(), auditFile)
	require.NoError(t, os.WriteFile(path, []byte(`
{"auditID":"old","verb":"get","requestReceivedTimestamp":"2026-01-01T00:00:00.000000Z"}
{"auditID":"1","verb":"patch","user":{"username":"ann"},"objectRef":{"resource":"installations","apiGroup":"landscaper.gardener.cloud",`+
		`"namespace":"n","name":"x","subresource":"status"},"responseStatus":{"code":200},"requestReceivedTimestamp":"2026-01-02T00:00:00.000000Z"}
{"auditID":"1","verb":"patch","requestReceivedTimestamp":"2026-01-02T00:00:00.000000Z"}
{"auditID":"2","userAgent":"platform-mark-other","requestReceivedTimestamp":"2026-01-02T00:00:00.000000Z"}
{"auditID":"3","userAgent":"platform-mark-mine","requestReceivedTimestamp":"2026-01-02T00:00:00.000000Z"}
{"auditID":"late","verb":"get","requestReceivedTimestamp":"2026-01-02T00:00:00.000000Z"}
`), 0o600))
	since := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)

	requests, marked, err := readAudit(path, since, "platform-mark-mine")

	require.NoError(t, err)
	assert.True(t, marked)
	require.Len(t, requests, 1)
	requests[0].Time = time.Time{}
	assert.Equal(t, Request{User: "ann", Verb: "patch", Resource: "installations.landscaper.gardener.cloud", Subresource: "status",
		Namespace: "n", Name: "x", Code: 200}, requests[0])
}

func TestAuditLogMayEndInTheMiddleOfALine(t *testing.T) {
	path := filepath.Join(t.TempDir(), auditFile)
	require.NoError(t, os.WriteFile(path, []byte(`{"auditID":"1","verb":"ge`), 0o600))

	_, marked, err := readAudit(path, time.Time{}, "platform-mark-mine")

	require.NoError(t, err)
	assert.False(t, marked)
}

func TestReadiness(t *testing.T) {
	for name, test := range map[string]struct {
		status string
		want   bool
	}{
		"no status":             {"{}", false},
		"ready":                 {"{observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}", true},
		"ready for the old one": {"{observedGeneration: 1, conditions: [{type: Ready, status: 'True'}]}", false},
		"conditions come first": {"{observedGeneration: -1, conditions: [{type: Ready, status: 'True'}]}", false},
		"not ready":             {"{observedGeneration: 2, conditions: [{type: Ready, status: 'False'}]}", false},
		"reconciling": {"{observedGeneration: 2, conditions: [{type: Ready, status: 'True'}, " +
			"{type: Reconciling, status: 'True'}]}", false},
	} {
		t.Run(name, func(t *testing.T) {
			object := map[string]any{}
			require.NoError(t, yaml.Unmarshal([]byte("{kind: Any, metadata: {generation: 2}, status: "+test.status+"}"), &object))
			require.NoError(t, unstructured.SetNestedField(object, int64(2), "metadata", "generation"))
			if generation, ok, _ := unstructured.NestedFloat64(object, "status", "observedGeneration"); ok {
				require.NoError(t, unstructured.SetNestedField(object, int64(generation), "status", "observedGeneration"))
			}
			assert.Equal(t, test.want, isReady(&unstructured.Unstructured{Object: object}))
		})
	}
}

func TestLockIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := tryLock(path)
	require.NoError(t, err)

	_, err = tryLock(path)
	require.ErrorIs(t, err, syscall.EWOULDBLOCK)
	require.NoError(t, first.Close())
	second, err := tryLock(path)

	require.NoError(t, err)
	assert.NoError(t, second.Close())
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

func TestFoldersOfDeadOwnersAreSwept(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	abandoned, err := newFolder()
	require.NoError(t, err)
	require.NoError(t, abandoned.owner.Close())
	owned, err := newFolder()
	require.NoError(t, err)
	long := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(abandoned.path, long, long))
	require.NoError(t, os.Chtimes(owned.path, long, long))

	sweepFolders()

	assert.NoDirExists(t, abandoned.path)
	assert.DirExists(t, owned.path)
	require.NoError(t, owned.remove())
	assert.NoDirExists(t, owned.path)
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
	r := recipe{module: "etcd"}
	require.NoError(t, os.MkdirAll(s.moduleSource(r), 0o755))
	goMod := filepath.Join(s.moduleSource(r), "go.mod")
	require.NoError(t, os.WriteFile(goMod, []byte("module a"), 0o600))
	first := s.dir(r)

	require.NoError(t, os.WriteFile(goMod, []byte("module b"), 0o600))

	assert.NotEqual(t, first, s.dir(r))
	assert.NotEqual(t, s.dir(r), s.dir(recipe{module: "etcd", ldflags: "-s"}))
}
