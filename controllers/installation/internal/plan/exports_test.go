// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestWhatExportExecutionsSeeTakesLittleMemory(t *testing.T) {
	large := v1alpha1.NewAnyJSON([]byte("[{}" + strings.Repeat(",{}", 60_000) + "]"))
	var dataObjects, targets []client.Object
	for i := range 5 {
		meta := metav1.ObjectMeta{Namespace: "n", Name: "o" + strconv.Itoa(i), Labels: map[string]string{
			v1alpha1.DataObjectContextLabel: kit.InstallationScope("root"), v1alpha1.DataObjectSourceTypeLabel: v1alpha1.DataObjectSourceImport,
		}}
		dataObjects = append(dataObjects, &v1alpha1.DataObject{ObjectMeta: meta, Data: large})
		targets = append(targets, &v1alpha1.Target{ObjectMeta: meta, Spec: v1alpha1.TargetSpec{Configuration: &large}})
	}
	for name, objects := range map[string][]client.Object{"DataObject n/o": dataObjects, "Target n/o": targets} {
		t.Run(name, func(t *testing.T) {
			_, err := with(t, objects...).exportInputs(t.Context(), &Plan{Inst: fixture.Working("root", "1", "job")}, nil)
			assert.ErrorContains(t, err, "it takes more than 64 MiB of memory")
			assert.ErrorContains(t, err, name)
			assert.Equal(t, kit.Stalled, kit.AsFailure("", err).Kind)
		})
	}
}
