// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"bytes"
	"fmt"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"
)

// Limits of one document. Reading takes several hundred bytes of memory for every value, however short it is.
const (
	// maxValues is how many values a document may have, those behind YAML aliases counted as often as they are used.
	maxValues = 250_000
	// maxExpanded is how many bytes of text a document may have, counted the same way.
	maxExpanded = 2 * MaxDescriptor
	// largeDocument is from how many bytes on documents are read one after the other.
	largeDocument = 256 << 10
)

// large is held while a large document is read, so that many at the same time do not need a multiple of the memory.
var large sync.Mutex

// enter waits for its turn with a large document; leave ends it.
func enter(text []byte) (leave func()) {
	if len(text) < largeDocument {
		return func() {}
	}
	large.Lock()
	return large.Unlock
}

// afford refuses documents that would need too much memory, before they are parsed.
func afford(text []byte) error {
	if marks(text) > maxValues {
		return fmt.Errorf("the document has more than %d values; split it", maxValues)
	}
	if bytes.IndexByte(text, '&') < 0 || bytes.IndexByte(text, '*') < 0 {
		return nil
	}
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(text, &root); err != nil {
		return fmt.Errorf("neither YAML nor JSON: %w", err)
	}
	w := &weight{}
	w.add(&root)
	if w.values > maxValues || w.bytes > maxExpanded {
		return fmt.Errorf("the document has more than %d values or %d bytes, counting those behind aliases; write out less", maxValues, maxExpanded)
	}
	return nil
}

// marks counts the characters that separate values; there are no more values than that, but for one.
func marks(text []byte) int {
	count := 0
	for i, c := range text {
		switch c {
		case ',', ':', '[', '{', '\n', '?':
			count++
		case '-':
			if i+1 < len(text) && (text[i+1] == ' ' || text[i+1] == '\t') {
				count++
			}
		}
	}
	return count
}

// weight is the size of a document with its aliases written out.
type weight struct{ values, bytes int }

// add follows aliases as often as they are used, until the limits are reached.
func (w *weight) add(n *yamlv3.Node) {
	w.values++
	w.bytes += len(n.Value)
	if w.values > maxValues || w.bytes > maxExpanded {
		return
	}
	if n.Kind == yamlv3.AliasNode {
		w.add(n.Alias)
		return
	}
	for _, child := range n.Content {
		w.add(child)
	}
}
