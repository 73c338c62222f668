// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

const (
	levels      = 4
	mostInTree  = 14 // Installations below one root, itself included
	mostItems   = 4
	mostSubs    = 5
	mostImports = 3
	// mocksPerManifest is how many items there are for each that deploys something.
	mocksPerManifest = 6
)

// gardener grows random trees.
type gardener struct {
	*rand.Rand
	counter int
	// namespace is where manifest items put what they deploy.
	namespace string
}

// fresh returns a name that no other has.
func (g *gardener) fresh(prefix string) string {
	g.counter++
	return fmt.Sprintf("%s%d", prefix, g.counter)
}

// chance is true in one of so many cases.
func (g *gardener) chance(of int) bool { return g.IntN(of) == 0 }

// some returns at most so many of the candidates, in a random order.
func (g *gardener) some(candidates []string, most int) []string {
	if len(candidates) == 0 {
		return nil
	}
	shuffled := slices.Clone(candidates)
	g.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	return shuffled[:g.IntN(min(most, len(shuffled))+1)]
}

func pick[T any](g *gardener, from []T) T { return from[g.IntN(len(from))] }

// tree grows a node that imports from candidates, with a budget of nodes.
func (g *gardener) tree(name string, candidates []string, level, budget int) *node {
	n := &node{name: name, salt: g.IntN(1000), refs: g.some(candidates, mostImports), unused: level > 1 && g.chance(6)}
	for range g.IntN(mostItems) {
		n.items = append(n.items, g.item(n.items))
	}
	for budget--; budget > 0 && level < levels && len(n.subs) < mostSubs; {
		share := 1 + g.IntN(budget)
		g.addSub(n, level, share)
		budget -= len(n.subs[len(n.subs)-1].all())
	}
	return n
}

// item makes an item that may depend on others. One in some deploys something.
func (g *gardener) item(others []*item) *item {
	it := g.mockItem(others)
	if g.chance(mocksPerManifest) {
		it.namespace = g.namespace
	}
	return it
}

// mockItem makes a mock item that may depend on others.
func (g *gardener) mockItem(others []*item) *item {
	it := &item{name: g.fresh("item"), salt: g.IntN(1000), unused: g.chance(5)}
	for _, other := range others {
		if g.chance(3) {
			it.after = append(it.after, other.name)
		}
	}
	return it
}

// addSub grows a sub-installation at the end, where it may import from all others.
func (g *gardener) addSub(n *node, level, budget int) {
	sub := g.tree(g.fresh("sub"), g.scope(n, len(n.subs)), level+1, budget)
	sub.silent = g.chance(8)
	n.subs = append(n.subs, sub)
}

// scope returns what the sub-installation at a position may import: imports of the parent and exports of those before it.
func (g *gardener) scope(n *node, position int) []string {
	var names []string
	for k := range n.refs {
		names = append(names, importName(k))
	}
	for _, sub := range n.subs[:position] {
		if !sub.silent {
			names = append(names, sub.name)
		}
	}
	return names
}
