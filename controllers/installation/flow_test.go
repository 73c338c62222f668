// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

const clusterType = "landscaper.gardener.cloud/kubernetes-cluster"

func (s *stage) target(name string) *v1alpha1.Target {
	config := v1alpha1.NewAnyJSON([]byte(`{"of":"` + name + `"}`))
	return &v1alpha1.Target{ObjectMeta: s.named(name), Spec: v1alpha1.TargetSpec{Type: clusterType, Configuration: &config}}
}

// spread returns a root that imports from everything that can be imported, passes it on to a sub-installation by reference, and exports data
// and a Target that come from there. Without more the sub-installation imports and exports nothing.
func (s *stage) spread(more bool) *v1alpha1.Installation {
	leaf := object{
		"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint", "deployExecutions": deploying("nothing"),
	}
	sub := object{"name": "child"}
	root := object{"deployExecutions": deploying("nothing")}
	inst := fixture.Following(&v1alpha1.Installation{ObjectMeta: s.named("root")})
	if more {
		types := map[string]string{"whole": "data", "key": "data", "object": "data", "one": "target", "list": "targetList", "map": "targetMap"}
		leaf["imports"] = fixture.Imports(map[string]string{"key": "data", "one": "target", "list": "targetList", "map": "targetMap"})
		leaf["exports"] = fixture.Imports(map[string]string{"data": "data", "cluster": "target"})
		leaf["deployExecutions"] = deploying("{{ .imports.key }} {{ (index .imports.list 1).spec.config.of }} {{ .imports.map.a.spec.config.of }}")
		leaf["exportExecutions"] = []any{object{"name": "default", "type": "GoTemplate", "template": "exports:\n" +
			"  data: {{ .values.deployitems.item.said }}\n" +
			"  cluster: {type: " + clusterType + ", config: {{ toJson .imports.one.spec.config }}, labels: {colour: red}, annotations: {by: hand}}\n"}}
		sub["imports"] = object{
			"data": []any{object{"name": "key", "dataRef": "key"}}, "targets": []any{
				object{"name": "one", "target": "one"}, object{"name": "list", "targetListRef": "list"}, object{"name": "map", "targetMapRef": "map"},
			},
		}
		sub["exports"] = object{
			"data": []any{object{"name": "data", "dataRef": "said"}}, "targets": []any{object{"name": "cluster", "target": "made"}},
		}
		root["imports"] = fixture.Imports(types)
		root["exports"] = fixture.Imports(map[string]string{"data": "data", "cluster": "target"})
		root["deployExecutions"] = deploying("{{ .imports.whole.a }} {{ .imports.key }} {{ .imports.object }} {{ .imports.one.spec.config.of }}")
		root["exportExecutions"] = []any{object{"name": "default", "type": "GoTemplate", "template": "exports:\n" +
			"  data: {{ .values.dataobjects.said }}\n" +
			"  cluster: {type: " + clusterType + ", config: {{ toJson .values.targets.made.spec.config }}}\n"}}
		inst.Spec.Imports = v1alpha1.InstallationImports{
			Data: []v1alpha1.DataImport{
				{Name: "whole", ConfigMapRef: &v1alpha1.LocalConfigMapReference{Name: "config"}},
				{Name: "key", SecretRef: &v1alpha1.LocalSecretReference{Name: "secret", Key: "key"}},
				{Name: "object", DataRef: "object"},
			},
			Targets: []v1alpha1.TargetImport{
				{Name: "one", Target: "one"}, {Name: "list", Targets: []string{"one", "two"}}, {Name: "map", TargetMap: map[string]string{"a": "two"}},
			},
		}
		inst.Spec.Exports = v1alpha1.InstallationExports{
			Data:    []v1alpha1.DataExport{{Name: "data", DataRef: "exported-data"}},
			Targets: []v1alpha1.TargetExport{{Name: "cluster", Target: "exported-cluster"}},
		}
	}
	sub["blueprint"] = object{"filesystem": object{"blueprint.yaml": fixture.JSONOf(leaf)}}
	root["subinstallations"] = []any{sub}
	inst.Spec.Blueprint = fixture.InlineBlueprint(root)
	return inst
}

// said makes what an Execution exports.
func (s *stage) said(execution *v1alpha1.Execution, value string) {
	s.t.Helper()
	exports := &v1alpha1.DataObject{
		ObjectMeta: s.named(storage.DataName(storage.ExecutionScope(execution.Name), "")), Data: v1alpha1.NewAnyJSON([]byte(`{"item":{"said":"` + value + `"}}`)),
	}
	s.create(exports)
	editStatus(s, execution, func(execution *v1alpha1.Execution) {
		execution.Status.ExportReference = &v1alpha1.ObjectReference{Namespace: exports.Namespace, Name: exports.Name}
	})
}

