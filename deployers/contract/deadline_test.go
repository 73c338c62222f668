// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func TestT04OperatorsMaximumOfTimeouts(t *testing.T) {
	none, hour := &v1alpha1.Duration{}, &v1alpha1.Duration{Duration: time.Hour}
	began := time.Now()
	for name, c := range map[string]struct {
		timeout *v1alpha1.Duration
		max     time.Duration
		want    time.Duration
	}{
		"none":                {none, 0, 0},
		"none with maximum":   {none, time.Minute, time.Minute},
		"longer":              {hour, time.Minute, time.Minute},
		"shorter":             {hour, 2 * time.Hour, time.Hour},
		"default":             {nil, time.Hour, v1alpha1.DefaultDeployItemTimeout},
		"default is too long": {nil, time.Minute, time.Minute},
	} {
		s := &scope{item: &v1alpha1.DeployItem{}, job: &job{Began: began}, maxTimeout: c.max}
		s.item.Spec.Timeout = c.timeout
		want := time.Time{}
		if c.want > 0 {
			want = began.Add(c.want)
		}
		assert.Equal(t, want, s.deadline(), name)
	}
}

func TestAJobWarnsOnceOfWhatItIsAboutToDo(t *testing.T) {
	d := newDesk(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		item.Warn("DeletesAll", "the job deletes all")
		item.Warn("DeletesAll", "the job deletes all")
		require.Len(t, item.Memory, 1, "and not again in another call")
		return Outcome{Done: true}, nil
	}})
	d.trigger("1")
	d.pass()
	require.Len(t, d.events.Events, 1)
	require.Contains(t, <-d.events.Events, "Warning DeletesAll the job deletes all")
}

// TestMessagesNameTheTargetAsAPersonDoes has an item on the copy of a Target whose name is a hash.
func TestMessagesNameTheTargetAsAPersonDoes(t *testing.T) {
	const hash = "mb26p5wxhqzcgsbrlyq2bdxfpbxxbvgx"
	copied := func(item *v1alpha1.DeployItem) {
		item.Spec.Target = &v1alpha1.DeployItemTarget{Name: hash}
		item.Annotations = map[string]string{v1alpha1.OriginalTargetAnnotation: "production"}
	}
	shown := func(d *desk) string { return conditions.GetMessage(d.item(), meta.ReadyCondition) }

	missing := newDesk(t, &scripted{}, copied)
	missing.trigger("1")
	missing.pass()
	assert.Equal(t, `Target "production" does not exist in namespace "ns"; create it, or name an existing one in spec.target.name`, shown(missing))
	assert.Contains(t, <-missing.events.Events, `Target "production"`)

	for name, ensure := range map[string]func() (Outcome, error){
		"a failure": func() (Outcome, error) { return Outcome{}, Stall("Apply", "Broken", "Target %q is broken", hash) },
		"a warning": func() (Outcome, error) {
			return Outcome{Done: true, Warning: `Target "` + hash + `" is broken`}, nil
		},
	} {
		d := newDesk(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) { return ensure() }}, copied)
		d.options.UnopenedTargets = true
		d.restart()
		d.trigger("1")
		d.pass()
		assert.Contains(t, shown(d), `Target "production" is broken`, name)
		assert.NotContains(t, fmt.Sprint(d.item().Status), hash, name)
	}
}
