// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"net/http"
	"slices"
	"time"
)

// Each part of an answer has to be taken within partTimeout, since the answer is in memory until its reader has it. That is 17 KiB in a second.
const (
	partSize    = 512 << 10
	partTimeout = 30 * time.Second
)

// deliver writes an answer until a time at most, and returns how many bytes have gone. Who does not read on has gone.
func deliver(w http.ResponseWriter, body []byte, until time.Time) (sent int) {
	control := http.NewResponseController(w)
	for part := range slices.Chunk(body, partSize) {
		deadline := time.Now().Add(partTimeout)
		if deadline.After(until) {
			deadline = until
		}
		_ = control.SetWriteDeadline(deadline) // servers have deadlines
		written, err := w.Write(part)          // #nosec G705 -- no browser shows what has the media type of an archive
		sent += written
		if err != nil {
			break
		}
	}
	return sent
}
