// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"crypto/sha256"

	"k8s.io/utils/lru"
)

// maxParsed is the size in bytes up to which a content is worth remembering. Together with the number of contents it bounds the memory.
const maxParsed = 32 << 10

// parsedContents remembers what contents say, so that the one of a Target is not read anew for each of its items. A content is found by the digest of
// all of it, credentials included. It is safe for concurrent use; what it returns must not be changed.
type parsedContents struct {
	known *lru.Cache
}

func newParsedContents(size int) parsedContents { return parsedContents{known: lru.New(size)} }

// of does the same as parseContent.
func (p parsedContents) of(raw []byte) (*content, error) {
	if len(raw) > maxParsed {
		return parseContent(raw)
	}
	key := digest(sha256.Sum256(raw))
	if known, ok := p.known.Get(key); ok {
		return known.(*content), nil
	}
	parsed, err := parseContent(raw)
	if err != nil {
		return nil, err
	}
	p.known.Add(key, parsed)
	return parsed, nil
}
