// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestTheNearestSaysWhetherChangesStartJobs(t *testing.T) {
	yes, no := true, false
	for name, test := range map[string]struct {
		inContext *bool
		label     string
		operator  bool
		want      string
	}{
		"nobody":                      {nil, "", false, ""},
		"operator":                    {nil, "", true, "--reconcile-if-changed of the controller"},
		"namespace":                   {nil, "true", false, "label landscaper.gardener.cloud/reconcile-if-changed of namespace"},
		"namespace against operator":  {nil, "false", true, ""},
		"Context":                     {&yes, "", false, "reconcileIfChanged of Context default"},
		"Context against namespace":   {&yes, "false", false, "reconcileIfChanged of Context default"},
		"Context against all of them": {&no, "true", true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			inst := fixture.Node("root", "")
			labels := map[string]string{}
			if test.label != "" {
				labels[v1alpha1.ReconcileIfChangedAnnotation] = test.label
			}
			objects := []client.Object{
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: inst.Namespace, Labels: labels}},
				&v1alpha1.Context{
					ObjectMeta:           metav1.ObjectMeta{Name: inst.ContextName(), Namespace: inst.Namespace},
					ContextConfiguration: v1alpha1.ContextConfiguration{ReconcileIfChanged: test.inContext},
				},
			}
			by, undecided, err := Following{ByDefault: test.operator, Namespaces: true}.by(t.Context(), fixture.Cluster(t, relations.Index, objects...), inst)
			require.NoError(t, err)
			assert.False(t, undecided)
			if test.want == "" {
				assert.Empty(t, by)
				return
			}
			assert.Contains(t, by, test.want)
		})
	}
}
