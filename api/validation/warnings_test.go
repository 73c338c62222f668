// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
)

func TestFieldsWithoutEffectAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"nothing":                 {`{imports: {data: [{name: a, dataRef: b}]}}`, ""},
		"version of an import":    {`{imports: {data: [{name: a, dataRef: b}, {name: c, dataRef: d, version: v1}]}}`, "spec.imports.data[1].version has no effect: remove it"},
		"namespace of a Secret":   {`{imports: {data: [{name: a, secretRef: {name: s, namespace: other}}]}}`, "spec.imports.data[0].secretRef.namespace has no effect: the Secret is read from the namespace of the Installation; copy it there"},
		"own namespace":           {`{imports: {data: [{name: a, secretRef: {name: s, namespace: shop}}]}}`, ""},
		"namespace of a map":      {`{imports: {data: [{name: a, configMapRef: {name: s, namespace: other}}]}}`, "spec.imports.data[0].configMapRef.namespace has no effect: the ConfigMap is read from the namespace of the Installation; copy it there"},
		"component descriptors":   {`{imports: {componentDescriptors: [{name: a}]}}`, "spec.imports.componentDescriptors has no effect: name the component in spec.componentDescriptor"},
		"no component descriptor": {`{imports: {componentDescriptors: null}}`, ""},
		"hints":                   {`{optimization: {hasNoSiblingImports: true}}`, "spec.optimization has no effect: siblings are found by an index; remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{}
			require.NoError(t, foreign.Unmarshal([]byte("{metadata: {namespace: shop}, spec: "+c.spec+"}"), inst))
			var want []string
			if c.want != "" {
				want = []string{c.want}
			}
			assert.Equal(t, want, validation.InstallationWarnings(inst))
		})
	}
}

func TestWarningsAreFew(t *testing.T) {
	inst := &v1alpha1.Installation{}
	inst.Spec.Imports.Data = make([]v1alpha1.DataImport, 100)
	for i := range inst.Spec.Imports.Data {
		inst.Spec.Imports.Data[i].Version = "v1"
	}
	assert.Len(t, validation.InstallationWarnings(inst), 10)
}
