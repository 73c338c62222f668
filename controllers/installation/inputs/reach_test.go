// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestT07FunctionsOpenImportedSecretsOnly(t *testing.T) {
	secret := func(name string) *v1alpha1.LocalSecretReference { return &v1alpha1.LocalSecretReference{Name: name} }
	limits := &Reach{onlyImports: true, Targets: map[string]*v1alpha1.Target{"t": {Spec: v1alpha1.TargetSpec{SecretRef: secret("imported")}}}}
	i := newIssuer(t)
	i.reach = limits
	given := map[string]any{"spec": map[string]any{"type": v1alpha1.KubernetesClusterTargetType, "secretRef": map[string]any{"name": "foreign"}}}
	_, err := i.ServiceAccountKubeconfig(t.Context(), "name", "namespace", 600, given)
	require.ErrorContains(t, err, "spec.secretRef is not among its imports")
	assert.Equal(t, err, i.Refused, "the failure says so, whatever becomes of the text")
	assert.Empty(t, limits.beyond(&v1alpha1.TargetSpec{SecretRef: secret("imported")}))
	assert.NotEmpty(t, limits.beyond(&v1alpha1.TargetSpec{SecretRef: secret("foreign")}))
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
			found, err := r.contexts().BlueprintAccessOf(t.Context(), inst)
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
