// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package watches

// News is what may have changed for a waiter since somebody last looked. The zero value is nothing.
type News struct {
	// Anything says that more may have changed than what is named.
	Anything bool
	named    map[Key]struct{}
}

// Add notes changes; no keys mean anything.
func (n *News) Add(changed []Key) {
	n.Anything = n.Anything || len(changed) == 0
	for _, key := range changed {
		if n.named == nil {
			n.named = map[Key]struct{}{}
		}
		n.named[key] = struct{}{}
	}
}

// Tells reports whether a key may have changed.
func (n *News) Tells(key Key) bool {
	_, named := n.named[key]
	return named || n.Anything
}
