// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestReadEntries(t *testing.T) {
	key := client.ObjectKey{Namespace: "ns", Name: "there"}
	laughs := "a: &a [" + strings.Repeat("hidden, ", 300) + "x]\nb: &b [" + strings.Repeat("*a, ", 300) + "x]\nc: [" + strings.Repeat("*b, ", 300) + "x]"
	entries := map[string][]byte{"aliases": []byte("a: &a 1\nb: *a"), "bomb": []byte(laughs), "broken": []byte("hidden: [")}
	for name, c := range map[string]struct{ entry, says string }{
		"aliases":     {"aliases", ""},
		"bomb":        {"bomb", `Secret ns/there: key "bomb" has more than 16777216 bytes, counting those behind aliases`},
		"broken":      {"broken", `Secret ns/there: key "broken" is not YAML; correct its content`},
		"missing":     {"missing", `Secret ns/there has no key "missing"; add it`},
		"all of them": {"", "correct its content"},
	} {
		t.Run(name, func(t *testing.T) {
			value, err := readEntries(entries, c.entry, "Secret", key)
			if c.says == "" {
				require.NoError(t, err)
				assert.Equal(t, map[string]any{"a": int64(1), "b": int64(1)}, value)
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

// TestE21ASecretBehindATargetIsNoImport rotates credentials, which starts no job, and lets a Target name others, which does.
func TestE21ASecretBehindATargetIsNoImport(t *testing.T) {
	inst := fixture.Working("root", "1", "job")
	inst.Spec.Imports.Targets = []v1alpha1.TargetImport{{Name: "cluster", Target: "cluster"}}
	hash := func(name, credentials string, generation int64) string {
		target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "cluster", Generation: generation}}
		target.Spec.SecretRef = &v1alpha1.LocalSecretReference{Name: name, Key: "kubeconfig"}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}, Data: map[string][]byte{"kubeconfig": []byte(credentials)}}
		found, err := with(t, target, secret).collect(t.Context(), inst)
		require.NoError(t, err)
		return found.Hash()
	}
	before := hash("access", "one", 1)
	assert.Equal(t, before, hash("access", "two", 1))
	assert.NotEqual(t, before, hash("other", "one", 2))
}

func TestDeploys(t *testing.T) {
	in := func(name, parent string) *v1alpha1.Installation {
		inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
		if parent != "" {
			owner := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: parent, UID: "parent"}}
			inst.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind("Installation"))}
		}
		return inst
	}
	item := &v1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "item"}}
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: "sub", UID: "e"}}
	item.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(execution, v1alpha1.GroupVersion.WithKind("Execution"))}
	for name, tc := range map[string]struct {
		inst, label string
		above       string
		want        bool
	}{
		"its own item":                {"sub", "item", "root", true},
		"an item below it":            {"root", "item", "root", true},
		"an item of another":          {"other", "item", "root", false},
		"an item that is gone":        {"root", "gone", "root", false},
		"nobody's":                    {"root", "", "root", false},
		"an item in a circle of them": {"other", "item", "sub", false},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{item, in("root", ""), in("sub", tc.above)}
			own, err := with(t, objects...).newImportReader(in(tc.inst, "")).deploys(t.Context(), tc.label)
			require.NoError(t, err)
			assert.Equal(t, tc.want, own)
		})
	}
}

func TestASubinstallationNamesTheImportThatItLacks(t *testing.T) {
	inst := fixture.Node("root-sub", "root")
	inst.Namespace = "n"
	inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "in", DataRef: "url"}}
	_, err := with(t).collect(t.Context(), inst)
	require.EqualError(t, err, `spec.imports.data[0] (import "in"): DataObject url not found among the imports of installation root and the exports of its `+
		`sub-installations; export it there or change dataRef`)
}
