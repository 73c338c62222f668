// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

func TestPlansOfATenantAreBoundedInBytes(t *testing.T) {
	r := &Reconciler{Inputs: inputs.Reader{Memory: memory.New(4 << 20)}}
	r.shareMemory()
	honest := fixture.Working("honest", "honest", "1")
	honest.Namespace = "honest"
	keep := func(inst *v1alpha1.Installation, content string) {
		item := v1alpha1.DeployItemTemplate{Name: "item", Configuration: &runtime.RawExtension{Raw: []byte(content)}}
		s := &scope{inst: inst}
		s.plan, s.Blueprint = &plan{deployItems: []v1alpha1.DeployItemTemplate{item}}, &inputs.Blueprint{}
		inst.Spec.Exports.Data = make([]v1alpha1.DataExport, 1)
		r.remember(s)
		require.LessOrEqual(t, r.Inputs.Memory.Weight(), int64(4<<20))
	}
	keep(honest, "{}")
	for i := range 64 {
		hostile := fmt.Sprint("hostile-", i)
		keep(fixture.Working(hostile, hostile, "1"), strings.Repeat("x", 1<<18))
	}
	assert.Greater(t, r.Inputs.Memory.Weight(), int64(3<<20), "what fits is kept")
	_, ok := r.plans.Recall(&inputs.Inputs{}, honest)
	assert.True(t, ok, "the plan of another tenant stays")
}
