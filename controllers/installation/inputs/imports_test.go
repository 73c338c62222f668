// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
)

func TestReadEntries(t *testing.T) {
	key := client.ObjectKey{Namespace: "ns", Name: "there"}
	laughs := "a: &a [" + strings.Repeat("hidden, ", 300) + "x]\nb: &b [" + strings.Repeat("*a, ", 300) + "x]\nc: [" + strings.Repeat("*b, ", 300) + "x]"
	entries := map[string][]byte{"aliases": []byte("a: &a 1\nb: *a"), "bomb": []byte(laughs), "broken": []byte("hidden: [")}
	for name, c := range map[string]struct{ entry, says string }{
		"aliases":     {"aliases", ""},
		"bomb":        {"bomb", `Secret ns/there: key "bomb" has more than 250000 values`},
		"broken":      {"broken", `Secret ns/there: key "broken" is not YAML; correct its content`},
		"missing":     {"missing", `Secret ns/there has no key "missing"; add it`},
		"all of them": {"", "correct its content"},
	} {
		t.Run(name, func(t *testing.T) {
			value, err := readEntries(entries, c.entry, "Secret", key, &foreign.Several{})
			if c.says == "" {
				require.NoError(t, err)
				assert.Equal(t, map[string]any{"a": 1.0, "b": 1.0}, value)
				return
			}
			require.ErrorContains(t, err, c.says)
			assert.NotContains(t, err.Error(), "hidden")
		})
	}
}

// often is an Installation that imports many times what one object holds.
func often(times int, definition v1alpha1.DataImport) *v1alpha1.Installation {
	inst := fixture.Working("root", "1", "job")
	for i := range times {
		definition.Name = "value" + strconv.Itoa(i)
		inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, definition)
	}
	return inst
}

func TestImportsTakeLittleMemoryTogether(t *testing.T) {
	large := "[{}" + strings.Repeat(",{}", 60_000) + "]"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "in"}, Data: map[string][]byte{"key": []byte(large)}}
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "in"}, Data: map[string]string{"key": large}}
	target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "in"}}
	target.Spec.Configuration = new(v1alpha1.NewAnyJSON([]byte(large)))
	targets := fixture.Working("root", "1", "job")
	targets.Spec.Imports.Targets = []v1alpha1.TargetImport{{Name: "all", Targets: slices.Repeat([]string{"in"}, 5)}}
	for name, inst := range map[string]*v1alpha1.Installation{
		"DataObject": often(5, v1alpha1.DataImport{DataRef: "in"}),
		"Secret":     often(5, v1alpha1.DataImport{SecretRef: &v1alpha1.LocalSecretReference{Name: "in"}}),
		"ConfigMap":  often(5, v1alpha1.DataImport{ConfigMapRef: &v1alpha1.LocalConfigMapReference{Name: "in"}}),
		"Target":     targets,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := with(t, there(large), secret, config, target).readImports(t.Context(), inst)
			assert.ErrorContains(t, err, "takes more than 64 MiB of memory")
		})
	}
}
