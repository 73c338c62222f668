// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// importing is an Installation that imports the DataObject "in".
func importing() *v1alpha1.Installation {
	inst := fixture.Working("root", "1", "job")
	inst.Spec.Blueprint = fixture.InlineBlueprint(object{"imports": imported(map[string]string{"value": "data"})})
	inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "value", DataRef: "in"}}
	return inst
}

func there(content string) *v1alpha1.DataObject {
	return &v1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "in"}, Data: v1alpha1.NewAnyJSON([]byte(content))}
}

func TestInputsThatAreNotThereAreLookedForAgain(t *testing.T) {
	found, err := with(t).Inputs.Read(t.Context(), importing(), time.Unix(1, 0), nil)
	var failure *kit.Failure
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, jobs.ReasonImportNotFound, failure.Reason)
	s := &scope{}
	s.adopt(found)
	assert.Equal(t, inputs.ImportGrace, s.Requeue)
	assert.Nil(t, s.plan)
}

func TestInputsThatAreReadAgainLeaveNoTrace(t *testing.T) {
	s := &scope{inst: importing(), now: time.Unix(1, 0)}
	s.inst.Status.ImportsHash = "of the children"
	require.NoError(t, with(t, there("2")).recollect(t.Context(), s))
	assert.Equal(t, map[string]any{"value": float64(2)}, s.Imports.Values.Data)
	assert.NotNil(t, s.plan)
	assert.Equal(t, "of the children", s.inst.Status.ImportsHash)
}

// lent counts how often it was given back.
type lent struct{ times *int }

func (l lent) Give() { *l.times++ }

func TestWhatIsAdoptedIsGivenBack(t *testing.T) {
	first, second := 0, 0
	s, in := &scope{}, &inputs.Reading{Values: &render.Values{}}
	s.Borrowed = append(s.Borrowed, lent{&first})
	in.Borrowed = append(in.Borrowed, lent{&second})
	s.adopt(in)
	assert.Same(t, in.Values, s.plan.values)
	s.GiveBack()
	assert.Equal(t, []int{1, 1}, []int{first, second})
}
