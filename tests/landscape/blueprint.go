// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// Blueprint writes a blueprint.yaml: JSON is YAML.
func Blueprint(parts map[string]any) string {
	blueprint := map[string]any{"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint"}
	maps.Copy(blueprint, parts)
	raw, err := json.Marshal(blueprint)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// GoTemplate is a list with one executor.
func GoTemplate(text string) []any {
	return []any{map[string]any{"name": "default", "type": "GoTemplate", "template": text}}
}

// DataImports declares data imports or exports of any content.
func DataImports(names ...string) []any {
	all := []any{}
	for _, name := range names {
		all = append(all, map[string]any{"name": name, "type": "data", "schema": map[string]any{}})
	}
	return all
}

// DataRefs connects data imports or exports with dataRefs of the same name.
func DataRefs(names ...string) []any {
	all := []any{}
	for _, name := range names {
		all = append(all, map[string]any{"name": name, "dataRef": name})
	}
	return all
}

// ConfigItem is a deploy item that deploys one ConfigMap. All but the item's name is YAML or templates of it: the reference to the target,
// namespace and name of the ConfigMap, and the lines of its data.
func ConfigItem(item, target, namespace, name string, data ...string) string {
	return fmt.Sprintf(`- name: %s
  type: landscaper.gardener.cloud/kubernetes-manifest
  target: %s
  config:
    apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
    kind: ProviderConfiguration
    updateStrategy: update
    manifests:
    - policy: manage
      manifest:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: %s, namespace: %s}
        data:
          %s
`, item, target, name, namespace, strings.Join(data, "\n          "))
}

// MockItem is a deploy item of the mock deployer with one field of its configuration, as YAML, e.g. "export: {key: value}" or "phase: Failed".
func MockItem(name, field string) string {
	return fmt.Sprintf(`- name: %s
  type: landscaper.gardener.cloud/mock
  config:
    apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1
    kind: ProviderConfiguration
    %s
`, name, field)
}