// carries returns the text in the configuration of the deploy item of an Execution.
func carries(t *testing.T, execution *v1alpha1.Execution) string {
	t.Helper()
	require.Len(t, execution.Spec.DeployItems, 1)
	var config struct{ Text string }
	require.NoError(t, json.Unmarshal(execution.Spec.DeployItems[0].Configuration.Raw, &config))
	return config.Text
}

func TestEverythingFlowsDownAndUpAndGoesWhenNobodyWantsIt(t *testing.T) {
	s := newStage(t)
	s.create(s.target("one"), s.target("two"),
		&corev1.ConfigMap{ObjectMeta: s.named("config"), Data: map[string]string{"a": "1"}, BinaryData: map[string][]byte{"b": []byte("2")}},
		&corev1.Secret{ObjectMeta: s.named("secret"), Data: map[string][]byte{"key": []byte("secret")}},
		&v1alpha1.DataObject{ObjectMeta: s.named("object"), Data: v1alpha1.NewAnyJSON([]byte(`3`))},
	)
	root := s.spread(true)
	s.create(root)
	own := s.execution("root", "")
	assert.Equal(t, "1 secret 3 one", carries(t, own))
	child := s.child("root")
	below := s.execution(child.Name, "")
	assert.Equal(t, "secret two two", carries(t, below))
	s.said(below, "hello")
	s.finish(below, v1alpha1.PhaseSucceeded)
	s.finish(own, v1alpha1.PhaseSucceeded)
	first := s.ended("root", "", v1alpha1.PhaseSucceeded)

	data, cluster := &v1alpha1.DataObject{ObjectMeta: s.named("exported-data")}, &v1alpha1.Target{ObjectMeta: s.named("exported-cluster")}
	require.NoError(t, s.client.Get(s.ctx, client.ObjectKeyFromObject(data), data))
	require.NoError(t, s.client.Get(s.ctx, client.ObjectKeyFromObject(cluster), cluster))
	assert.JSONEq(t, `"hello"`, string(data.Data.RawMessage))
	assert.JSONEq(t, `{"of":"one"}`, string(cluster.Spec.Configuration.RawMessage))
	s.quiet()

	edit(s, root, func(root *v1alpha1.Installation) { root.Spec = s.spread(false).Spec })
	s.finish(s.execution("root", first.Status.JobID), v1alpha1.PhaseSucceeded)
	s.finish(s.execution(child.Name, first.Status.JobID), v1alpha1.PhaseSucceeded)
	s.ended("root", first.Status.JobID, v1alpha1.PhaseSucceeded)
	require.True(t, apierrors.IsNotFound(s.client.Get(s.ctx, client.ObjectKeyFromObject(data), data)))
	targets := &v1alpha1.TargetList{}
	require.NoError(t, s.client.List(s.ctx, targets, client.InNamespace(s.namespace)))
	var stay []string
	for i := range targets.Items {
		if targets.Items[i].DeletionTimestamp.IsZero() { // the others are held by the protection of Targets in use, which does not run here
			stay = append(stay, targets.Items[i].Name)
		}
	}
	assert.ElementsMatch(t, []string{"one", "two"}, stay, "only those that a person made")
	s.quiet()
}

// TestExportsOfItemsThatAreGoneEndTheJob has somebody delete or overwrite what deploy items exported, before the job of their Installation has ended.
func TestExportsOfItemsThatAreGoneEndTheJob(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*stage, *v1alpha1.DataObject)
		reason string
	}{
		"deleted": {func(s *stage, data *v1alpha1.DataObject) { require.NoError(s.t, s.client.Delete(s.ctx, data)) }, "ExportNotFound"},
		"overwritten": {func(s *stage, data *v1alpha1.DataObject) {
			edit(s, data, func(data *v1alpha1.DataObject) { data.Data = v1alpha1.NewAnyJSON([]byte(`"text"`)) })
		}, "InvalidExport"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			inst := s.leaf("root", "a")
			inst.Spec.Blueprint = fixture.InlineBlueprint(object{
				"deployExecutions": deploying("a"), "exports": fixture.Imports(map[string]string{"said": "data"}),
				"exportExecutions": []any{object{"name": "default", "type": "GoTemplate", "template": "exports: {said: {{ index .values.deployitems \"item\" \"said\" }}}\n"}},
			})
			inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "said", DataRef: "said"}}
			s.create(fixture.Following(inst))
			execution := s.execution("root", "")
			s.said(execution, "hello")
			c.change(s, &v1alpha1.DataObject{ObjectMeta: s.named(storage.DataName(storage.ExecutionScope("root"), ""))})
			s.finish(execution, v1alpha1.PhaseSucceeded)
			failed := s.ended("root", "", v1alpha1.PhaseFailed)
			assert.Equal(t, c.reason, failed.Status.LastError.Reason)
			s.quiet()
		})
	}
}
