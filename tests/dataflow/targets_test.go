// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// colours makes a Target of the cluster for each name.
func (s *scene) colours(names ...string) {
	s.T.Helper()
	for _, name := range names {
		s.Target(name)
	}
}

// forEach is a deploy execution with one ConfigMap for each key of the target map import "targets", with the value from the import
// "config".
func forEach(prefix string) list {
	return goTemplate("deployItems:\n{{- range $key, $target := .imports.targets }}\n" +
		configItem("di-{{ $key }}", "{import: targets, key: {{ $key }}}", prefix+"{{ $key }}", "'{{ index $.imports.config $key }}'") +
		"{{- end }}\n")
}

var mapImports = list{object{"name": "targets", "type": "targetMap", "targetType": clusterType}, object{"name": "config", "schema": object{"type": "object"}}}

// mapSub is a sub-installation with one ConfigMap for each Target that a target import of any form gives it.
func mapSub(targets object) object {
	targets["name"] = "targets"
	return object{
		"name":      "sub",
		"blueprint": inTemplate(object{"imports": mapImports, "deployExecutions": forEach("cm-")}),
		"imports":   object{"data": refs("config"), "targets": list{targets}},
	}
}

// coloured is the spec of a root that imports a map of Targets by the names of the colours.
func coloured(parts object, colours ...string) object {
	byKey := object{}
	for _, colour := range colours {
		byKey[colour] = colour
	}
	parts["imports"] = mapImports
	return object{
		"blueprint": inline(parts),
		"imports":   object{"data": refs("config"), "targets": list{object{"name": "targets", "targetMap": byKey}}},
	}
}

// requireUpdate installs with red and blue, then with blue and yellow, and checks what is deployed. Spec makes the Installation.
func (s *scene) requireUpdate(spec func(colours ...string) object) {
	s.T.Helper()
	s.colours("red", "blue", "yellow")
	s.data("config", object{"red": "180m", "blue": "100m", "yellow": "140m"})
	s.install("root", spec("red", "blue"))
	s.succeeded("root")
	before := s.configs()
	require.ElementsMatch(s.T, []string{"cm-red", "cm-blue"}, keys(before))
	assert.Equal(s.T, "180m", before["cm-red"].Data["value"])

	s.install("root", spec("blue", "yellow"))
	s.succeeded("root")
	after := s.configs()
	require.ElementsMatch(s.T, []string{"cm-blue", "cm-yellow"}, keys(after))
	assert.Equal(s.T, before["cm-blue"].UID, after["cm-blue"].UID, "updated in place")
	assert.Equal(s.T, "140m", after["cm-yellow"].Data["value"])
	assert.Equal(s.T, "100m", after["cm-blue"].Data["value"])

	s.Delete(s.Installation("root"))
	s.Gone(s.Installation("root"), s.config("cm-blue"), s.config("cm-yellow"))
}

func TestB708TargetMapByReferenceTwice(t *testing.T) {
	newScene(t).requireUpdate(func(colours ...string) object {
		middle := object{
			"name": "middle",
			"blueprint": inTemplate(object{
				"imports": mapImports, "subinstallations": list{mapSub(object{"targetMapRef": "targets"})},
			}),
			"imports": object{"data": refs("config"), "targets": list{object{"name": "targets", "targetMapRef": "targets"}}},
		}
		return coloured(object{"subinstallations": list{middle}}, colours...)
	})
}

// singles renders one sub-installation for each key of the map, each with one element of it.
func singles() string {
	return fmt.Sprintf(`subinstallations:
{{- range $key, $target := .imports.targets }}
- name: sub-{{ $key }}
  blueprint:
    filesystem:
      blueprint.yaml: |
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
        imports: [{name: cluster, targetType: %s}, {name: config, schema: {type: object}}]
        deployExecutions:
        - name: default
          type: GoTemplate
          template: |
            deployItems:
%s
  imports:
    data: [{name: config, dataRef: config}]
    targets: [{name: cluster, target: "targets[{{ $key }}]"}]
{{- end }}
`, clusterType, indent(12, configItem("item", "{import: cluster}", "cm-{{ $key }}", "'{{ index $.imports.config $key }}'")))
}

