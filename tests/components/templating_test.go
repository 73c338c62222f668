// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/sources/component"
)

// labelled lists the references of all images in the closure by the value of their label.
const labelled = `{{- $found := dict }}{{- range $component := %s }}{{- range $resource := $component.%s }}` +
	`{{- range $resource.labels }}{{- if eq .name "example.com/use" }}{{- $_ := set $found .value (parseOCIRef $resource.access.imageReference) }}` +
	`{{- end }}{{- end }}{{- end }}{{- end }}`

func use(value string) object { return object{"name": "example.com/use", "value": value} }

// images publishes a component that refers to two others with labelled images. The blueprint shows what it finds in all of them.
func (s *scene) images(components, resources string, annotations object) {
	s.T.Helper()
	s.publish(
		build("example.com/core", "2.0.0").image("a", "registry.example.com/a:1.0.0", use("first")).image("b", "registry.example.com/b:2.0.0"),
		build("example.com/extension", "2.0.0").image("c", "registry.example.com/deep/c:3.0.0", use("second")).refers("core", "example.com/core", "2.0.0", nil),
		build("example.com/root", "2.0.0").
			refers("extension", "example.com/extension", "2.0.0", nil).refers("core", "example.com/core", "2.0.0", nil).
			blueprint("blueprint", object{
				"annotations": annotations, "imports": list{clusterImport()},
				"deployExecutions": goTemplate(fmt.Sprintf(labelled, components, resources) + configTemplate(s.Namespace, "images",
					`images: {{ $found | toJson | quote }}`, `core: {{ (getResource (getComponent "name" "core") "name" "b").access.imageReference }}`)),
			}, nil),
	)
	s.useRegistry(nil)
	s.Target("cluster")
	s.install("images", of("example.com/root", "2.0.0", "blueprint", object{"imports": onCluster()}))
	s.succeeded("images")
	found := map[string][]string{}
	require.NoError(s.T, yaml.Unmarshal([]byte(s.config("images")["images"]), &found))
	assert.Equal(s.T, map[string][]string{
		"first": {"registry.example.com/a", "1.0.0"}, "second": {"registry.example.com/deep/c", "3.0.0"},
	}, found)
	assert.Equal(s.T, "registry.example.com/b:2.0.0", s.config("images")["core"])
}

func TestA22TemplatesSeeAllComponents(t *testing.T) {
	newScene(t).images(".components.components", "component.resources", object{})
}

func TestA23TemplatesSeeAnotherSchema(t *testing.T) {
	newScene(t).images(".components", "spec.resources", object{"ocmSchemaVersion": component.SchemaV3})
}

func TestUnknownSchemaOfDescriptorsFails(t *testing.T) {
	s := newScene(t)
	s.publish(build("example.com/root", "1.0.0").blueprint("blueprint", object{"annotations": object{"ocmSchemaVersion": "v5"}}, nil))
	s.useRegistry(nil)
	s.install("root", of("example.com/root", "1.0.0", "blueprint", nil))
	assert.Contains(t, s.failed("root").Message, `"v5" is not a schema of component descriptors; use v2 or ocm.software/v3alpha1`)
}

func TestB1207SchemasOfComponents(t *testing.T) {
	s := newScene(t)
	imports := list{object{"name": "size", "type": "data", "schema": object{"$ref": "cd://componentReferences/types/resources/size"}}}
	s.publish(
		build("example.com/limits", "1.0.0").local("limit", schemaType, schemaMediaType, []byte(`{"type": "integer", "maximum": 10}`)),
		build("example.com/types", "1.0.0").refers("limits", "example.com/limits", "1.0.0", nil).
			local("size", schemaType, schemaMediaType, compressed(`{"properties": {"cpu": {"$ref": "cd://componentReferences/limits/resources/limit"}}, "required": ["cpu"]}`)),
		build("example.com/root", "1.0.0").refers("types", "example.com/types", "1.0.0", nil).
			blueprint("blueprint", object{"imports": imports, "deployExecutions": goTemplate(mockTemplate("{}"))}, nil),
	)
	s.useRegistry(nil)
	spec := of("example.com/root", "1.0.0", "blueprint", object{"imports": object{"data": list{object{"name": "size", "dataRef": "size"}}}})
	s.Put("DataObject", "size", object{"data": object{"cpu": 20}})
	s.install("root", spec)
	failure := s.failed("root")
	assert.Equal(t, "SchemaValidationFailed", failure.Reason, failure.Message)
	assert.Contains(t, failure.Message, "cpu")

	s.Put("DataObject", "size", object{"data": object{"cpu": 2}})
	s.install("again", spec)
	s.succeeded("again")
}
