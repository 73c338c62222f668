// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/writes"
)

// TestAnItemWhoseJobIsLostIsLookedAtOnceMore has no event to come: what said that the job is over may not have been about the item.
func TestAnItemWhoseJobIsLostIsLookedAtOnceMore(t *testing.T) {
	missing := apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("targets").GroupResource(), "some")
	for name, tc := range map[string]struct{ err, failure error }{
		"its job is over":        {writes.ErrLost, nil},
		"something is not there": {missing, missing},
	} {
		t.Run(name, func(t *testing.T) {
			running := &jobs.Jobs{Released: func(*jobs.Job) {}}
			r := &reconciler{jobs: running}
			item := &v1alpha1.DeployItem{}
			item.Namespace, item.Name = "ns", "item"
			s := &scope{item: item, job: running.Claim(item, time.Now(), jobs.Plan{})}
			result, failure := r.result(t.Context(), s, tc.err)
			assert.Equal(t, tc.failure, failure, "an error brings the item back with back-off")
			if tc.failure == nil {
				assert.Equal(t, lostPause, result.RequeueAfter)
			}
			assert.Nil(t, running.Of(s.key()))
		})
	}
}
