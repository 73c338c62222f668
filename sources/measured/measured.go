// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package measured bounds what is read of content that strangers send. It promises nothing to others.
package measured

import "io"

// Reader returns a reader of at most so many bytes. Where more come it fails with exceeded, and where there are none it ends as the other reader does.
func Reader(from io.Reader, most int64, exceeded error) io.Reader {
	return &limited{from: from, left: most, exceeded: exceeded}
}

type limited struct {
	from     io.Reader
	left     int64
	exceeded error
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	if l.left < 0 {
		return 0, l.exceeded
	}
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.from.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, l.exceeded
	}
	return n, err
}
