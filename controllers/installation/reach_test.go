// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// reachingOut are blueprints that use something of the namespace that no Installation imports, by how they do it.
func reachingOut() map[string]outreach {
	return map[string]outreach{
		"data by #": {
			parts: object{"subinstallations": []any{subinstallation(object{"data": []any{object{"name": "a", "dataRef": "#foreign"}}}, nil)}},
			field: `imports.data[0].dataRef "#foreign"`,
		},
		"target by #": {
			parts: object{"subinstallations": []any{subinstallation(object{"targets": []any{object{"name": "a", "target": "#foreign"}}}, nil)}},
			field: `(import "a") "#foreign"`,
		},
		"target list by #": {
			parts: object{"subinstallations": []any{subinstallation(object{"targets": []any{object{"name": "a", "targets": []any{"#foreign"}}}}, nil)}},
			field: `(import "a") "#foreign"`,
		},
		"target map by #": {
			parts: object{"subinstallations": []any{subinstallation(object{"targets": []any{object{"name": "a", "targetMap": object{"k": "#foreign"}}}}, nil)}},
			field: `(import "a") "#foreign"`,
		},
		"export of data by #": {
			parts: object{"subinstallations": []any{subinstallation(nil, object{"data": []any{object{"name": "a", "dataRef": "#foreign"}}})}},
			field: `exports.data[0].dataRef "#foreign"`, never: true,
		},
		"export of a target by #": {
			parts: object{"subinstallations": []any{subinstallation(nil, object{"targets": []any{object{"name": "a", "target": "#foreign"}}})}},
			field: `exports.targets[0].target "#foreign"`, never: true,
		},
		"target by name": {
			parts: object{"deployExecutions": deployingItem("target: {name: foreign}\n  config: {}")}, deploys: true,
			field: `target.name "foreign"`,
		},
		"values of Secrets": {
			parts: object{"deployExecutions": deployingItem("config: {valuesFrom: [{kind: Secret, name: foreign}]}")}, deploys: true,
			field: "config.valuesFrom",
		},
		"pull secrets": {
			parts: object{"deployExecutions": deployingItem("config: {registryPullSecrets: [{name: foreign}]}")}, deploys: true,
			field: "config.registryPullSecrets",
		},
		"target of an export": {
			parts: object{"deployExecutions": deployingItem("config: {exports: {exports: [{key: a, jsonPath: .data, targetName: foreign}]}}")}, deploys: true,
			field: `targetName "foreign" in config.exports`,
		},
		"target of an export, by its older place and in another spelling": {
			parts: object{"deployExecutions": deployingItem("config: {exportsfrommanifests: [{key: a, TargetName: foreign}]}")}, deploys: true,
			field: `targetName "foreign" in config.exportsFromManifests`,
		},
		"target of a readiness check": {
			parts: object{"deployExecutions": deployingItem("config: {readinessChecks: {custom: [{name: a, targetName: foreign}]}}")}, deploys: true,
			field: `targetName "foreign" in config.readinessChecks`,
		},
		"target of a deletion group": {
			parts:   object{"deployExecutions": deployingItem("config: {deletionGroups: [{customResourceGroup: {deleteAllResources: true, targetName: foreign}}]}")},
			deploys: true, field: `targetName "foreign" in config.deletionGroups`,
		},
		"target of a deletion group of an update": {
			parts:   object{"deployExecutions": deployingItem("config: {deletionGroupsDuringUpdate: [{customResourceGroup: {targetName: foreign}}]}")},
			deploys: true, field: `targetName "foreign" in config.deletionGroupsDuringUpdate`,
		},
		"account of a target": {
			parts: object{
				"imports":          []any{object{"name": "self", "type": "target", "targetType": clusterType}},
				"deployExecutions": deployingItem("target: {import: self}\n  serviceAccountName: foreign\n  config: {}"),
			}, deploys: true,
			field: `serviceAccountName "foreign"`,
		},
	}
}

// outreach is one way to use more than what is imported.
type outreach struct {
	parts object
	// field is named by the refusal.
	field string
	// deploys says that the root has deploy items.
	deploys bool
	// never says that the API server refuses it in any case.
	never bool
}

func deployingItem(rest string) []any {
	return []any{object{"name": "default", "type": "GoTemplate", "template": "deployItems:\n- name: item\n  type: example.com/none\n  " + rest + "\n"}}
}