// exporters are sub-installations that export one Target each, of the kubeconfig that they import.
func exporters(colours ...string) list {
	subs := list{}
	for _, colour := range colours {
		subs = append(subs, object{
			"name": "export-" + colour,
			"blueprint": inTemplate(object{
				"imports": list{object{"name": "cluster", "targetType": clusterType}},
				"exports": list{object{"name": "out", "type": "target", "targetType": clusterType}},
				"exportExecutions": goTemplate("exports:\n  out:\n    type: " + clusterType +
					"\n    config: {{ toJson .imports.cluster.spec.config }}\n"),
			}),
			"imports": object{"targets": list{object{"name": "cluster", "target": "cluster"}}},
			"exports": object{"targets": list{object{"name": "out", "target": "exported-" + colour}}},
		})
	}
	return subs
}

func TestB714ComposeAMapFromExportsOfSiblings(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.requireUpdate(func(colours ...string) object {
		byKey := object{}
		for _, colour := range colours {
			byKey[colour] = "exported-" + colour
		}
		return object{
			"blueprint": inline(object{
				"imports":          list{mapImports[1], object{"name": "cluster", "targetType": clusterType}},
				"subinstallations": append(exporters(colours...), mapSub(object{"targetMap": byKey})),
			}),
			"imports": object{"data": refs("config"), "targets": list{object{"name": "cluster", "target": "cluster"}}},
		}
	})
}

// TestA25 checks that a Target may go in the same moment as its key: what was deployed with it is uninstalled through the copy.
func TestA25RemovedTargetsDoNotBlockTheRemovalOfWhatTheyDeployed(t *testing.T) {
	s := newScene(t)
	s.colours("green", "blue")
	s.data("config", object{"green": "1", "blue": "2"})
	spec := func(colours ...string) object {
		return coloured(object{"subinstallations": list{mapSub(object{"targetMapRef": "targets"})}}, colours...)
	}
	s.install("root", spec("green", "blue"))
	s.succeeded("root")
	require.ElementsMatch(t, []string{"cm-green", "cm-blue"}, keys(s.configs()))
	s.Delete(&v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Name: "green", Namespace: s.Namespace}})
	s.install("root", spec("blue"))
	s.succeeded("root")
	assert.ElementsMatch(t, []string{"cm-blue"}, keys(s.configs()))
	for _, target := range s.targetsIn("Inst.root") {
		assert.NotEqual(t, "green", target.Labels[v1alpha1.DataObjectTargetMapKeyLabel], "the copy is gone after the run")
	}
}

func TestB702OneItemPerListElement(t *testing.T) {
	s := newScene(t)
	s.colours("red", "blue", "yellow")
	spec := func(targets ...string) object {
		return object{
			"blueprint": inline(object{
				"imports": list{object{"name": "targets", "type": "targetList", "targetType": clusterType}},
				"deployExecutions": goTemplate("deployItems:\n{{- range $index, $target := .imports.targets }}\n" +
					configItem("di-{{ $index }}", "{import: targets, index: {{ $index }}}", "cm-{{ $index }}", "'{{ $target.metadata.name }}'") +
					"{{- end }}\n"),
			}),
			"imports": object{"targets": list{object{"name": "targets", "targets": targets}}},
		}
	}
	s.install("root", spec("yellow", "red", "blue"))
	s.succeeded("root")
	assert.Equal(t, "yellow", s.configValue("cm-0"))
	assert.Equal(t, "red", s.configValue("cm-1"))
	assert.Equal(t, "blue", s.configValue("cm-2"))
	s.install("root", spec("blue"))
	s.succeeded("root")
	assert.ElementsMatch(t, []string{"cm-0"}, keys(s.configs()))
	assert.Equal(t, "blue", s.configValue("cm-0"))
}

