// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"crypto/sha256"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// parsedShare is by how much less parsed contents take than the clients that are made from them.
const parsedShare = 4

// parsedGrowth is how many bytes a parsed content takes for each of its bytes.
const parsedGrowth = 3

// parsedContents remembers what contents say, so that the one of a Target is not read anew for each of its items. A content is found by the digest of
// all of it, credentials included. It is safe for concurrent use; what it returns must not be changed.
type parsedContents struct {
	known *memory.Cache[digest, *content]
}

func newParsedContents(size int64) parsedContents {
	return parsedContents{known: memory.NewCache[digest, *content](size, nil)}
}

// of does the same as parseContent and keeps the result in memory.
func (p parsedContents) of(raw []byte) (*content, error) {
	key := digest(sha256.Sum256(raw))
	if known, ok := p.known.Get(key); ok {
		return known, nil
	}
	parsed, err := parseContent(raw)
	if err != nil {
		return nil, err
	}
	p.known.Put(key, parsed, parsedGrowth*int64(len(raw)))
	return parsed, nil
}
