// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// installation is one with a spec in YAML.
func installation(t *testing.T, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	var content map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(spec), &content))
	u.Object["spec"] = content
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Installation"))
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

const referenced = "blueprint: {ref: {resourceName: a}}\n"

// contradictions can never work, with the words of their refusal.
var contradictions = map[string]struct {
	spec string
	says []string
}{
	"a blueprint written and from a source": {
		"blueprint: {inline: {filesystem: {}}, sourceRef: {kind: GitRepository, name: a}}",
		[]string{"spec.blueprint", "give exactly one of inline, ref and sourceRef"}},
	"a blueprint from a component and a source": {
		"blueprint: {ref: {resourceName: a}, sourceRef: {kind: GitRepository, name: a}}",
		[]string{"spec.blueprint", "give exactly one of inline, ref and sourceRef"}},
	"a component from a repository and a source": {
		referenced + "componentDescriptor: {ref: {componentName: a.b/c, version: v1}, sourceRef: {kind: GitRepository, name: a}}",
		[]string{"spec.componentDescriptor", "give exactly one of inline, ref and sourceRef"}},
	"data from two places": {
		referenced + "imports: {data: [{name: a, dataRef: b}, {name: b, dataRef: b, secretRef: {name: s}}]}",
		[]string{"spec.imports.data", "give exactly one of dataRef, secretRef and configMapRef"}},
	"data from nowhere": {
		referenced + "imports: {data: [{name: a}]}", []string{"spec.imports.data", "give exactly one of dataRef"}},
	"data from an empty name": {
		referenced + "imports: {data: [{name: a, dataRef: ''}]}", []string{"spec.imports.data", "give exactly one of dataRef"}},
	"a Target and a list": {
		referenced + "imports: {targets: [{name: a, target: b, targets: []}]}",
		[]string{"spec.imports.targets", "give exactly one of target, targets, targetListRef, targetMap and targetMapRef"}},
	"a Target from nowhere": {
		referenced + "imports: {targets: [{name: a}]}", []string{"spec.imports.targets", "give exactly one of target"}},
	"a list that is null": {
		referenced + "imports: {targets: [{name: a, targets: null}]}", []string{"spec.imports.targets", "give exactly one of target"}},
}

func TestContradictionsAreNotCreated(t *testing.T) {
	s := newSite(t)
	s.namespace("contradictions")
	for name, c := range contradictions {
		t.Run(name, func(t *testing.T) {
			bad := installation(t, "contradictions", "bad", c.spec)
			for way, err := range map[string]error{
				"create": s.Client().Create(s.ctx, bad.DeepCopy(), client.DryRunAll),
				"apply": s.Client().Apply(s.ctx, client.ApplyConfigurationFromUnstructured(bad.DeepCopy()), client.DryRunAll,
					client.FieldOwner("kustomize-controller")),
			} {
				require.True(t, apierrors.IsInvalid(err), "%s: %v", way, err)
				for _, words := range c.says {
					assert.ErrorContains(t, err, words, way)
				}
			}
		})
	}
}

// TestUpdatesAreNeverInvalid keeps a Kustomization with force from deleting what runs: it does so when a dry run says Invalid. The status
// of what was updated so can be written, too.
func TestUpdatesAreNeverInvalid(t *testing.T) {
	s := newSite(t)
	s.namespace("updates")
	for name, c := range contradictions {
		t.Run(name, func(t *testing.T) {
			good := installation(t, "updates", "one", referenced)
			require.NoError(t, s.Client().Create(s.ctx, good))
			updated := good.DeepCopy()
			updated.Object["spec"] = installation(t, "", "", c.spec).Object["spec"]
			require.NoError(t, s.Client().Update(s.ctx, updated))
			require.NoError(t, unstructured.SetNestedField(updated.Object, "Failed", "status", "phase"))
			assert.NoError(t, s.Client().Status().Update(s.ctx, updated))
			require.NoError(t, s.Client().Delete(s.ctx, good))
			require.NoError(t, s.AwaitGone(s.ctx, good))
		})
	}
}

// TestWhatTheSchemaLeavesToTheStatus creates what has always been accepted, and what is right though it looks odd.
func TestWhatTheSchemaLeavesToTheStatus(t *testing.T) {
	s := newSite(t)
	for name, spec := range map[string]string{
		"no blueprint":             "blueprint: {}",
		"an old blueprint twice":   "blueprint: {ref: {resourceName: a}, inline: {filesystem: {}}}",
		"an import twice":          referenced + "imports: {data: [{name: a, dataRef: b}, {name: a, dataRef: b}]}",
		"an empty list of Targets": referenced + "imports: {targets: [{name: a, targets: []}]}",
		"an empty map of Targets":  referenced + "imports: {targets: [{name: a, targetMap: {}}]}",
		"an empty name beside one": referenced + "imports: {data: [{name: a, dataRef: '', configMapRef: {name: c}}]}",
		"each kind of Targets":     referenced + "imports: {targets: [{name: a, target: b}, {name: b, targetListRef: b}, {name: c, targetMapRef: b}]}",
	} {
		assert.NoError(t, s.Client().Create(s.ctx, installation(t, "default", "odd", spec), client.DryRunAll), name)
	}
}

// TestContradictionsInBlueprintsFailAtOnce has a blueprint make what the schema refuses.
func TestContradictionsInBlueprintsFailAtOnce(t *testing.T) {
	s := newSite(t)
	s.namespace("made")
	s.controller("maker")
	object := installation(t, "made", "parent", `blueprint:
  inline:
    filesystem:
      blueprint.yaml:
        apiVersion: landscaper.gardener.cloud/v1alpha1
        kind: Blueprint
        subinstallations:
        - name: child
          blueprint: {filesystem: {blueprint.yaml: {apiVersion: landscaper.gardener.cloud/v1alpha1, kind: Blueprint}}}
          imports: {targets: [{name: nowhere}]}
`)
	object.SetAnnotations(map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationReconcile})
	require.NoError(t, s.Client().Create(s.ctx, object))
	parent := &v1alpha1.Installation{}
	parent.Namespace, parent.Name = "made", "parent"
	s.until(parent, func() bool { return parent.Status.Phase.IsFinal() })
	require.Equal(t, v1alpha1.PhaseFailed, parent.Status.Phase)
	require.NotNil(t, parent.Status.LastError)
	assert.Contains(t, parent.Status.LastError.Message, `sub-installation "child"`)
	assert.Contains(t, parent.Status.LastError.Message, "give exactly one of target")
}
