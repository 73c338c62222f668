// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

const kilo = 1 << 10

func TestSizeEndsInCirclesAndCountsNothingTwice(t *testing.T) {
	type node struct {
		next *node
		data []byte
	}
	shared := make([]byte, kilo)
	first := &node{data: shared}
	first.next = &node{next: first, data: shared}
	assert.Less(t, Size(first), int64(2*kilo))
	assert.Zero(t, Size(nil))
}
