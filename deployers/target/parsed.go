// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"crypto/sha256"

	"github.com/flux-landscaper/flux-landscaper/sources/memory"
)

// parsedGrowth is how many bytes a parsed content takes for each of its bytes.
const parsedGrowth = 3

// parsedContents remembers what contents say, so that the one of a Target is not read anew for each of its items. A content is found by the digest of
// all of it, credentials included. It is safe for concurrent use; what it returns must not be changed.
type parsedContents struct {
	known *memory.Cache[digest, *content]
}

func newParsedContents(budget *memory.Budget) parsedContents {
	return parsedContents{known: memory.Open[digest, *content](budget, nil)}
}

// of does the same as parseContent and keeps the result in memory, which counts for the owner.
func (p parsedContents) of(owner string, raw []byte) (*content, error) {
	key := digest(sha256.Sum256(raw))
	if known, ok := p.known.Get(owner, key); ok {
		return known, nil
	}
	parsed, err := parseContent(raw)
	if err != nil {
		return nil, err
	}
	p.known.Put(owner, key, parsed, parsedGrowth*int64(len(raw)))
	return parsed, nil
}
