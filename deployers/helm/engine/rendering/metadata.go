// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"bytes"
	"fmt"

	"sigs.k8s.io/yaml"
)

// Metadata is what all objects of a release have in common.
type Metadata struct {
	// Labels and Annotations win over those of the chart.
	Labels, Annotations map[string]string
}

// SetOn sets the metadata on objects and on those inside Lists. Objects whose metadata is not a map stay as they are: the API server refuses them.
func (m Metadata) SetOn(objects []map[string]any) {
	for _, object := range objects {
		if items, isList := object["items"].([]any); isList && object["metadata"] == nil {
			for _, item := range items {
				if inner, ok := item.(map[string]any); ok {
					m.SetOn([]map[string]any{inner})
				}
			}
			continue
		}
		setAll(object, "labels", m.Labels)
		setAll(object, "annotations", m.Annotations)
	}
}

func setAll(object map[string]any, field string, entries map[string]string) {
	if len(entries) == 0 {
		return
	}
	metadata, found := mapIn(object, "metadata")
	if !found {
		return
	}
	target, found := mapIn(metadata, field)
	if !found {
		return
	}
	for key, value := range entries {
		target[key] = value
	}
}

// mapIn returns the map in a field, a new one where the field is empty. It is not found where the field holds something else.
func mapIn(object map[string]any, field string) (map[string]any, bool) {
	if object[field] == nil {
		object[field] = map[string]any{}
	}
	inner, ok := object[field].(map[string]any)
	return inner, ok
}

// WriteManifest returns objects as YAML documents.
func WriteManifest(objects []map[string]any) (*bytes.Buffer, error) {
	manifest := &bytes.Buffer{}
	for _, object := range objects {
		document, err := yaml.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("an object of the chart cannot be written as YAML: %w", err)
		}
		manifest.WriteString("---\n")
		manifest.Write(document)
	}
	return manifest, nil
}