// subinstallation is one without anything to deploy. It exports data and a Target by the name a.
func subinstallation(imports, exports object) object {
	leaf := object{"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint"}
	if exports["data"] != nil {
		leaf["exports"] = []any{object{"name": "a", "type": "data", "schema": object{}}}
		leaf["exportExecutions"] = exportingText("a: text")
	}
	if exports["targets"] != nil {
		leaf["exports"] = []any{object{"name": "a", "type": "target", "targetType": clusterType}}
		leaf["exportExecutions"] = exportingText("a: {type: " + clusterType + ", config: {}}")
	}
	sub := object{"name": "child", "blueprint": object{"filesystem": object{"blueprint.yaml": fixture.JSONOf(leaf)}}}
	if imports != nil {
		sub["imports"] = imports
	}
	if exports != nil {
		sub["exports"] = exports
	}
	return sub
}

func exportingText(text string) []any {
	return []any{object{"name": "default", "type": "GoTemplate", "template": "exports:\n  " + text + "\n"}}
}

// surroundings creates what blueprints reach out for, and a Target that the root imports.
func (s *stage) surroundings() {
	s.t.Helper()
	data := v1alpha1.NewAnyJSON([]byte(`"of somebody else"`))
	self := v1alpha1.NewAnyJSON([]byte(`{"selfConfig":{}}`))
	s.create(
		&v1alpha1.DataObject{ObjectMeta: s.named("foreign"), Data: data}, s.target("foreign"),
		&v1alpha1.Target{ObjectMeta: s.named("self"), Spec: v1alpha1.TargetSpec{Type: clusterType, Configuration: &self}},
	)
}

// reaching returns a root with a blueprint of some parts that imports the Target self.
func (s *stage) reaching(parts object) *v1alpha1.Installation {
	inst := fixture.Following(&v1alpha1.Installation{ObjectMeta: s.named("root")})
	inst.Spec.Imports.Targets = []v1alpha1.TargetImport{{Name: "self", Target: "self"}}
	inst.Spec.Blueprint = fixture.InlineBlueprint(parts)
	return inst
}

func (s *stage) context(access v1alpha1.BlueprintAccess) *v1alpha1.Context {
	c := &v1alpha1.Context{ObjectMeta: s.named(v1alpha1.DefaultContextName)}
	c.BlueprintAccess = access
	return c
}

func TestT07BlueprintUsesNothingBeyondImports(t *testing.T) {
	for name, c := range reachingOut() {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.surroundings()
			s.create(s.context(v1alpha1.BlueprintAccessImports), s.reaching(c.parts))
			failed := s.ended("root", "", v1alpha1.PhaseFailed)
			require.NotNil(t, failed.Status.LastError)
			assert.Equal(t, jobs.ReasonBeyondImports, failed.Status.LastError.Reason)
			message := failed.Status.LastError.Message
			assert.Contains(t, message, "installation "+s.namespace+"/root")
			assert.Contains(t, message, c.field)
			assert.Contains(t, message, "set blueprintAccess: namespace in Context "+s.namespace+"/default")
			s.quiet()
			again := s.installation("root", func(*v1alpha1.Installation) bool { return true })
			assert.Equal(t, failed.Status.JobID, again.Status.JobID, "a refusal starts no other job")
			list := &v1alpha1.InstallationList{}
			require.NoError(t, s.client.List(s.ctx, list, client.InNamespace(s.namespace)))
			assert.Len(t, list.Items, 1, "no sub-installation was made")
		})
	}
}

func TestT07BlueprintUsesNamespaceWhereContextAllows(t *testing.T) {
	for name, c := range reachingOut() {
		if c.never {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.surroundings()
			s.create(s.context(v1alpha1.BlueprintAccessNamespace), s.reaching(c.parts))
			if c.deploys {
				s.succeed("root", "")
				return
			}
			s.ended("root", "", v1alpha1.PhaseSucceeded)
		})
	}
}

func TestT07OtherContextStartsRefusedInstallation(t *testing.T) {
	s := newStage(t)
	s.surroundings()
	access := s.context(v1alpha1.BlueprintAccessImports)
	s.create(access, s.reaching(reachingOut()["data by #"].parts))
	s.ended("root", "", v1alpha1.PhaseFailed)
	edit(s, access, func(c *v1alpha1.Context) { c.BlueprintAccess = v1alpha1.BlueprintAccessNamespace })
	s.ended("root", "", v1alpha1.PhaseSucceeded)
}