// TestB703 uses more than ten elements, so that their order as text is another than that of their positions.
func TestB703ListsAndElementsForSubinstallations(t *testing.T) {
	s := newScene(t)
	names, want := []string{}, ""
	for i := range 12 {
		names = append(names, fmt.Sprintf("target-%d", 11-i))
		s.Put("Target", names[i], object{"spec": object{"type": clusterType, "config": object{"at": fmt.Sprint(i)}}})
		want += fmt.Sprintf("%d,", i)
	}
	inner := object{
		"name": "sub",
		"blueprint": inTemplate(object{
			"imports": list{
				object{"name": "all", "type": "targetList", "targetType": clusterType},
				object{"name": "some", "type": "targetList", "targetType": clusterType},
				object{"name": "one", "type": "target", "targetType": clusterType},
			},
			"exports": dataExports("seen"),
			"exportExecutions": goTemplate("exports:\n  seen: '{{ range .imports.all }}{{ .spec.config.at }},{{ end }} " +
				"{{ range .imports.some }}{{ .spec.config.at }},{{ end }} {{ .imports.one.spec.config.at }}'"),
		}),
		"imports": object{"targets": list{
			object{"name": "all", "targetListRef": "targets"}, object{"name": "some", "targets": list{"targets[11]", "targets[2]"}},
			object{"name": "one", "target": "targets[10]"},
		}},
		"exports": object{"data": refs("seen")},
	}
	s.install("root", object{
		"blueprint": inline(object{
			"imports":          list{object{"name": "targets", "type": "targetList", "targetType": clusterType}},
			"exports":          dataExports("seen"),
			"subinstallations": list{inner},
			"exportExecutions": goTemplate("exports: {seen: '{{ .dataobjects.seen }}'}"),
		}),
		"imports": object{"targets": list{object{"name": "targets", "targets": names}}},
		"exports": object{"data": refs("seen")},
	})
	job := s.succeeded("root").Status.JobID
	assert.Equal(t, fmt.Sprintf("%q", want+" 11,2, 10"), s.value("seen"))

	s.Put("Target", names[10], object{"spec": object{"type": clusterType, "config": object{"at": "changed"}}})
	s.reconcile("root")
	s.Ran("root", job, v1alpha1.PhaseSucceeded)
	assert.Contains(t, s.value("seen"), " 11,2, changed")
}

func TestTargetReferencesToAParentNeedOne(t *testing.T) {
	s := newScene(t)
	s.install("root", object{
		"blueprint": inline(object{"imports": list{object{"name": "targets", "type": "targetList", "targetType": clusterType}}}),
		"imports":   object{"targets": list{object{"name": "targets", "targetListRef": "nothing"}}},
	})
	assert.Contains(t, s.failed("root").Message, "targetListRef and targetMapRef name imports of a parent")
}

// targetsIn returns the Targets of a scope.
func (s *scene) targetsIn(scope string) []v1alpha1.Target {
	s.T.Helper()
	all := &v1alpha1.TargetList{}
	require.NoError(s.T, s.Client().List(s.Ctx, all, s.inScope(scope)...))
	return all.Items
}

func TestB701ExportedTargetsImportedAsList(t *testing.T) {
	s := newScene(t)
	exporter := func(name, at string) object {
		return object{
			"blueprint": inline(object{
				"exports":          list{object{"name": "out", "type": "target", "targetType": "landscaper.gardener.cloud/mock"}},
				"exportExecutions": goTemplate("exports: {out: {type: landscaper.gardener.cloud/mock, config: {at: " + at + "}, labels: {some: label}}}"),
			}),
			"exports": object{"targets": list{object{"name": "out", "target": name}}},
		}
	}
	s.install("first", exporter("target-1", "one"))
	s.install("second", exporter("target-2", "two"))
	s.install("third", object{
		"blueprint": inline(object{
			"imports":          list{object{"name": "in", "type": "targetList", "targetType": "landscaper.gardener.cloud/mock"}},
			"exports":          dataExports("seen"),
			"exportExecutions": goTemplate("exports: {seen: '{{ range .imports.in }}{{ .spec.config.at }}{{ end }}'}"),
		}),
		"imports": object{"targets": list{object{"name": "in", "targets": list{"target-2", "target-1"}}}},
		"exports": object{"data": refs("seen")},
	})
	s.succeeded("third")
	assert.Equal(t, `"twoone"`, s.value("seen"))
	target := &v1alpha1.Target{}
	require.NoError(t, s.Client().Get(s.Ctx, s.key("target-1"), target))
	assert.Equal(t, "label", target.Labels["some"])
	assert.JSONEq(t, `{"at":"one"}`, string(target.Spec.Configuration.RawMessage))

	s.install("first", exporter("target-1", "changed"))
	s.AwaitState("third", func(inst *v1alpha1.Installation) bool {
		return inst.Status.IsIdle() && s.value("seen") == `"twochanged"`
	})
	s.RequireJobs(2, "first", "third")
}

