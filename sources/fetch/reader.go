// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// errStreamTooLong ends what unpacks to more than it may. That also bounds what the tar reader skips by itself, such as an endless row of extension
// headers.
var errStreamTooLong = errors.New("stream too long")

// sourceReader remembers the error of a read, so that io.Copy's error can be told from one of writing.
type sourceReader struct {
	r   io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// contradiction reports that a path could not be made because another entry of the same archive is in its way.
func contradiction(err error) bool {
	return errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR)
}
