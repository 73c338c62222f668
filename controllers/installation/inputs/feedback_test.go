// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

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
			config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.ManifestDeployItemLabel: tc.label}}}
			objects := []client.Object{item, in("root", ""), in("sub", tc.above)}
			own, err := with(t, objects...).deploys(t.Context(), in(tc.inst, ""), config)
			require.NoError(t, err)
			assert.Equal(t, tc.want, own)
		})
	}
}
