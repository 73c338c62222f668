// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/records"
)

// offline is a cluster that answers nothing, and serves what objects are built for.
func offline() *getter {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "List"}, meta.RESTScopeRoot) // as discovery has it
	return &getter{config: &rest.Config{}, mapper: mapper, namespace: "shop"}
}

// TestOfAManifestSoManyObjectsAreCompared builds manifests of one document, or none, that stand for many objects.
func TestOfAManifestSoManyObjectsAreCompared(t *testing.T) {
	const object = `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}`
	list := func(items int) string {
		return `{"apiVersion": "v1", "kind": "List", "items": [` + strings.Repeat(object+",", items-1) + object + "]}"
	}
	for name, tt := range map[string]struct {
		manifest  string
		isRefused bool
	}{
		"a List of as many as may be": {list(records.MaxObjects), false},
		"a List of one more":          {list(records.MaxObjects + 1), true},
		"texts without separators":    {strings.Repeat(object+"\n", records.MaxObjects+1), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sparing{Client: kube.New(offline())}

			objects, err := s.Build(bytes.NewBufferString(tt.manifest), false)

			if tt.isRefused {
				require.EqualError(t, err, "the manifest has 20001 objects, those of Lists included, more than 20000; split the chart, or delete the record of the revision")
				assert.Empty(t, objects)
				return
			}
			require.NoError(t, err)
			assert.Len(t, objects, records.MaxObjects)
		})
	}
}
