// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

// news is what may have changed on targets between two calls for a job. The zero value is nothing.
type news struct {
	// anything says that more may have changed than what is named.
	anything bool
	named    map[watchKey]struct{}
}

// add notes changes; no keys mean anything.
func (n *news) add(changed []watchKey) {
	n.anything = n.anything || len(changed) == 0
	for _, key := range changed {
		if n.named == nil {
			n.named = map[watchKey]struct{}{}
		}
		n.named[key] = struct{}{}
	}
}

// tells reports whether a key may have changed.
func (n *news) tells(key watchKey) bool {
	_, named := n.named[key]
	return named || n.anything
}

// mayHaveChanged is Item.Changed.
func (r *reconciler) mayHaveChanged(s *scope, watched Watched) bool {
	key := keyOf(watched)
	return s.news.tells(key) || !r.watches.follows(s.job, key)
}
