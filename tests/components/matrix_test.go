// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package components

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

var data = landscape.DataImports

// refs names DataObjects like the imports or exports that they are for.
func refs(names ...string) object { return object{"data": landscape.DataRefs(names...)} }

// keyed is a sub-installation that deploys a ConfigMap for one key and exports what it got.
func keyed(key, value string) string {
	return fmt.Sprintf(`- name: sub-%[1]s
  blueprint: {ref: cd://resources/keyed}
  imports:
    targets: [{name: cluster, target: cluster}]
    data: [{name: configs, dataRef: configs}]
  importDataMappings: {name: config-%[1]s, value: %[2]s}
  exports: {data: [{name: out, dataRef: out-%[1]s}]}
`, key, value)
}

// tree publishes a version of a component whose root blueprint has the sub-installations of parts.
func (s *scene) tree(version string, parts object) {
	s.T.Helper()
	parts["imports"], parts["exports"] = append(data("configs"), clusterImport()), data("all")
	parts["exportExecutions"] = goTemplate("exports:\n  all:\n    {{- range $key, $value := .dataobjects }}{{ if hasPrefix \"out-\" $key }}\n" +
		"    {{ $key }}: {{ $value }}\n    {{- end }}{{ end }}\n")
	s.publish(build("example.com/tree", version).blueprint("blueprint", parts, nil).blueprint("keyed", object{
		"imports": append(data("name", "value"), clusterImport()), "exports": data("out"),
		"deployExecutions": goTemplate(configTemplate(s.Namespace, "{{ .imports.name }}", "value: {{ .imports.value | quote }}")),
		"exportExecutions": goTemplate("exports: {out: {{ .imports.value }}}"),
	}, nil))
}

func TestB505InlineThenTemplatedSubinstallations(t *testing.T) {
	s := newScene(t)
	s.useRegistry(nil)
	s.Target("cluster")
	s.Put("DataObject", "configs", object{"data": object{"one": "1", "two": "2"}})
	install := func(version string) {
		s.install("tree", of("example.com/tree", version, "blueprint", object{
			"imports": object{"targets": onCluster()["targets"], "data": refs("configs")["data"]}, "exports": refs("all"),
		}))
		s.succeeded("tree")
	}
	inline := object{
		"name": "inline", "blueprint": object{"ref": "cd://resources/keyed"}, "exports": object{"data": list{object{"name": "out", "dataRef": "out-inline"}}},
		"imports":            object{"targets": onCluster()["targets"], "data": refs("configs")["data"]},
		"importDataMappings": object{"name": "config-inline", "value": "(( configs.one ))"},
	}
	s.tree("1.0.0", object{"subinstallations": list{inline}})
	install("1.0.0")
	assert.Equal(t, "1", s.config("config-inline")["value"])
	assert.JSONEq(t, `{"out-inline": 1}`, s.value("all"))

	s.tree("2.0.0", object{"subinstallationExecutions": goTemplate(
		"subinstallations:\n{{- range $key, $value := .imports.configs }}\n" + keyed("{{ $key }}", "{{ $value | quote }}") + "{{- end }}\n")})
	install("2.0.0")
	assert.Equal(t, "1", s.config("config-one")["value"])
	assert.Equal(t, "2", s.config("config-two")["value"])
	assert.JSONEq(t, `{"out-one": 1, "out-two": 2}`, s.value("all"))
	s.Gone(&corev1.ConfigMap{ObjectMeta: s.Named("config-inline")})
	s.RequireJobs(2, "tree")
}

