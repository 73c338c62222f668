// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package rendering_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
	"github.com/flux-landscaper/flux-landscaper/confined"
)

// spender is a blueprint that is planned in some tenths of a second, and whose exports never end.
func spender() *render.Environment {
	executor := func(source string) []model.TemplateExecutor {
		return []model.TemplateExecutor{{Name: "slow", Type: templating.KindGoTemplate, Template: v1alpha1.NewAnyJSON(fmt.Appendf(nil, "%q", source))}}
	}
	return &render.Environment{Namespace: "tenant", Blueprint: &model.Blueprint{
		DeployExecutions: executor(`{{ range until 3 }}{{ $_ := htpasswd "user" "password" }}{{ end }}`), ExportExecutions: executor(`{{ range 9999999999 }}{{ end }}`),
	}}
}

// TestSoakOperationsOfAJobShareOneTime looks at what is left for exports after deploy items have been planned.
func TestSoakOperationsOfAJobShareOneTime(t *testing.T) {
	const whole = 3 * time.Second
	r := renderer(t, confined.Limits{Time: whole})
	env := spender()
	left := func(job string, plans int) time.Duration {
		for range plans {
			_, err := r.Of(job).Plan(t.Context(), env, values(), nil)
			require.NoError(t, err)
		}
		_, _, err := r.Of(job).Exports(t.Context(), env, values(), render.ExportInputs{}, nil)
		var ended *confined.Ended
		require.ErrorAs(t, err, &ended)
		assert.Equal(t, confined.OutOfTime, ended.Reason)
		assert.Equal(t, "exportExecutions[0] (slow)", ended.Step)
		text, more, isShared := strings.Cut(ended.Limit, ", ")
		assert.Equal(t, plans > 0 && job != "", isShared, ended.Limit)
		if isShared {
			assert.Equal(t, "which were left of the 3s of its job", more)
		}
		limit, err := time.ParseDuration(text)
		require.NoError(t, err)
		return limit
	}

	assert.Equal(t, whole, left("alone", 0))
	once := left("planned", 1)
	assert.Less(t, once, whole-50*time.Millisecond)
	assert.Equal(t, whole, left("other", 0), "another job has a time of its own")
	assert.Less(t, whole-left("tried again", 3), 2*(whole-once), "an operation that is tried again costs its job once")
	assert.Equal(t, whole, left("", 1), "without a job each operation has all of it")
}
