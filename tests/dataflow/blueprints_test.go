// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// inlineWith is spec.blueprint with a blueprint in place and more files beside it.
func inlineWith(parts object, files object) object {
	all := object{"blueprint.yaml": document(parts)}
	for name, content := range files {
		all[name] = content
	}
	return object{"inline": object{"filesystem": all}}
}

// onCluster is a spec that imports the Target "cluster" and renders a template.
func onCluster(template string) object {
	return object{
		"blueprint": inline(object{
			"imports": list{object{"name": "cluster", "targetType": clusterType}}, "deployExecutions": goTemplate(template),
		}),
		"imports": object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
	}
}

func TestC06UpdateOnChangeOnly(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	spec := func(value string) object {
		return onCluster("deployItems:\n" +
			configItem("once", "{import: cluster}", "once", value) + "  updateOnChangeOnly: true\n" +
			configItem("always", "{import: cluster}", "always", value))
	}
	s.install("root", spec("first"))
	job := s.succeeded("root").Status.JobID
	for _, name := range []string{"once", "always"} {
		tampered := client.RawPatch("application/merge-patch+json", []byte(`{"data":{"value":"tampered"}}`))
		require.NoError(t, s.Client().Patch(s.Ctx, s.config(name), tampered))
	}

	s.reconcile("root")
	job = s.Ran("root", job, v1alpha1.PhaseSucceeded).Status.JobID
	assert.Equal(t, "tampered", s.configValue("once"), "an unchanged item is not deployed again")
	assert.Equal(t, "first", s.configValue("always"))
	for _, item := range s.everyItem() {
		assert.Equal(t, job, item.Status.JobIDFinished, "%s ends the job all the same", item.Name)
		assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	}

	s.install("root", spec("second"))
	s.succeeded("root")
	assert.Equal(t, "second", s.configValue("once"), "a changed item is")
}

// everyItem returns the DeployItems of the scene.
func (s *scene) everyItem() []v1alpha1.DeployItem {
	s.T.Helper()
	all := &v1alpha1.DeployItemList{}
	require.NoError(s.T, s.Client().List(s.Ctx, all, client.InNamespace(s.Namespace)))
	return all.Items
}

// serverSchemas are schemas that refer to each other: a type of the blueprint to a file, the file to a part of another file and to
// another type.
func serverSchemas(constant object) object {
	return object{
		"blueprint": inlineWith(object{
			"localTypes": object{
				"servers": object{"type": "array", "items": object{"$ref": "blueprint://schemas/server.json"}},
				"zone":    object{"enum": list{"a", "b"}},
			},
			"imports":          list{object{"name": "servers", "type": "data", "schema": object{"$ref": "local://servers"}}},
			"exports":          list{object{"name": "count", "type": "data", "schema": object{"$ref": "blueprint://schemas/parts.json#/definitions/port"}}},
			"exportExecutions": goTemplate("exports: {count: {{ len .imports.servers }}}"),
		}, object{"schemas": object{
			"server.json": `{"type": "object", "required": ["port"], "properties": {
				"port": {"$ref": "blueprint://schemas/parts.json#/definitions/port"}, "zone": {"$ref": "local://zone"}}}`,
			"parts.json": `{"definitions": {"port": {"type": "integer", "minimum": 1}}}`,
		}}),
		"importDataMappings": constant,
		"exports":            object{"data": refs("count")},
	}
}

func TestC14JSONSchemaReferences(t *testing.T) {
	s := newScene(t)
	s.install("root", serverSchemas(object{"servers": list{object{"port": 80, "zone": "a"}, object{"port": 81}}}))
	s.succeeded("root")
	assert.Equal(t, "2", s.value("count"))
	for _, c := range []struct {
		breaks  string
		servers list
		want    []string
	}{
		{"a file below a local type", list{object{"zone": "a"}}, []string{"servers", "port"}},
		{"a part of a file below a file", list{object{"port": 80}, object{"port": 0}}, []string{"servers", "1", "port"}},
		{"a local type below a file", list{object{"port": 80, "zone": "c"}}, []string{"servers", "zone"}},
		{"an export with a part of a file", list{}, []string{"count"}},
	} {
		s.install("root", serverSchemas(object{"servers": c.servers}))
		message := s.failed("root").Message
		for _, want := range c.want {
			assert.Contains(t, message, want, c.breaks)
		}
	}
	for _, types := range []object{
		{"one": object{"$ref": "local://two"}, "two": object{"$ref": "local://one"}},
		{"one": object{"$ref": "blueprint://loop.json"}},
	} {
		s.install("root", object{
			"blueprint": inlineWith(object{
				"localTypes": types, "imports": list{object{"name": "value", "type": "data", "schema": object{"$ref": "local://one"}}},
			}, object{"loop.json": `{"properties": {"again": {"$ref": "local://one"}}}`}),
			"importDataMappings": object{"value": object{}},
		})
		assert.Contains(t, s.failed("root").Message, "cyclic references detected: local://one → ")
	}
}

