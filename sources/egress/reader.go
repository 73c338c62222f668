// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"bytes"
	"io"
)

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

// eventsOfStream is how many events of the largest size a stream may bring before it has to be asked for again: what a decoder has kept is forgotten then.
const eventsOfStream = 8

// lines is a stream of lines of at most so many bytes, which ends after one of them.
type lines struct {
	from io.Reader
	// left are the bytes that the line may still have, untilRenewal those until the stream ends after a line.
	most, left, untilRenewal int64
}

// Read implements io.Reader.
func (l *lines) Read(p []byte) (int, error) {
	switch {
	case l.untilRenewal <= 0:
		return 0, io.EOF
	case int64(len(p)) > l.left+1:
		p = p[:l.left+1]
	}
	n, err := l.from.Read(p)
	end := bytes.LastIndexByte(p[:n], '\n') + 1
	switch {
	case end > 0:
		l.left = l.most - int64(n-end)
	default:
		l.left -= int64(n)
	}
	if l.left < 0 {
		return 0, ErrLarge
	}
	if l.untilRenewal -= int64(n); l.untilRenewal <= 0 && end > 0 {
		return end, err
	}
	l.untilRenewal = max(l.untilRenewal, 1)
	return n, err
}
