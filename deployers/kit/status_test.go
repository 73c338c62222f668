// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"errors"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// retried is a failure that is tried again.
func retried(reason, message string) *Failure {
	return &Failure{Operation: "Reconcile", Reason: reason, Err: errors.New(message)}
}

func TestE01TryAgainWritesNothingNewWhileOnlyTheWordsChange(t *testing.T) {
	begun := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		failure *Failure
		after   time.Duration
		message string
	}{
		"the same":              {retried("Forbidden", "used: 1"), time.Hour, "used: 1"},
		"other words":           {retried("Forbidden", "used: 2"), time.Second, "used: 1"},
		"other words, long ago": {retried("Forbidden", "used: 2"), 2 * time.Minute, "used: 2"},
		"another reason":        {retried("NotFound", "used: 2"), time.Second, "used: 2"},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &v1alpha1.Installation{}
			TryAgain(inst, retried("Forbidden", "used: 1"), begun)
			before := inst.Status.DeepCopy()
			TryAgain(inst, c.failure, begun.Add(c.after))
			require.NotNil(t, inst.Status.LastError)
			assert.Equal(t, c.message, inst.Status.LastError.Message)
			assert.Equal(t, c.message, conditions.GetMessage(inst, meta.ReadyCondition))
			if c.message == "used: 1" {
				assert.Equal(t, before, &inst.Status)
			}
		})
	}
}
