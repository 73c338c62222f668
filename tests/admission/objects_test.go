// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// fields and list are JSON.
type (
	fields = map[string]any
	list   = []any
)

func object(kind, namespace, name string, spec fields) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields{"spec": spec}}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// installation is right; parts replace or add to its spec.
func installation(namespace, name string, parts fields) *unstructured.Unstructured {
	spec := fields{"blueprint": fields{"ref": fields{"resourceName": "blueprint"}}}
	for key, value := range parts {
		spec[key] = value
	}
	return object("Installation", namespace, name, spec)
}

func deployItem(namespace, name, itemType string) *unstructured.Unstructured {
	return object("DeployItem", namespace, name, fields{"type": itemType})
}

func execution(namespace, name string, items ...any) *unstructured.Unstructured {
	return object("Execution", namespace, name, fields{"deployItems": items})
}

func item(name string, dependsOn ...any) fields {
	return fields{"name": name, "type": "example.com/type", "config": fields{}, "dependsOn": append(list{}, dependsOn...)}
}

func goodTarget(namespace, name string) *unstructured.Unstructured {
	return object("Target", namespace, name, fields{"type": "example.com/type", "config": fields{"key": "value"}})
}

func badTarget(namespace, name string) *unstructured.Unstructured {
	return object("Target", namespace, name, fields{
		"type": "example.com/type", "config": fields{"password": "hidden"}, "secretRef": fields{"name": "s", "key": "k"},
	})
}

// compressed is an Execution whose templates are stored compressed.
func compressed(t *testing.T, namespace, name string, items ...any) *unstructured.Unstructured {
	t.Helper()
	raw, err := json.Marshal(items)
	require.NoError(t, err)
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, err = writer.Write(raw)
	require.NoError(t, err)
	require.NoError(t, writer.Close())
	return object("Execution", namespace, name, fields{"deployItemsCompressed": base64.StdEncoding.EncodeToString(packed.Bytes())})
}
