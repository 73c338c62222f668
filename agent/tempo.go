// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Bounds of the time that one answer of the landscaper cluster may take.
const (
	minAnswer = 5 * time.Second
	maxAnswer = 12 * time.Second
	// answerSlack is how often longer than the last one the next answer may take.
	answerSlack = 3
)

// tempo is how long the answer to one request may take before the landscaper cluster counts as not reached. It follows how long answers do take: a
// slow way is no partition. The zero value is ready to use; it is for one goroutine.
type tempo struct {
	last   time.Duration
	misses int
}

// usual is the time for an answer where the last one came.
func (t *tempo) usual() time.Duration { return min(max(minAnswer, answerSlack*t.last), maxAnswer) }

// limit is the time for the next answer. It grows while none comes: over a slow way the first one takes longest.
func (t *tempo) limit() time.Duration {
	limit := t.usual()
	for range t.misses {
		limit = min(2*limit, maxAnswer)
	}
	return limit
}

// within sends one request, ends it when its time is over, and learns from it. A refusal is an answer, too.
func (t *tempo) within(ctx context.Context, send func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, t.limit())
	defer cancel()
	began := time.Now()
	err := send(limited)
	var answer apierrors.APIStatus
	switch {
	case err == nil || errors.As(err, &answer):
		t.last, t.misses = time.Since(began), 0
	case limited.Err() != nil && ctx.Err() == nil:
		t.misses = min(t.misses+1, 2)
	}
	return err
}
