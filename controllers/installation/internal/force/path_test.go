// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package force

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture/cluster"
)

// surveyChain surveys Installations below each other, each with a DeployItem of its name and said to be made from a template.
func surveyChain(t *testing.T, length int, template string) *Remains {
	t.Helper()
	owned := func(owner client.Object, kind string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: owner.GetNamespace(), Name: owner.GetName(), UID: types.UID("below-" + owner.GetUID()),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, v1alpha1.GroupVersion.WithKind(kind))},
		}
	}
	var objects []client.Object
	for i, above := 0, ""; i < length; i++ {
		inst := fixture.Node(fmt.Sprintf("i%d", i), above)
		inst.Annotations = map[string]string{v1alpha1.SubinstallationNameAnnotation: template}
		execution := &v1alpha1.Execution{ObjectMeta: owned(inst, "Installation")}
		objects = append(objects, inst, execution, &v1alpha1.DeployItem{ObjectMeta: owned(execution, "Execution")})
		above = inst.Name
	}
	top := objects[0].(*v1alpha1.Installation)
	found := Of(top)
	require.NoError(t, (&Deletion{Live: cluster.With(t, objects...)}).surveyTree(t.Context(), top, found))
	require.Len(t, found.leftovers, length)
	return found
}

func TestPathsOfADeletionByForceAreShort(t *testing.T) {
	for name, tc := range map[string]struct {
		length   int
		template string
		want     string
	}{
		"named by their templates":         {3, "sub", "i0/sub/sub"},
		"named by themselves":              {3, "", "i0/i1/i2"},
		"as long as a name":                {2, strings.Repeat("x", 63), "i0/" + strings.Repeat("x", 63)},
		"longer than a name":               {3, strings.Repeat("x", 64), "i0/i1/i2"},
		"as deep as Installations work":    {64, "sub", "i0" + strings.Repeat("/sub", 63)},
		"deeper, and nothing is forgotten": {66, "sub", "…" + strings.Repeat("/sub", 64)},
	} {
		t.Run(name, func(t *testing.T) {
			found := surveyChain(t, tc.length, tc.template)
			assert.Len(t, found.installations, tc.length-1)
			assert.Equal(t, tc.want, found.leftovers[fmt.Sprintf("i%d", tc.length-1)].Installation)
		})
	}
}

func TestLargeAnnotationsAreInNoPath(t *testing.T) {
	paths := 0
	for _, left := range surveyChain(t, 64, strings.Repeat("x", 200<<10)).leftovers {
		paths += len(left.Installation)
	}
	assert.Less(t, paths, 16<<10)
}