func TestT07OtherContextStartsRootOfRefusedSubinstallation(t *testing.T) {
	s := newStage(t)
	s.surroundings()
	inner := subinstallation(object{"data": []any{object{"name": "a", "dataRef": "#foreign"}}}, nil)
	middle := object{"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Blueprint", "subinstallations": []any{inner}}
	outer := object{"name": "middle", "blueprint": object{"filesystem": object{"blueprint.yaml": fixture.JSONOf(middle)}}}
	access := s.context(v1alpha1.BlueprintAccessImports)
	s.create(access, s.reaching(object{"subinstallations": []any{outer}}))
	failed := s.ended("root", "", v1alpha1.PhaseFailed)
	assert.Contains(t, failed.Status.LastError.Message, `imports.data[0].dataRef "#foreign"`)
	edit(s, access, func(c *v1alpha1.Context) { c.BlueprintAccess = v1alpha1.BlueprintAccessNamespace })
	s.ended("root", "", v1alpha1.PhaseSucceeded)
}

// TestT07TreePassesImportsOn shows that data and Targets still flow from imports through all levels and between siblings.
func TestT07TreePassesImportsOn(t *testing.T) {
	s := newStage(t)
	s.create(s.context(v1alpha1.BlueprintAccessImports), s.target("one"), s.target("two"),
		&corev1.ConfigMap{ObjectMeta: s.named("config"), Data: map[string]string{"a": "1"}},
		&corev1.Secret{ObjectMeta: s.named("secret"), Data: map[string][]byte{"key": []byte("secret")}},
		&v1alpha1.DataObject{ObjectMeta: s.named("object"), Data: v1alpha1.NewAnyJSON([]byte(`3`))},
	)
	s.create(s.spread(true))
	own, child := s.execution("root", ""), s.child("root")
	below := s.execution(child.Name, "")
	assert.Equal(t, "secret two two", carries(t, below))
	s.said(below, "hello")
	s.finish(below, v1alpha1.PhaseSucceeded)
	s.finish(own, v1alpha1.PhaseSucceeded)
	s.ended("root", "", v1alpha1.PhaseSucceeded)
}

func TestT07TemplatedTargets(t *testing.T) {
	for name, c := range map[string]struct {
		made, field string
	}{
		"kubeconfig of its own":          {`config: {kubeconfig: text}`, ""},
		"content of an imported target":  {`config: {{ toJson .imports.self.spec.config }}`, ""},
		"secret of an imported target":   {`secretRef: {name: imported, key: k}`, ""},
		"other key of an imported one":   {`secretRef: {name: imported, key: other}`, "spec.secretRef"},
		"secret of somebody else":        {`secretRef: {name: foreign, key: k}`, "spec.secretRef"},
		"account of the landscaper":      {`config: {selfConfig: {serviceAccount: {name: admin}}}`, "config.selfConfig"},
		"account by OpenID":              {`config: {oidcConfig: {server: https://x, serviceAccount: {name: admin}}}`, "config.oidcConfig"},
		"secret of another environment":  {`config: {kubeconfig: {secretRef: {name: host}}}`, "config.kubeconfig.secretRef"},
		"the same in another spelling":   {`config: {Kubeconfig: {SecretRef: {name: host}}}`, "config.kubeconfig.secretRef"},
		"account beside other content":   {`config: {kubeconfig: text, selfConfig: {serviceAccount: {name: admin}}}`, "config.selfConfig"},
		"other account for imported one": {`config: {{ toJson .imports.self.spec.config }}, serviceAccountName: admin`, "config.selfConfig"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.surroundings()
			s.create(s.context(v1alpha1.BlueprintAccessImports), &v1alpha1.Target{ObjectMeta: s.named("kept"), Spec: v1alpha1.TargetSpec{
				Type: clusterType, SecretRef: &v1alpha1.LocalSecretReference{Name: "imported", Key: "k"},
			}})
			inst := s.reaching(object{
				"imports": fixture.Imports(map[string]string{"self": "target", "kept": "target"}),
				"exports": fixture.Imports(map[string]string{"made": "target"}), "exportExecutions": exportingText("made: {type: " + clusterType + ", " + c.made + "}"),
			})
			inst.Spec.Imports.Targets = append(inst.Spec.Imports.Targets, v1alpha1.TargetImport{Name: "kept", Target: "kept"})
			inst.Spec.Exports.Targets = []v1alpha1.TargetExport{{Name: "made", Target: "made"}}
			s.create(inst)
			if c.field == "" {
				s.ended("root", "", v1alpha1.PhaseSucceeded)
				return
			}
			failed := s.ended("root", "", v1alpha1.PhaseFailed)
			assert.Equal(t, jobs.ReasonBeyondImports, failed.Status.LastError.Reason)
			assert.Contains(t, failed.Status.LastError.Message, `target export "made": `+c.field)
		})
	}
}
