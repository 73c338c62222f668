// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/confined/rendering"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
)

// TestExportsHaveWhatDeployItemsLeftOfTheTime computes exports without end after deploy items that took some tenths of a second.
func TestExportsHaveWhatDeployItemsLeftOfTheTime(t *testing.T) {
	s := newStage(t)
	s.stop()
	s.renderer = rendering.New(confined.Limits{Time: 3 * time.Second})
	t.Cleanup(s.renderer.Close)
	s.start()
	inst := fixture.Following(&v1alpha1.Installation{ObjectMeta: s.named("root")})
	inst.Spec.Blueprint = fixture.InlineBlueprint(object{
		"exports":          fixture.Imports(map[string]string{"data": "data"}),
		"deployExecutions": deploying(`{{ range until 3 }}{{ $_ := htpasswd "user" "password" }}{{ end }}`),
		"exportExecutions": []any{object{"name": "loop", "type": "GoTemplate", "template": "{{ range 9999999999 }}{{ end }}"}},
	})
	inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "data", DataRef: "data"}}
	s.create(inst)

	s.finish(s.execution("root", ""), v1alpha1.PhaseSucceeded)

	failed := s.ended("root", "", v1alpha1.PhaseFailed)
	require.NotNil(t, failed.Status.LastError)
	assert.Contains(t, failed.Status.LastError.Message, "exportExecutions[0] (loop): it did not end within 2.")
	assert.Contains(t, failed.Status.LastError.Message, ", which were left of the 3s of its job; do less in it")
}
