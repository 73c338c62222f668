// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package platform

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

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
