// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"context"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A server that does not answer the question has no place.
func TestAnswersAboutKindsWaitWhereTheyAreRead(t *testing.T) {
	ended, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	pace := NewPace(1<<30, 1<<30)
	for _, kind := range []answerKind{discoveryAnswer, versionAnswer} {
		_, err := pace.begin(ended, kind)
		require.NoError(t, err)
	}
	var ends []func()
	for range pacedKinds {
		end, err := pace.beginKinds(t.Context())
		require.NoError(t, err)
		ends = append(ends, end)
	}
	_, err := pace.beginKinds(ended)
	require.ErrorIs(t, err, ErrPaced)
	ends[0]()
	_, err = pace.beginKinds(t.Context())
	require.NoError(t, err)
}

func TestShortValuesCostWhatTheyTakeDecoded(t *testing.T) {
	const kind = int(unsafe.Sizeof(metav1.APIResource{}))
	assert.GreaterOrEqual(t, costOfKinds([]byte("{},")), kind)
	assert.GreaterOrEqual(t, 3*costOfKinds([]byte("null,")), kind)
}
