// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// writeSchemas writes the JSON schemas of the kinds, one for each served version, packed as crd-schemas.tar.gz. They are named as kubeconform looks for
// them, {{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json with the first part of the group, and refuse unknown fields where the API
// server would drop them.
func writeSchemas(dist, crds string) error {
	files, err := filepath.Glob(filepath.Join(crds, "*.yaml"))
	if err != nil {
		return err
	}
	var schemas []entry
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := foreign.Unmarshal(content, crd); err != nil {
			return fmt.Errorf("cannot read %s: %w", file, err)
		}
		for _, version := range crd.Spec.Versions {
			schema, err := schemaOf(crd, version)
			if err != nil {
				return err
			}
			schemas = append(schemas, *schema)
		}
	}
	if len(schemas) == 0 {
		return fmt.Errorf("folder %s has no CRDs", crds)
	}
	packed, err := packTar(schemas, time.Unix(0, 0))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dist, "crd-schemas.tar.gz"), packed, 0o644)
}

// schemaOf returns the schema of a version as a file.
func schemaOf(crd *apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion) (*entry, error) {
	group, _, _ := strings.Cut(crd.Spec.Group, ".")
	name := fmt.Sprintf("%s-%s-%s.json", strings.ToLower(crd.Spec.Names.Kind), group, version.Name)
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("CRD %s: version %s has no schema", crd.Name, version.Name)
	}
	raw, err := json.Marshal(version.Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, err
	}
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		return nil, err
	}
	refuseUnknown(schema)
	content, err := json.MarshalIndent(schema, "", "  ")
	return &entry{name: name, mode: 0o644, content: content}, err
}

// refuseUnknown changes a schema so that objects have no other fields than it names. Metadata, which the API server knows by itself, stays open.
func refuseUnknown(schema map[string]any) {
	properties, _ := schema["properties"].(map[string]any)
	_, open := schema["additionalProperties"]
	if len(properties) > 0 && !open && schema["x-kubernetes-preserve-unknown-fields"] != true {
		schema["additionalProperties"] = false
	}
	for _, property := range properties {
		if nested, isSchema := property.(map[string]any); isSchema {
			refuseUnknown(nested)
		}
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if nested, isSchema := schema[key].(map[string]any); isSchema {
			refuseUnknown(nested)
		}
	}
}
