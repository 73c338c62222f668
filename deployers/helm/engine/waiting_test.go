// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"k8s.io/apimachinery/pkg/util/wait"
)

func TestAWaitForAHookEndsWithItsPartWhenTheOperationHasEnded(t *testing.T) {
	late, failed := wait.ErrorInterrupted(nil), errors.New("job failed")
	for name, c := range map[string]struct {
		timeout time.Duration
		// ends is the part in which the operation ends; 0 is never.
		ends    int
		answers []error
		parts   int
		wants   error
	}{
		"at once":        {timeout: time.Hour, answers: []error{nil}, parts: 1},
		"later":          {timeout: time.Hour, answers: []error{late, late, nil}, parts: 3},
		"failed":         {timeout: time.Hour, answers: []error{late, failed}, parts: 2, wants: failed},
		"too late":       {timeout: time.Second, answers: []error{late}, parts: 1, wants: late},
		"has ended":      {timeout: time.Hour, ends: 2, answers: []error{late, late, nil}, parts: 2, wants: late},
		"no time at all": {answers: []error{late}, parts: 1, wants: late},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			parts := 0
			err := inParts(ctx, c.timeout, time.Minute, func(part time.Duration) error {
				assert.Positive(t, part)
				assert.LessOrEqual(t, part, time.Minute)
				if parts++; parts == c.ends {
					cancel()
				}
				return c.answers[parts-1]
			})
			assert.Equal(t, c.wants, err)
			assert.Equal(t, c.parts, parts)
		})
	}
}
