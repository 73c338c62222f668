// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"bytes"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// reader takes parts of an answer, each after a pause, and keeps to deadlines as a connection does.
type reader struct {
	*httptest.ResponseRecorder
	pause    time.Duration
	deadline time.Time
}

func (r *reader) SetWriteDeadline(deadline time.Time) error {
	r.deadline = deadline
	return nil
}

func (r *reader) Write(part []byte) (int, error) {
	time.Sleep(min(r.pause, time.Until(r.deadline)))
	if !time.Now().Before(r.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return r.ResponseRecorder.Write(part)
}

func TestAnAnswerGoesToThoseWhoRead(t *testing.T) {
	const parts, lasts = 5, 4 * partTimeout
	for name, tc := range map[string]struct {
		pause time.Duration
		want  int
		takes time.Duration
	}{
		"at once":                     {0, parts, 0},
		"slowly":                      {partTimeout / 2, parts, parts * partTimeout / 2},
		"longer than an answer lasts": {partTimeout - time.Second, 4, lasts},
		"not at all":                  {lasts, 0, partTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun, to := time.Now(), &reader{ResponseRecorder: httptest.NewRecorder(), pause: tc.pause}
				body := bytes.Repeat([]byte("a"), parts*partSize)
				assert.Equal(t, tc.want*partSize, deliver(to, body, begun.Add(lasts)))
				assert.Equal(t, tc.takes, time.Since(begun))
			})
		})
	}
}
