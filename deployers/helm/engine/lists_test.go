// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/rest/fake"
	"k8s.io/client-go/restmapper"
	"k8s.io/kubectl/pkg/validation"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/records"
)

// offline builds objects without a cluster.
type offline struct{ kube.Factory }

func (offline) Validator(string) (validation.Schema, error) { return validation.NullSchema{}, nil }

func (offline) NewBuilder() *resource.Builder {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, meta.RESTScopeNamespace)
	mapper.Add(schema.GroupVersionKind{Version: "v1", Kind: "List"}, meta.RESTScopeRoot) // as discovery has it
	return resource.NewFakeBuilder(
		func(schema.GroupVersion) (resource.RESTClient, error) {
			return &fake.RESTClient{Client: fake.CreateHTTPClient(func(*http.Request) (*http.Response, error) { return nil, io.EOF })}, nil
		},
		func() (meta.RESTMapper, error) { return mapper, nil },
		func() (restmapper.CategoryExpander, error) { return nil, nil },
	)
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
		"a List of as many as may be": {list(records.MaxDocuments), false},
		"a List of one more":          {list(records.MaxDocuments + 1), true},
		"texts without separators":    {strings.Repeat(object+"\n", records.MaxDocuments+1), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := &sparing{Client: &kube.Client{Factory: offline{}, Namespace: "shop"}}

			objects, err := s.Build(bytes.NewBufferString(tt.manifest), false)

			if tt.isRefused {
				require.EqualError(t, err, "the manifest has 20001 objects, those of Lists included, more than 20000; split the chart, or delete the record of the revision")
				assert.Empty(t, objects)
				return
			}
			require.NoError(t, err)
			assert.Len(t, objects, records.MaxDocuments)
		})
	}
}

// TestObjectsAreToldApartAsHelmDoes compares lists as Helm does, which looks at each pair.
func TestObjectsAreToldApartAsHelmDoes(t *testing.T) {
	info := func(kind schema.GroupVersionKind, namespace, name string) *resource.Info {
		return &resource.Info{Mapping: &meta.RESTMapping{GroupVersionKind: kind}, Namespace: namespace, Name: name}
	}
	old, apps, core := schema.GroupVersionKind{Group: "apps", Version: "v1beta1", Kind: "A"}, schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "A"},
		schema.GroupVersionKind{Version: "v1", Kind: "A"}
	first := kube.ResourceList{info(old, "n", "a"), info(apps, "n", "b"), info(core, "n", "a"), info(apps, "m", "a"), info(apps, "n", "a")}
	for name, second := range map[string]kube.ResourceList{
		"nothing":         nil,
		"itself":          first,
		"another version": {info(apps, "n", "a")},
		"another group":   {info(core, "n", "b"), info(core, "n", "a")},
		"another place":   {info(apps, "m", "b"), info(apps, "m", "a")},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, first.Intersect(second), common(first, second))
			assert.Equal(t, first.Difference(second), without(first, second))
		})
	}
}