func TestB504TargetListsAndTheirCopies(t *testing.T) {
	s := newScene(t)
	for _, name := range []string{"a", "b", "c"} {
		s.Put("Target", name, object{"spec": object{"type": "landscaper.gardener.cloud/mock", "config": object{"name": name}}})
	}
	sub := object{
		"name": "sub",
		"blueprint": inTemplate(object{
			"imports": list{
				object{"name": "full", "type": "targetList", "targetType": "landscaper.gardener.cloud/mock"},
				object{"name": "none", "type": "targetList", "targetType": "landscaper.gardener.cloud/mock"},
			},
			"exports": append(dataExports("count"), object{"name": "again", "type": "target", "targetType": "landscaper.gardener.cloud/mock"}),
			"exportExecutions": goTemplate("exports:\n  count: {{ len .imports.full }}-{{ len .imports.none }}\n" +
				"  again: {type: landscaper.gardener.cloud/mock, config: {{ toJson (index .imports.full 1).spec.config }}}\n"),
		}),
		"imports": object{"targets": list{
			object{"name": "full", "targetListRef": "full"}, object{"name": "none", "targetListRef": "none"},
		}},
		"exports": object{"data": refs("count"), "targets": list{object{"name": "again", "target": "again"}}},
	}
	s.install("root", object{
		"blueprint": inline(object{
			"imports": list{
				object{"name": "full", "type": "targetList", "targetType": "landscaper.gardener.cloud/mock"},
				object{"name": "none", "type": "targetList", "targetType": "landscaper.gardener.cloud/mock"},
			},
			"exports":          append(dataExports("count"), object{"name": "again", "type": "target", "targetType": "landscaper.gardener.cloud/mock"}),
			"subinstallations": list{sub},
			"exportExecutions": goTemplate("exports:\n  count: {{ .dataobjects.count }}\n" +
				"  again: {type: landscaper.gardener.cloud/mock, config: {{ toJson .targets.again.spec.config }}}\n"),
		}),
		"imports": object{"targets": list{object{"name": "full", "targets": list{"a", "b", "c"}}, object{"name": "none", "targets": list{}}}},
		"exports": object{"data": refs("count"), "targets": list{object{"name": "again", "target": "again"}}},
	})
	s.succeeded("root")
	assert.Equal(t, `"3-0"`, s.value("count"))
	again := &v1alpha1.Target{}
	require.NoError(t, s.Client().Get(s.Ctx, s.key("again"), again))
	assert.JSONEq(t, `{"name":"b"}`, string(again.Spec.Configuration.RawMessage))

	own := "Inst." + s.Child("root", "sub").Name
	copies := s.targetsIn(own)
	require.Len(t, copies, 3)
	for _, target := range copies {
		assert.Equal(t, "full", target.Labels[v1alpha1.DataObjectKeyLabel])
		assert.Equal(t, own, target.Labels[v1alpha1.DataObjectSourceLabel])
		assert.Equal(t, "import", target.Labels[v1alpha1.DataObjectSourceTypeLabel])
	}
}

// elementSub is a sub-installation of the levels below that renders one sub-installation for each Target of its map.
func elementSub(name string) object {
	return object{
		"name":      name,
		"blueprint": inTemplate(object{"imports": mapImports, "subinstallationExecutions": goTemplate(singles())}),
		"imports":   object{"data": refs("config"), "targets": list{object{"name": "targets", "targetMapRef": "targets"}}},
	}
}

func TestB710ToB711OneSubinstallationPerTargetByReference(t *testing.T) {
	newScene(t).requireUpdate(func(colours ...string) object {
		upper := object{
			"name":      "upper",
			"blueprint": inTemplate(object{"imports": mapImports, "subinstallations": list{elementSub("middle")}}),
			"imports":   object{"data": refs("config"), "targets": list{object{"name": "targets", "targetMapRef": "targets"}}},
		}
		return coloured(object{"subinstallations": list{upper}}, colours...)
	})
}

// composed is a sub-installation that composes a map from single imports of its own, which its parent gives from elements or exports.
func composed(from func(colour string) string, colours ...string) object {
	imports, given, byKey := list{mapImports[1]}, list{}, object{}
	for _, colour := range colours {
		imports = append(imports, object{"name": "target-" + colour, "targetType": clusterType})
		given = append(given, object{"name": "target-" + colour, "target": from(colour)})
		byKey[colour] = "target-" + colour
	}
	return object{
		"name":      "composer",
		"blueprint": inTemplate(object{"imports": imports, "subinstallations": list{mapSub(object{"targetMap": byKey})}}),
		"imports":   object{"data": refs("config"), "targets": given},
	}
}