// helpers is a template that uses each helper for itself, with what it gives. What it takes to read from a registry is tested with
// components.
const helpers = `exports:
  seen:
    include: {{ include "/parts/greeting.txt" (dict "name" "you") }}
    readFile: {{ readFile "/parts/plain.txt" | toString | quote }}
    readDir: [{{ range readDir "/parts" }}{{ .Name }}-{{ .Size }}-{{ .IsDir }}, {{ end }}]
    toYaml:
      {{- dict "b" (list 1 2) | toYaml | nindent 6 }}
    fromYaml: {{ (fromYaml "{x: {z: 3}}").x.z }}
    parseOCIRef: {{ parseOCIRef "registry.example.com/team/app:1.2" | toJson }}
    ociRefRepo: {{ ociRefRepo "registry.example.com/team/app@sha256:` + digestOfA + `" }}
    ociRefVersion: {{ ociRefVersion "nginx:1.27" | quote }}
    ownResource: {{ (getResource "name" "image" "arch" "amd").access.imageReference }}
    getComponent: {{ (getComponent .cd "name" "database").component.version }}
    components: {{ len .components.components }}
    getResourceKey: {{ pick (getResourceKey "cd://componentReferences/database/resources/chart" | b64dec | fromYaml) "component" "resource" | toJson }}
    getResource: {{ (getResource .imports.descriptor "name" "image" "arch" "arm").access.imageReference }}
    getResources: {{ len (getResources .imports.descriptor "name" "image") }}
    getRepositoryContext: {{ (getRepositoryContext .imports.descriptor).baseUrl }}
    sprig: {{ list "b" "a" | sortAlpha | join "," | upper | b64enc | quote }}
`

const digestOfA = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"

// database is a component descriptor that lies in a reference of the other.
var database = object{
	"meta": object{"schemaVersion": "v2"},
	"component": object{
		"name": "example.com/database", "version": "2.0.0", "provider": "example", "sources": list{}, "componentReferences": list{},
		"repositoryContexts": list{object{"type": "ociRegistry", "baseUrl": "registry.example.com/components"}},
		"resources": list{object{
			"name": "chart", "version": "2.0.0", "type": "helmChart", "relation": "external",
			"access": object{"type": "ociRegistry", "imageReference": "r/database:2"},
		}},
	},
}

// descriptor is a component descriptor, of the Installation itself and as data.
var descriptor = object{
	"meta": object{"schemaVersion": "v2"},
	"component": object{
		"name": "example.com/shop", "version": "1.0.0", "provider": "example",
		"repositoryContexts": list{object{"type": "ociRegistry", "baseUrl": "registry.example.com/components"}},
		"resources": list{
			object{"name": "image", "version": "1", "type": "ociImage", "relation": "external", "extraIdentity": object{"arch": "amd"}, "access": object{"type": "ociRegistry", "imageReference": "r/shop:1"}},
			object{"name": "image", "version": "1", "type": "ociImage", "relation": "external", "extraIdentity": object{"arch": "arm"}, "access": object{"type": "ociRegistry", "imageReference": "r/shop-arm:1"}},
		},
		"sources": list{},
		"componentReferences": list{object{
			"name": "database", "componentName": "example.com/database", "version": "2.0.0",
			"labels": list{object{"name": "landscaper.gardener.cloud/component-descriptor", "value": database}},
		}},
	},
}