func TestB608OwnContextWithItsRegistry(t *testing.T) {
	s := newScene(t)
	s.publish(marked("example.com/root", "1.0.0", "default", "", ""))
	s.useRegistry(nil)
	own := s.base() + "/own"
	for _, b := range []*built{marked("example.com/root", "1.0.0", "own", "example.com/sub", "1.0.0"), marked("example.com/sub", "1.0.0", "below", "", "")} {
		s.push(own, s.version(b), "v2")
	}
	s.Put("Context", "own", object{"repositoryContext": object{"type": "OCIRegistry", "baseUrl": s.Registry.Host, "subPath": own}})
	s.installMarked("default")
	exports := object{"data": list{object{"name": "mark", "dataRef": "own"}}}
	s.install("own", of("example.com/root", "1.0.0", "blueprint", object{"context": "own", "exports": exports}))
	s.succeeded("own")
	s.succeeded("default")
	assert.Equal(t, `"ownbelow"`, s.value("own"))
	assert.Equal(t, `"default"`, s.value("default"))
	assert.Equal(t, "own", s.Child("own", "below").Spec.Context)
}

func TestB610InlineExecutionsOfARootComponent(t *testing.T) {
	s := newScene(t)
	s.publish(build("example.com/root", "1.0.0").image("image", "registry.example.com/image:1.0.0").local("text", "plainText", "text/plain", []byte("hello")))
	s.useRegistry(nil)
	s.Target("cluster")
	s.install("root", object{
		"componentDescriptor": object{"ref": object{"componentName": "example.com/root", "version": "1.0.0"}},
		"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": document(object{
			"imports": list{clusterImport()}, "exports": data("image"),
			"deployExecutions": goTemplate(configTemplate(s.Namespace, "inline", `text: {{ getResourceContent "cd://resources/text" }}`)),
			"exportExecutions": goTemplate(`exports: {image: {{ (getResource .cd "name" "image").access.imageReference }}}`),
		})}}},
		"imports": onCluster(), "exports": refs("image"),
	})
	s.succeeded("root")
	assert.Equal(t, "hello", s.config("inline")["text"])
	assert.Equal(t, `"registry.example.com/image:1.0.0"`, s.value("image"))
	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"), &corev1.ConfigMap{ObjectMeta: s.Named("inline")})
}

func TestC14CyclicSchemasOfComponentsFail(t *testing.T) {
	s := newScene(t)
	s.publish(
		build("example.com/types", "1.0.0").
			local("one", schemaType, schemaMediaType, []byte(`{"properties": {"again": {"$ref": "cd://resources/two"}}}`)).
			local("two", schemaType, schemaMediaType, []byte(`{"properties": {"again": {"$ref": "cd://resources/one"}}}`)),
		build("example.com/root", "1.0.0").refers("types", "example.com/types", "1.0.0", nil).blueprint("blueprint", object{
			"imports": list{object{"name": "value", "type": "data", "schema": object{"$ref": "cd://componentReferences/types/resources/one"}}},
		}, nil),
	)
	s.useRegistry(nil)
	s.Put("DataObject", "value", object{"data": object{"again": object{}}})
	s.install("root", of("example.com/root", "1.0.0", "blueprint", object{"imports": refs("value")}))
	failure := s.failed("root")
	assert.Contains(t, failure.Message, "cyclic references detected")
	assert.Contains(t, failure.Message, "cd://componentReferences/types/resources/two")
}

func TestC14SchemasThatComponentsLackAreNamed(t *testing.T) {
	s := newScene(t)
	s.publish(build("example.com/root", "1.0.0").image("image", "registry.example.com/image:1.0.0").blueprint("blueprint", object{
		"imports": list{object{"name": "value", "type": "data", "schema": object{"$ref": "cd://resources/size"}}},
	}, nil))
	s.useRegistry(nil)
	s.Put("DataObject", "value", object{"data": 1})
	s.install("root", of("example.com/root", "1.0.0", "blueprint", object{"imports": refs("value")}))
	failure := s.failed("root")
	require.Contains(t, failure.Codes, v1alpha1.ErrorConfigurationProblem)
	for _, part := range []string{`"value"`, "cd://resources/size"} {
		assert.True(t, strings.Contains(failure.Message, part), failure.Message)
	}
}
