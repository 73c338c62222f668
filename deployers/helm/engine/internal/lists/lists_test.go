// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lists_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/lists"
)

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
			assert.Equal(t, first.Intersect(second), lists.Common(first, second))
			assert.Equal(t, first.Difference(second), lists.Without(first, second))
		})
	}
}
