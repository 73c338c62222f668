// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
)

func TestT07FunctionsOpenImportedSecretsOnly(t *testing.T) {
	secret := func(name string) *v1alpha1.LocalSecretReference { return &v1alpha1.LocalSecretReference{Name: name} }
	limits := &Reach{onlyImports: true, Targets: map[string]*v1alpha1.Target{"t": {Spec: v1alpha1.TargetSpec{SecretRef: secret("imported")}}}}
	i := newIssuer(t)
	i.reach = limits
	given := map[string]any{"spec": map[string]any{"type": v1alpha1.KubernetesClusterTargetType, "secretRef": map[string]any{"name": "foreign"}}}
	_, err := i.serviceAccountKubeconfig(t.Context(), "name", "namespace", 600, given)
	require.ErrorContains(t, err, "spec.secretRef is not among its imports")
	assert.Equal(t, err, i.Refused, "the failure says so, whatever becomes of the text")
	for name, isRefused := range map[string]bool{"imported": false, "foreign": true} {
		field, err := limits.beyond(t.Context(), &v1alpha1.TargetSpec{SecretRef: secret(name)})
		require.NoError(t, err)
		assert.Equal(t, isRefused, field != "", name)
	}
}

func TestT07OperatorDecidesWhereContextIsSilent(t *testing.T) {
	for name, c := range map[string]struct {
		operator, context, want v1alpha1.BlueprintAccess
		named                   string
	}{
		"nobody says anything":             {"", "", v1alpha1.BlueprintAccessNamespace, ""},
		"the operator":                     {v1alpha1.BlueprintAccessImports, "", v1alpha1.BlueprintAccessImports, ""},
		"the Context is wider":             {v1alpha1.BlueprintAccessImports, v1alpha1.BlueprintAccessNamespace, v1alpha1.BlueprintAccessNamespace, ""},
		"the Context is narrower":          {v1alpha1.BlueprintAccessNamespace, v1alpha1.BlueprintAccessImports, v1alpha1.BlueprintAccessImports, ""},
		"the operator and a missing":       {v1alpha1.BlueprintAccessImports, "-", v1alpha1.BlueprintAccessImports, ""},
		"the operator and a missing, wide": {v1alpha1.BlueprintAccessNamespace, "-", v1alpha1.BlueprintAccessNamespace, ""},
		"one that is named is missing":     {v1alpha1.BlueprintAccessNamespace, "", v1alpha1.BlueprintAccessImports, "lost"},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "root"}, Spec: v1alpha1.InstallationSpec{Context: c.named}}
			var contexts []client.Object
			if c.context != "-" {
				contexts = append(contexts, &v1alpha1.Context{
					ObjectMeta:           metav1.ObjectMeta{Namespace: "n", Name: v1alpha1.DefaultContextName},
					ContextConfiguration: v1alpha1.ContextConfiguration{BlueprintAccess: c.context},
				})
			}
			r := with(t, contexts...)
			r.BlueprintAccess = c.operator
			found, err := r.blueprintAccessOf(t.Context(), inst)
			require.NoError(t, err)
			assert.Equal(t, c.want, found)
		})
	}
}

func TestT07ConfigurationsNameImportedTargets(t *testing.T) {
	limits := &Reach{onlyImports: true, Targets: map[string]*v1alpha1.Target{"imported": {}}}
	for name, config := range map[string]string{
		"none":                 ``,
		"no object":            `[]`,
		"an imported one":      `{"exports":{"exports":[{"targetName":"imported"}]}}`,
		"the own one":          `{"exports":{"exports":[{"targetName":""},{"targetName":null}]}}`,
		"a field of an object": `{"manifests":[{"manifest":{"spec":{"targetName":"foreign"}}}],"values":{"exports":{"targetName":"foreign"}}}`,
		"a label":              `{"readinessChecks":{"custom":[{"labelSelector":{"matchLabels":{"targetName":"foreign"}}}]}}`,
		"a value to expect":    `{"readinessChecks":{"custom":[{"requirements":[{"values":[{"value":{"targetName":"foreign"}}]}]}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			field, _ := limits.configBeyond(&runtime.RawExtension{Raw: []byte(config)})
			assert.Empty(t, field)
		})
	}
}

// exporting is what a blueprint exports that may use its imports only: Targets that lead to the same as the last of those that are imported.
func exporting(exported, imported int) (*Reach, *render.ExportValues) {
	content := func(text string) *v1alpha1.AnyJSON { return &v1alpha1.AnyJSON{RawMessage: []byte(text)} }
	limits := &Reach{onlyImports: true, Targets: map[string]*v1alpha1.Target{}}
	for i := range imported {
		spec := v1alpha1.TargetSpec{Configuration: content(fmt.Sprintf(`{"selfConfig": {}, "a": [%d]}`, i+1-imported))}
		limits.Targets[fmt.Sprint(i)] = &v1alpha1.Target{Spec: spec}
	}
	made := &render.ExportValues{Targets: map[string]render.TargetTemplate{}}
	for i := range exported {
		made.Targets[fmt.Sprint(i)] = render.TargetTemplate{Configuration: content(`{"a":[0],"selfConfig":{}}`)}
	}
	return limits, made
}

func TestT07WhatIsImportedIsReadOnceForAllExports(t *testing.T) {
	const exported, imported = 1000, 20
	allocations := func(imported int) float64 {
		limits, made := exporting(exported, imported)
		return testing.AllocsPerRun(1, func() { require.NoError(t, limits.CheckExports(t.Context(), made)) })
	}
	assert.Less(t, allocations(imported), 1.1*allocations(1), "each export is compared with all that is imported")
}

func TestT07ACheckOfExportsEndsWithItsJob(t *testing.T) {
	limits, made := exporting(2, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, limits.CheckExports(ctx, made), context.Canceled)
}

func TestT07TargetsThatLeadToTheSame(t *testing.T) {
	spec := func(config, secret, account string) *v1alpha1.TargetSpec {
		made := &v1alpha1.TargetSpec{ServiceAccountName: account}
		if config != "" {
			made.Configuration = &v1alpha1.AnyJSON{RawMessage: []byte(config)}
		}
		if secret != "" {
			made.SecretRef = &v1alpha1.LocalSecretReference{Name: secret}
		}
		return made
	}
	for name, c := range map[string]struct {
		imported, made *v1alpha1.TargetSpec
		want           bool
	}{
		"another order":         {spec(`{"a":1,"b":{}}`, "", "c"), spec(`{ "b": {}, "a": 1.0 }`, "", "c"), true},
		"a Secret":              {spec("", "a", ""), spec("", "a", ""), true},
		"an extreme number":     {spec(`{"a":1e999}`, "", ""), spec(`{"a":1e999}`, "", ""), true},
		"another one":           {spec(`{"a":1e999}`, "", ""), spec(`{"a":1e998}`, "", ""), false},
		"another value":         {spec(`{"a":1}`, "", "c"), spec(`{"a":2}`, "", "c"), false},
		"another Secret":        {spec("", "a", ""), spec("", "b", ""), false},
		"another account":       {spec("", "a", "b"), spec("", "a", "c"), false},
		"a Secret as account":   {spec("", "a", ""), spec("", "", "a"), false},
		"what is no JSON twice": {spec("{", "", ""), spec("{", "", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			limits := &Reach{Targets: map[string]*v1alpha1.Target{"t": {Spec: *c.imported}}}
			same, err := limits.imports(t.Context(), c.made)
			require.NoError(t, err)
			assert.Equal(t, c.want, same)
		})
	}
}
