// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// ParseManifest returns the objects of a manifest of several YAML documents.
func ParseManifest(manifest string) ([]map[string]any, error) {
	return appendObjects(nil, "manifest", manifest)
}

// Flat returns objects with those of Lists in the place of these.
func Flat(objects []map[string]any) []*unstructured.Unstructured {
	var flat []*unstructured.Unstructured
	for _, fields := range objects {
		flat = appendFlat(flat, fields)
	}
	return flat
}

func appendFlat(flat []*unstructured.Unstructured, fields map[string]any) []*unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: fields}
	if !object.IsList() {
		return append(flat, object)
	}
	items, _ := fields["items"].([]any)
	for _, item := range items {
		if inner, ok := item.(map[string]any); ok {
			flat = appendFlat(flat, inner)
		}
	}
	return flat
}

func appendObjects(objects []map[string]any, file, content string) ([]map[string]any, error) {
	documents := releaseutil.SplitManifests(content)
	for _, key := range slices.SortedFunc(maps.Keys(documents), compareManifestKeys) {
		object, err := parseObject(documents[key] + "\n") // which the split takes off, and with it the end of a text in a block
		if err != nil {
			return nil, fmt.Errorf("file %s of the chart renders to something that is not an object: %w", file, err)
		}
		if len(object) > 0 {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

func parseObject(document string) (object map[string]any, err error) {
	raw, err := foreign.ToJSON([]byte(document))
	if err != nil {
		return nil, err
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &object); err != nil {
		return nil, errors.New("it is neither empty nor a map")
	}
	return object, nil
}

// compareManifestKeys orders keys such as manifest-2 and manifest-10 by their number.
func compareManifestKeys(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
