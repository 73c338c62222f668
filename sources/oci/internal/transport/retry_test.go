// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRetryAfterForms(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "99999999999999999999": 0,
		now.Add(time.Minute).Format(http.TimeFormat): time.Minute,
	} {
		t.Run(header, func(t *testing.T) {
			require.Equal(t, want, retryAfter(&http.Response{Header: http.Header{"Retry-After": {header}}}, now))
		})
	}
}
