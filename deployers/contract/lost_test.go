// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// TestAnItemWhoseJobIsLostIsLookedAtOnceMore has no event to come: what said that the job is over may not have been about the item.
func TestAnItemWhoseJobIsLostIsLookedAtOnceMore(t *testing.T) {
	missing := apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("targets").GroupResource(), "some")
	for name, tc := range map[string]struct{ err, failure error }{
		"its job is over":        {errLost, nil},
		"something is not there": {missing, missing},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reconciler{jobs: jobs{released: func(*job) {}}}
			item := &v1alpha1.DeployItem{}
			item.Namespace, item.Name = "ns", "item"
			s := &scope{item: item, job: r.jobs.Claim(item, time.Now(), plan{})}
			result, failure := r.result(t.Context(), s, tc.err)
			assert.Equal(t, tc.failure, failure, "an error brings the item back with back-off")
			if tc.failure == nil {
				assert.Equal(t, lostPause, result.RequeueAfter)
			}
			assert.Nil(t, r.jobs.Of(s.key()))
		})
	}
}
