// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package guard

import "encoding/binary"

// events tells where the events in the answer of a watch end: documents in JSON, whatever lines these have, or frames with their length in front.
type events struct {
	isJSON bool
	// size is how many bytes were read of the current event, with what stands before it.
	size int64

	// depth, inString and escaped are where in the document the last byte was.
	depth             int
	inString, escaped bool

	// header is the length of the current frame, as far as it was read.
	header []byte
	// left is how many bytes of the current frame are still to come.
	left int64
}

// read takes the next part. It returns how many events end in it, the size of the largest of these, and where the last one ends.
func (e *events) read(part []byte) (ended int, largest int64, end int) {
	next := e.frameEnd
	if e.isJSON {
		next = e.documentEnd
	}
	for end < len(part) {
		length, isEnd := next(part[end:])
		e.size += int64(length)
		if !isEnd {
			break
		}
		ended, end, largest = ended+1, end+length, max(largest, e.size)
		e.size = 0
	}
	return ended, largest, end
}

// documentEnd returns how far a part belongs to the current document, and whether that ends there.
func (e *events) documentEnd(part []byte) (length int, isEnd bool) {
	for i, c := range part {
		switch {
		case e.escaped:
			e.escaped = false
		case e.inString:
			e.escaped, e.inString = c == '\\', c != '"'
		case c == '"':
			e.inString = true
		case c == '{', c == '[':
			e.depth++
		case c == '}', c == ']':
			if e.depth--; e.depth <= 0 {
				e.depth = 0
				return i + 1, true
			}
		}
	}
	return len(part), false
}

// frameEnd returns how far a part belongs to the current frame, and whether that ends there.
func (e *events) frameEnd(part []byte) (length int, isEnd bool) {
	if missing := 4 - len(e.header); missing > 0 {
		length = min(missing, len(part))
		if e.header = append(e.header, part[:length]...); len(e.header) < 4 {
			return length, false
		}
		e.left = int64(binary.BigEndian.Uint32(e.header))
	}
	content := min(e.left, int64(len(part)-length))
	e.left -= content
	if e.left > 0 {
		return length + int(content), false
	}
	e.header = e.header[:0]
	return length + int(content), true
}
