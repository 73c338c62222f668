// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// shop is a component with a blueprint, a chart and an image. The blueprint deploys what it finds in the component.
func (s *scene) shop(version, config string) *built {
	template := configTemplate(s.Namespace, config,
		`image: {{ (getResource .cd "name" "image").access.imageReference }}`,
		`chart: {{ getResourceKey "cd://resources/chart" }}`,
		`text: {{ getResourceContent "cd://resources/text" }}`,
		`component: {{ .componentDescriptorDef.ref.componentName }}:{{ .componentDescriptorDef.ref.version }}`)
	return build("example.com/shop", version).
		blueprint("blueprint", object{"imports": list{clusterImport()}, "deployExecutions": list{
			object{"name": "default", "type": "GoTemplate", "file": "/deploy.yaml"},
		}}, map[string]string{"deploy.yaml": template}).
		resource("chart", "helmChart", object{"type": "ociArtifact", "imageReference": "registry.example.com/charts/shop:" + version}, nil).
		image("image", "registry.example.com/images/shop:"+version).
		local("text", "plainText", "text/plain", []byte("hello "+version))
}

func TestA13ComponentWithBlueprintAndResources(t *testing.T) {
	s := newScene(t)
	s.publish(s.shop("1.0.0", "shop"))
	s.useRegistry(nil)
	s.Target("cluster")
	s.install("shop", of("example.com/shop", "1.0.0", "blueprint", object{"imports": onCluster()}))
	s.succeeded("shop")
	config := s.config("shop")
	assert.Equal(t, "registry.example.com/images/shop:1.0.0", config["image"])
	assert.Equal(t, "hello 1.0.0", config["text"])
	assert.Equal(t, "example.com/shop:1.0.0", config["component"])
	key, err := base64.StdEncoding.DecodeString(config["chart"])
	require.NoError(t, err)
	assert.YAMLEq(t, "{component: {name: example.com/shop, version: 1.0.0}, resource: {name: chart}}", string(key))
	s.RequireJobs(1, "shop")

	s.publish(s.shop("2.0.0", "shop"))
	s.install("shop", of("example.com/shop", "2.0.0", "blueprint", object{"imports": onCluster()}))
	s.succeeded("shop")
	assert.Equal(t, "hello 2.0.0", s.config("shop")["text"])
	s.Delete(s.Installation("shop"))
	s.Gone(s.Installation("shop"))
}

func TestUnusableComponentsFailWithTheCure(t *testing.T) {
	s := newScene(t)
	s.publish(s.shop("1.0.0", "shop"))
	s.useRegistry(nil)
	imports := object{"imports": onCluster()}
	s.Target("cluster")
	for name, tc := range map[string]struct {
		spec   object
		reason string
		parts  []string
	}{
		"no-version":   {of("example.com/shop", "9.9.9", "blueprint", imports), "ComponentNotFound", []string{"example.com/shop:9.9.9"}},
		"no-resource":  {of("example.com/shop", "1.0.0", "bluprint", imports), "BlueprintNotFound", []string{"spec.blueprint.ref.resourceName", "bluprint"}},
		"wrong-type":   {of("example.com/shop", "1.0.0", "image", imports), "ComponentNotResolved", []string{"image", "blueprint"}},
		"no-component": {object{"blueprint": object{"ref": object{"resourceName": "blueprint"}}}, "ComponentMissing", []string{"set spec.componentDescriptor"}},
	} {
		s.install(name, tc.spec)
		failure := s.failed(name)
		assert.Equal(t, tc.reason, failure.Reason, failure.Message)
		for _, part := range tc.parts {
			assert.Contains(t, failure.Message, part, name)
		}
		assert.Contains(t, failure.Codes, v1alpha1.ErrorConfigurationProblem, name)
	}
}
