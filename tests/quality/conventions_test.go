// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// definitions returns the CRDs as they are applied.
func definitions(t *testing.T) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var found []*apiextensionsv1.CustomResourceDefinition
	for name, content := range contents(t, loaded(t).Path("config/crd/bases")) {
		definition := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, yaml.UnmarshalStrict([]byte(content), definition), name)
		found = append(found, definition)
	}
	require.Greater(t, len(found), 10)
	return found
}

// walkSchema calls visit for each field below a schema, with its path.
func walkSchema(path string, schema *apiextensionsv1.JSONSchemaProps, visit func(path string, schema *apiextensionsv1.JSONSchemaProps)) {
	visit(path, schema)
	for name := range schema.Properties {
		property := schema.Properties[name]
		walkSchema(path+"."+name, &property, visit)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		walkSchema(path+"[]", schema.Items.Schema, visit)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		walkSchema(path+".*", schema.AdditionalProperties.Schema, visit)
	}
}

// TestPartsOfAStatusAreOwnedByTheirWriters keeps one entry of managedFields for what one writer writes, and one for each field of what a deployer of others
// shares with the controller: it may apply its fields server-side.
func TestPartsOfAStatusAreOwnedByTheirWriters(t *testing.T) {
	owned := map[string]bool{}
	for _, definition := range definitions(t) {
		for _, version := range definition.Spec.Versions {
			walkSchema(definition.Spec.Names.Kind, version.Schema.OpenAPIV3Schema, func(path string, schema *apiextensionsv1.JSONSchemaProps) {
				owned[path] = schema.XMapType != nil && *schema.XMapType == "atomic"
			})
		}
	}
	for path, asOne := range map[string]bool{
		"Installation.status": true, "Execution.status": true,
		"DeployItem.status": false, "DeployItem.status.transitionTimes": false,
		"DeployItem.status.deployer": true, "DeployItem.status.providerStatus": true, "DeployItem.status.lastError": true,
	} {
		found, exists := owned[path]
		assert.True(t, exists, path)
		assert.Equal(t, asOne, found, path)
	}
}

// TestListsSayHowTheyAreMerged keeps server-side apply at one meaning for each list: conditions by type, all others as a whole or as a set.
func TestListsSayHowTheyAreMerged(t *testing.T) {
	lists := 0
	for _, definition := range definitions(t) {
		for _, version := range definition.Spec.Versions {
			walkSchema(definition.Spec.Names.Kind, version.Schema.OpenAPIV3Schema, func(path string, schema *apiextensionsv1.JSONSchemaProps) {
				if schema.Type != "array" {
					return
				}
				lists++
				if !assert.NotNil(t, schema.XListType, "%s has no listType", path) {
					return
				}
				if strings.HasSuffix(path, ".status.conditions") {
					assert.Equal(t, "map", *schema.XListType, path)
					assert.Equal(t, []string{"type"}, schema.XListMapKeys, path)
				}
			})
		}
	}
	assert.Greater(t, lists, 30)
}

// TestKindsWithConditionsShowThem keeps the columns of kinds with conditions at those of Flux: Age, Ready, Status.
func TestKindsWithConditionsShowThem(t *testing.T) {
	kinds := 0
	for _, definition := range definitions(t) {
		version := definition.Spec.Versions[0]
		if _, has := version.Schema.OpenAPIV3Schema.Properties["status"].Properties["conditions"]; !has {
			continue
		}
		kinds++
		var shown []string
		for _, column := range version.AdditionalPrinterColumns {
			if column.Priority == 0 {
				shown = append(shown, column.Name)
			}
		}
		assert.Contains(t, strings.Join(shown, " "), "Age Ready Status", definition.Spec.Names.Kind)
	}
	assert.GreaterOrEqual(t, kinds, 6)
}

// TestAllKindsAreOfOneCategory keeps kubectl get landscaper complete.
func TestAllKindsAreOfOneCategory(t *testing.T) {
	for _, definition := range definitions(t) {
		assert.Contains(t, definition.Spec.Names.Categories, "landscaper", definition.Spec.Names.Kind)
	}
}

// TestDescriptionsStandAlone keeps what kubectl explain shows free of files of this repository.
func TestDescriptionsStandAlone(t *testing.T) {
	for _, definition := range definitions(t) {
		for _, version := range definition.Spec.Versions {
			walkSchema(definition.Spec.Names.Kind, version.Schema.OpenAPIV3Schema, func(path string, schema *apiextensionsv1.JSONSchemaProps) {
				assert.NotContains(t, schema.Description, "docs/", path)
			})
		}
	}
}
