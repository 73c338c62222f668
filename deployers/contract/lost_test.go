// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/writes"
)

// TestAnItemWhoseJobIsLostIsLookedAtOnceMore has no event to come: what said that the job is over may not have been about the item.
func TestAnItemWhoseJobIsLostIsLookedAtOnceMore(t *testing.T) {
	for name, err := range map[string]error{
		"its job is over":        writes.ErrLost,
		"something is not there": apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("targets").GroupResource(), "some"),
	} {
		t.Run(name, func(t *testing.T) {
			running := &jobs.Jobs{Released: func(*jobs.Job) {}}
			r := &reconciler{jobs: running, hooks: &hookRunner{jobs: running}}
			item := &v1alpha1.DeployItem{}
			item.Namespace, item.Name = "ns", "item"
			s := &scope{item: item, job: running.Claim(item, time.Now(), jobs.Plan{})}
			result, failure := r.result(t.Context(), s, errors.Join(err))
			require.NoError(t, failure)
			assert.Equal(t, lostPause, result.RequeueAfter)
			assert.Nil(t, running.Of(s.key()))
		})
	}
}
