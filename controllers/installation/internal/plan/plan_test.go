// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture/cluster"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

func TestInputsThatAreNotThereAreLookedForAgain(t *testing.T) {
	p := &Plan{Alarm: &jobs.Alarm{}, Inst: fixture.Importing(), Now: time.Unix(1, 0)}
	var failure *kit.Failure
	require.ErrorAs(t, with(t).Read(t.Context(), p), &failure)
	assert.Equal(t, jobs.ReasonImportNotFound, failure.Reason)
	assert.Equal(t, inputs.ImportGrace, p.Requeue)
	assert.Nil(t, p.Content)
}

func TestInputsThatAreReadAgainLeaveNoTrace(t *testing.T) {
	p := &Plan{Alarm: &jobs.Alarm{}, Inst: fixture.Importing(), Now: time.Unix(1, 0)}
	p.Inst.Status.ImportsHash = "of the children"
	require.NoError(t, with(t, fixture.DataObject("2")).recollect(t.Context(), p))
	assert.Equal(t, map[string]any{"value": int64(2)}, p.Imports.Values.Data)
	assert.NotNil(t, p.Content)
	assert.Equal(t, "of the children", p.Inst.Status.ImportsHash)
}

// lent counts how often it was given back.
type lent struct{ times *int }

func (l lent) Give() { *l.times++ }

func TestWhatIsAdoptedIsGivenBack(t *testing.T) {
	first, second := 0, 0
	p, in := &Plan{Alarm: &jobs.Alarm{}}, &inputs.Reading{Values: &render.Values{}}
	p.Borrowed = append(p.Borrowed, lent{&first})
	in.Borrowed = append(in.Borrowed, lent{&second})
	p.adopt(in)
	assert.Same(t, in.Values, p.Values)
	p.GiveBack()
	assert.Equal(t, []int{1, 1}, []int{first, second})
}

// with makes plans in a cluster with objects.
func with(t *testing.T, objects ...client.Object) *Maker {
	t.Helper()
	c := cluster.With(t, objects...)
	return &Maker{Client: c, Live: c, Metadata: c, Inputs: &inputs.Reader{Reader: c, Live: c}}
}
