// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestAnEventOfContentWakesWhoNamesIt(t *testing.T) {
	const holders = 8
	r, reads := asking(t)
	var all []string
	for i := range holders {
		named := target(fmt.Sprintf("t-%d", i), "s").(*v1alpha1.Target)
		named.Spec.HealthCheck = &v1alpha1.TargetHealthCheck{}
		require.NoError(t, r.Create(t.Context(), named))
		all = append(all, named.Name)
	}
	for name, concerned := range map[string]handler.MapFunc{
		"protection": (&protector{Reconciler: r, kind: users[0]}).holders(contents[0]), "checks": (&HealthReconciler{Client: r}).checkedBy,
	} {
		t.Run(name, func(t *testing.T) {
			*reads = 0
			assert.ElementsMatch(t, requests("n", all), concerned(t.Context(), secret("s")))
			assert.Equal(t, 1, *reads)
			assert.Empty(t, concerned(t.Context(), secret("unused")))
		})
	}
}