func TestC16TemplateHelpers(t *testing.T) {
	s := newScene(t)
	s.install("root", object{
		"blueprint": inlineWith(object{
			"imports": dataImports("descriptor"), "exports": dataExports("seen", "spiff"),
			"exportExecutions": list{
				object{"name": "go", "type": "GoTemplate", "file": "/helpers.yaml"},
				object{"name": "spiff", "type": "Spiff", "template": object{"exports": object{"spiff": object{
					"parseOCIRef":   `(( parseOCIRef("registry.example.com/team/app:1.2") ))`,
					"ociRefRepo":    `(( ociRefRepo("registry.example.com/team/app:1.2") ))`,
					"ociRefVersion": `(( ociRefVersion("nginx:1.27") ))`,
					"getResource":   `(( getResource(imports.descriptor, "name", "image", "arch", "arm").access.imageReference ))`,
					"ownResource":   `(( getResource("name", "image", "arch", "amd").access.imageReference ))`,
					"getComponent":  `(( getComponent(cd, "name", "database").component.version ))`,
					"read":          `(( read("/parts/plain.txt", "text") ))`,
					"own":           `(( "re" imports.descriptor.component.name ))`,
				}}}},
			},
		}, object{
			"helpers.yaml": helpers,
			"parts":        object{"greeting.txt": "hello {{ .name }} {{ include \"/parts/plain.txt\" . }}", "plain.txt": "plain"},
		}),
		"componentDescriptor": object{"inline": descriptor},
		"importDataMappings":  object{"descriptor": descriptor},
		"exports":             object{"data": refs("seen", "spiff")},
	})
	s.succeeded("root")
	assert.JSONEq(t, `{
		"include": "hello you plain", "readFile": "plain", "readDir": ["greeting.txt-52-false", "plain.txt-5-false"],
		"toYaml": {"b": [1, 2]}, "fromYaml": 3,
		"parseOCIRef": ["registry.example.com/team/app", "1.2"], "ociRefRepo": "registry.example.com/team/app", "ociRefVersion": "1.27",
		"ownResource": "r/shop:1", "getComponent": "2.0.0", "components": 2,
		"getResourceKey": {"component": {"name": "example.com/database", "version": "2.0.0"}, "resource": {"name": "chart"}},
		"getResource": "r/shop-arm:1", "getResources": 2, "getRepositoryContext": "registry.example.com/components", "sprig": "QSxC"
	}`, s.value("seen"))
	assert.JSONEq(t, `{
		"parseOCIRef": ["registry.example.com/team/app", "1.2"], "ociRefRepo": "registry.example.com/team/app", "ociRefVersion": "1.27",
		"getResource": "r/shop-arm:1", "ownResource": "r/shop:1", "getComponent": "2.0.0", "read": "plain", "own": "reexample.com/shop"
	}`, s.value("spiff"))
}

func TestC16TemplatesDoNotReachTheController(t *testing.T) {
	s := newScene(t)
	for _, template := range []string{
		`exports: {seen: {{ env "KUBECONFIG" }}}`, `exports: {seen: {{ expandenv "$KUBECONFIG" }}}`,
		`exports: {seen: {{ getHostByName "localhost" }}}`, `exports: {seen: {{ readFile "/../../../../etc/hostname" | toString }}}`,
	} {
		s.install("root", object{
			"blueprint": inline(object{"exports": dataExports("seen"), "exportExecutions": goTemplate(template)}),
			"exports":   object{"data": refs("seen")},
		})
		assert.Regexp(t, "not defined|is not in the blueprint", s.failed("root").Message)
		assert.False(t, s.exists(s.dataObject("seen")))
	}
}

const hidden = "a-very-hidden-value"

// requireSnippet lets a template fail that gets a secret value, and checks that the message shows the place and nobody sees the value.
func (s *scene) requireSnippet(template string, want ...string) {
	s.T.Helper()
	s.install("root", object{
		"blueprint": inline(object{
			"imports": dataImports("password", "config"), "deployExecutions": list{object{"name": "rollout", "type": "GoTemplate", "template": template}},
		}),
		"imports":            object{"data": list{object{"name": "password", "secretRef": object{"name": "credentials", "key": "password"}}}},
		"importDataMappings": object{"config": object{"known": "(( password ))"}},
	})
	failure := s.failed("root")
	assert.Equal(s.T, []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}, failure.Codes)
	for _, text := range want {
		assert.Contains(s.T, failure.Message, text)
	}
	for _, state := range s.Witness.States(s.Namespace) {
		raw, err := json.Marshal(state.Status)
		require.NoError(s.T, err)
		assert.NotContains(s.T, string(raw), hidden)
	}
	s.requireEventsWithout(hidden)
}

// requireEventsWithout waits for the event about the failure and checks that a text is in none.
func (s *scene) requireEventsWithout(text string) {
	s.T.Helper()
	var events corev1.EventList
	told := func() bool {
		return s.Client().List(s.Ctx, &events, client.InNamespace(s.Namespace)) == nil && len(events.Items) > 0 &&
			events.Items[len(events.Items)-1].Message != ""
	}
	require.Eventually(s.T, told, landscapePatience, tick)
	for _, event := range events.Items {
		assert.NotContains(s.T, event.Message, text)
	}
}

func TestC17Snippets(t *testing.T) {
	s := newScene(t)
	s.secret("credentials", map[string]string{"password": hidden})
	// a value that is not defined
	s.requireSnippet("deployItems:\n- name: item\n  type: {{ .imports.config.unknown }}\n  config: {{ .imports.password }}\n",
		`execution "rollout"`, "line 3, column 12", ">    3:   type: {{ .imports.config.unknown }}", "     2: - name: item",
		"inputs:", "imports: {config: object, password: string}")
	// a function that fails
	s.requireSnippet("deployItems:\n{{ $text := printf \"%s!\" .imports.password }}\n{{ fail $text }}\n",
		`execution "rollout"`, ":3:", ">    3: {{ fail $text }}", "imports: {config: object, password: string}")
	// output that is no YAML
	s.requireSnippet("deployItems:\n- name: item\n  type: \"{{ .imports.password }}\n", `execution "rollout"`)
}