func TestB712ToB713PassAndComposeAMap(t *testing.T) {
	newScene(t).requireUpdate(func(colours ...string) object {
		element := func(colour string) string { return "targets[" + colour + "]" }
		return coloured(object{"subinstallations": list{composed(element, colours...)}}, colours...)
	})
}

func TestB715PassAndComposeAMapFromExports(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.requireUpdate(func(colours ...string) object {
		exported := func(colour string) string { return "exported-" + colour }
		return object{
			"blueprint": inline(object{
				"imports":          list{mapImports[1], object{"name": "cluster", "targetType": clusterType}},
				"subinstallations": append(exporters(colours...), composed(exported, colours...)),
			}),
			"imports": object{"data": refs("config"), "targets": list{object{"name": "cluster", "target": "cluster"}}},
		}
	})
}

func TestB704TargetWithSecretReference(t *testing.T) {
	s := newScene(t)
	config, err := s.NewUser(s.Deployer(), "system:masters")
	require.NoError(t, err)
	kubeconfig, err := platform.KubeconfigFor(config)
	require.NoError(t, err)
	s.secret("access", map[string]string{"kubeconfig": string(kubeconfig)})
	s.Put("Target", "cluster", object{"spec": object{"type": clusterType, "secretRef": object{"name": "access", "key": "kubeconfig"}}})
	s.install("root", onCluster("deployItems:\n"+
		configItem("item", "{import: cluster}", "cm", "'{{ hasKey .imports.cluster.spec \"config\" }}'")))
	s.succeeded("root")
	assert.Equal(t, "false", s.configValue("cm"))
}

func TestB705UpdateOfAnExportedTargetThroughTwoLevels(t *testing.T) {
	s := newScene(t)
	mock := "landscaper.gardener.cloud/mock"
	out := list{object{"name": "out", "type": "target", "targetType": mock}}
	spec := func(at string) object {
		inner := object{
			"name": "inner",
			"blueprint": inTemplate(object{
				"exports": out, "exportExecutions": goTemplate("exports: {out: {type: " + mock + ", config: {at: " + at + "}}}"),
			}),
			"exports": object{"targets": list{object{"name": "out", "target": "inner"}}},
		}
		middle := object{
			"name": "middle",
			"blueprint": inTemplate(object{
				"exports": out, "subinstallations": list{inner},
				"exportExecutions": goTemplate("exports: {out: {type: " + mock + ", config: {{ toJson .targets.inner.spec.config }}}}"),
			}),
			"exports": object{"targets": list{object{"name": "out", "target": "middle"}}},
		}
		return object{
			"blueprint": inline(object{
				"exports": out, "subinstallations": list{middle},
				"exportExecutions": goTemplate("exports: {out: {type: " + mock + ", config: {{ toJson .targets.middle.spec.config }}}}"),
			}),
			"exports": object{"targets": list{object{"name": "out", "target": "outer"}}},
		}
	}
	for _, at := range []string{"one", "two", "one"} {
		s.install("root", spec(at))
		s.succeeded("root")
		target := &v1alpha1.Target{}
		require.NoError(t, s.Client().Get(s.Ctx, s.key("outer"), target))
		assert.JSONEq(t, fmt.Sprintf(`{"at":%q}`, at), string(target.Spec.Configuration.RawMessage))
	}
}

func TestTargetsOfAGoneInstallationAreRefused(t *testing.T) {
	s := newScene(t)
	s.Put("Target", "orphan", object{
		"metadata": object{
			"finalizers": list{"example.com/keeps-it"},
			"ownerReferences": list{object{
				"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Installation", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000",
			}},
		},
		"spec": object{"type": clusterType},
	})
	t.Cleanup(func() {
		s.Put("Target", "orphan", object{"metadata": object{}, "spec": object{"type": clusterType}})
	})
	s.install("root", object{
		"blueprint": inline(object{"imports": list{object{"name": "cluster", "targetType": clusterType}}}),
		"imports":   object{"targets": list{object{"name": "cluster", "target": "orphan"}}},
	})
	assert.Contains(t, s.failed("root").Message, "was exported by installation gone, which does not exist any more")
}
