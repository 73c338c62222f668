// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"io"

	"github.com/opencontainers/go-digest"
)

// cappedWriter fails with errStreamTooLong as soon as more than left bytes are written.
type cappedWriter struct {
	w    io.Writer
	left int64
	full bool
}

func (c *cappedWriter) Write(p []byte) (int, error) {
	if int64(len(p)) > c.left {
		c.full = true
		return 0, errStreamTooLong
	}
	c.left -= int64(len(p))
	return c.w.Write(p)
}

// checker compares what is written with a digest; without one everything passes.
type checker struct {
	digest.Verifier
}

func newChecker(d digest.Digest) checker {
	if d == "" {
		return checker{}
	}
	return checker{d.Verifier()}
}

func (c checker) Write(p []byte) (int, error) {
	if c.Verifier == nil {
		return len(p), nil
	}
	return c.Verifier.Write(p)
}

func (c checker) passed() bool { return c.Verifier == nil || c.Verified() }
