// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package git

import (
	"io"
	"strconv"
)

// sizeDigits is the number of hexadecimal digits with which a line begins. They say how many bytes it has, with them.
const sizeDigits = 4

// refLines reads a list of refs and fails where it has more than maxRefLines lines: each takes some 90 bytes in memory, however short it is.
type refLines struct {
	from io.Reader
	// digits are those of the line that begins, and left what is missing of the line.
	digits []byte
	left   int
	lines  int
}

// Read implements io.Reader.
func (l *refLines) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	for read := p[:n]; len(read) > 0; {
		read = read[l.advance(read):]
	}
	if l.lines > maxRefLines {
		return 0, errManyRefs
	}
	return n, err
}

// advance goes through bytes of one line and returns how many.
func (l *refLines) advance(read []byte) int {
	if l.left > 0 {
		n := min(l.left, len(read))
		l.left -= n
		return n
	}
	n := min(sizeDigits-len(l.digits), len(read))
	if l.digits = append(l.digits, read[:n]...); len(l.digits) == sizeDigits {
		// What is no number ends the list in the library, as a size without a line does.
		size, _ := strconv.ParseUint(string(l.digits), 16, 16)
		l.digits, l.left = l.digits[:0], max(0, int(size)-sizeDigits) // #nosec G115 -- of 16 bits
		l.lines++
	}
	return n
}