// unreadable are blueprints that no job can read.
var unreadable = map[string]object{
	"component that is nowhere": {
		"componentDescriptor": object{"ref": object{
			"componentName": "example.com/nowhere", "version": "1.0.0",
			"repositoryContext": object{"type": "ociRegistry", "baseUrl": "http://127.0.0.1:1"},
		}},
		"blueprint": object{"ref": object{"resourceName": "blueprint"}},
	},
	"blueprint that is not YAML": {
		"blueprint": object{"inline": object{"filesystem": object{"blueprint.yaml": "apiVersion: [\nkind: Blueprint"}}},
	},
}

func TestC20DeleteWhatCouldNeverBeRead(t *testing.T) {
	t.Parallel()
	for name, spec := range unreadable {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.install("root", spec)
			s.AwaitState("root", func(inst *v1alpha1.Installation) bool { return inst.Status.LastError != nil })
			s.Delete(s.Installation("root"))
			s.Gone(s.Installation("root"))
			assert.Empty(t, s.objectsOf())
		})
	}
}

func TestC20DeleteWhatCannotBeReadAnyMore(t *testing.T) {
	t.Parallel()
	for name, spec := range unreadable {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.Target("cluster")
			s.install("root", onCluster("deployItems:\n"+configItem("item", "{import: cluster}", "deployed", "here")))
			job := s.succeeded("root").Status.JobID
			s.install("root", spec)
			s.AwaitState("root", func(inst *v1alpha1.Installation) bool {
				return inst.Status.JobID != job && inst.Status.LastError != nil
			})
			s.Delete(s.Installation("root"))
			s.Gone(s.Installation("root"), s.config("deployed"))
			assert.Empty(t, s.objectsOf())
		})
	}
}

// inParts is a deploy execution for each part of what would take one of them long, with the number of the part in place of NUMBER.
func inParts(count int, items string) list {
	executions := list{}
	for i := range count {
		number := fmt.Sprint(i)
		executions = append(executions, object{
			"name": "part-" + number, "type": "GoTemplate", "template": "deployItems:\n" + strings.ReplaceAll(items, "NUMBER", number),
		})
	}
	return executions
}

func TestC32LargeExecutionsAreCompressed(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	const count, size = 12, 96 << 10
	spec := func(text string) object {
		item := configItem("item-NUMBER", "{import: cluster}", "large-NUMBER", fmt.Sprintf("{{ repeat %d %q }}", size/len(text), text))
		return object{
			"blueprint": inline(object{
				"imports": list{object{"name": "cluster", "targetType": clusterType}}, "deployExecutions": inParts(count, item),
			}),
			"imports": object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
		}
	}
	for _, text := range []string{"abcdefgh", "12345678"} {
		s.install("root", spec(text))
		s.succeeded("root")
		execution := &v1alpha1.Execution{}
		require.NoError(t, s.Client().Get(s.Ctx, s.key("root"), execution))
		assert.Empty(t, execution.Spec.DeployItems)
		assert.NotEmpty(t, execution.Spec.DeployItemsCompressed)
		assert.Less(t, len(execution.Spec.DeployItemsCompressed), 64<<10)
		require.Len(t, s.configs(), count)
		for name := range s.configs() {
			value := s.configValue(name)
			assert.Equal(t, size, len(value))
			assert.Equal(t, text, value[:8])
		}
	}
	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"))
	assert.Empty(t, s.configs())
}

func TestC32AnExecutionThatIsTooLargeFailsAtOnce(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	source, noise := rand.New(rand.NewPCG(1, 2)), make([]byte, 60<<10)
	for i := range noise {
		noise[i] = byte(source.Uint32())
	}
	s.data("noise", base64.RawURLEncoding.EncodeToString(noise))
	s.install("root", object{
		"blueprint": inline(object{
			"imports":          append(dataImports("noise"), object{"name": "cluster", "targetType": clusterType}),
			"deployExecutions": inParts(20, configItem("item-NUMBER", "{import: cluster}", "large-NUMBER", "{{ .imports.noise }}")),
		}),
		"imports": object{"data": refs("noise"), "targets": list{object{"name": "cluster", "target": "cluster"}}},
	})
	assert.Contains(t, s.failed("root").Message, "spread them over sub-installations")
	assert.Empty(t, s.everyItem())
	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"))
}
