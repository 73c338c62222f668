// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"context"
	"io"
)

// firstPart is how many bytes are read at first of what does not say how many it has.
const firstPart = 1 << 20

// Reserve asks for room for so many bytes in all, and waits for it. An error says that there is none.
type Reserve func(ctx context.Context, bytes int64) error

// ReadAll reads a body of at most limit bytes, and no more than one byte of what is beyond. Before it has a part of it in memory it reserves room for that
// with all before: for the whole length where the body says one, which is negative otherwise. Reserve may be nil; its errors are returned as they are.
func ReadAll(ctx context.Context, body io.Reader, length, limit int64, reserve Reserve) ([]byte, error) {
	size := firstPart
	if length >= 0 {
		size = int(min(length, limit))
	}
	var content []byte
	for size = min(size, int(limit)); ; size = min(max(2*size, firstPart), int(limit)) {
		if reserve != nil {
			if err := reserve(ctx, int64(size)); err != nil {
				return nil, err
			}
		}
		// One byte more than is expected shows the end, or that there is more.
		content = append(make([]byte, 0, size+1), content...)
		isWhole, err := fill(&content, body)
		if err != nil || isWhole || int64(len(content)) > limit {
			return content, err
		}
	}
}

// fill reads into what content has room for, and reports whether the body has ended.
func fill(content *[]byte, body io.Reader) (bool, error) {
	for len(*content) < cap(*content) {
		n, err := body.Read((*content)[len(*content):cap(*content)])
		*content = (*content)[:len(*content)+n]
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	return false, nil
}
