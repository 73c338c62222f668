// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	helm "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
)

// TestWhatANamesakeKeepsIsLeftAlone has an object of a DeployItem of the same name in another namespace, which carries no UID because it is kept.
func TestWhatANamesakeKeepsIsLeftAlone(t *testing.T) {
	kept := strings.Replace(named("a"), "{name: a}", "{name: a, annotations: {helm.sh/resource-policy: keep}}", 1)
	for name, templates := range map[string]map[string]string{
		"release with the object":    {"a": named("a")},
		"release without the object": {"b": named("b")},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			bare := config{"helmDeployment": false, "chart": f.chart("1.0.0", map[string]string{"a": named("a")})}
			f.configure(bare)
			f.settle(f.deployer().Ensure)
			require.NoError(t, f.cluster.Client.Delete(f.ctx, &corev1.ConfigMap{ObjectMeta: f.meta("a")}))
			namesake := f.sibling(f.item.Name)
			namesake.item.Namespace, namesake.item.UID = "another", types.UID("another")
			namesake.configure(config{"helmDeployment": false, "chart": f.chart("1.0.0", map[string]string{"a": kept})})
			namesake.settle(f.deployer().Ensure)
			before := &corev1.ConfigMap{}
			require.NoError(t, f.get("a", before))

			f.next(config{"chart": f.chart("1.0.0", templates)})
			_, err := f.ensure(f.deployer())

			after := &corev1.ConfigMap{}
			require.NoError(t, f.get("a", after))
			assert.Equal(t, before.ResourceVersion, after.ResourceVersion, "%v", after.ObjectMeta)
			_, isOfRelease := helm.ReleaseOn(after)
			assert.False(t, isOfRelease)
			if templates["a"] == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "exists and cannot be imported", "the release has to wait for it")
			}
		})
	}
}
