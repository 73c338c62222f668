// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package jobs

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

func TestLossOf(t *testing.T) {
	there, going := &v1alpha1.Execution{}, &v1alpha1.Execution{}
	going.DeletionTimestamp = &metav1.Time{Time: metav1.Now().Time}
	deeper := fixture.Working("root-sub", "2", "job")
	protocol.Pending(deeper, protocol.ReasonChildLost, "execution root-sub was deleted")
	drifted := &v1alpha1.Execution{}
	protocol.Pending(drifted, protocol.ReasonContinuousFailed, "deploy item a is broken")
	unwell := fixture.Working("root-sub", "2", "job")
	protocol.Pending(unwell, protocol.ReasonContinuousFailed, "deploy item b is broken")
	poorer := &v1alpha1.Execution{}
	protocol.Pending(poorer, protocol.ReasonChildLost, "deploy item a of execution root was deleted")
	type children = map[string]*v1alpha1.Installation
	sub := fixture.Working("root-sub", "2", "job")
	for name, tc := range map[string]struct {
		phase     v1alpha1.Phase
		execution *v1alpha1.Execution
		children  children
		message   string
		missing   bool
	}{
		"all are there":                      {v1alpha1.PhaseSucceeded, there, children{"root-sub": sub}, "", false},
		"the Execution is gone":              {v1alpha1.PhaseSucceeded, nil, children{"root-sub": sub}, "execution root was deleted", true},
		"the Execution is going":             {v1alpha1.PhaseSucceeded, going, children{"root-sub": sub}, "execution root was deleted", false},
		"a sub-installation is gone":         {v1alpha1.PhaseSucceeded, there, nil, "sub-installation root-sub was deleted", true},
		"a sub-installation is going":        {v1alpha1.PhaseSucceeded, there, children{"root-sub": fixture.Leaving(fixture.Working("root-sub", "2", ""))}, "sub-installation root-sub was deleted", false},
		"a sub-installation has lost one":    {v1alpha1.PhaseSucceeded, there, children{"root-sub": deeper}, "root-sub: execution root-sub was deleted", false},
		"an item has failed by the clock":    {v1alpha1.PhaseSucceeded, drifted, children{"root-sub": sub}, "deploy item a is broken", false},
		"and so has one further down":        {v1alpha1.PhaseSucceeded, there, children{"root-sub": unwell}, "root-sub: deploy item b is broken", false},
		"the Execution has lost an item":     {v1alpha1.PhaseSucceeded, poorer, children{"root-sub": sub}, "deploy item a of execution root was deleted", false},
		"the last job has failed by itself":  {v1alpha1.PhaseFailed, nil, nil, "", false},
		"a job is at work, as the phase has": {v1alpha1.PhaseProgressing, nil, nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			found := LossOf(fixture.Grown(tc.phase), tc.execution, tc.children)
			if tc.message == "" {
				assert.Nil(t, found)
				return
			}
			require.NotNil(t, found)
			assert.Contains(t, found.Message, tc.message)
			assert.Equal(t, tc.missing, found.Missing != nil)
		})
	}
}
