// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"slices"
	"strings"
)

// tidy drops references to what is not there any more.
func (g *gardener) tidy(n *node) {
	for k, it := range n.items {
		earlier := map[string]bool{}
		for _, other := range n.items[:k] {
			earlier[other.name] = true
		}
		it.after = slices.DeleteFunc(it.after, func(name string) bool { return !earlier[name] })
	}
	for position, sub := range n.subs {
		scope := g.scope(n, position)
		sub.refs = slices.DeleteFunc(sub.refs, func(ref string) bool { return !slices.Contains(scope, ref) })
		g.tidy(sub)
	}
}

// alter changes something in a tree whose root may import from candidates, and says what. Items keep their phases.
func (g *gardener) alter(tree *node, candidates []string) string {
	inTree := tree.all()
	n := pick(g, inTree)
	var done string
	switch g.IntN(8) {
	case 0:
		n.salt++
		done = "another export of " + n.name
	case 1:
		done = g.alterItems(n)
	case 2:
		tree.refs = g.some(candidates, mostImports)
		done = "other imports of " + tree.name
	case 3, 4:
		done = g.alterSubs(tree, n)
	case 5:
		done = g.reorder(n)
	case 6:
		sub := pick(g, inTree)
		sub.unused = !sub.unused && sub != tree
		done = "another use of " + sub.name
	case 7:
		sub := pick(g, inTree)
		sub.silent = !sub.silent && sub != tree
		done = "other silence of " + sub.name
	}
	g.tidy(tree)
	return done
}

func (g *gardener) alterItems(n *node) string {
	if len(n.items) == 0 || g.chance(3) {
		n.items = append(n.items, g.item(n.items))
		return "one item more in " + n.name
	}
	k := g.IntN(len(n.items))
	it := n.items[k]
	switch g.IntN(3) {
	case 0:
		it.salt++
		return "another " + it.name
	case 1:
		n.items = slices.Delete(n.items, k, k+1)
		return "without " + it.name
	}
	changed := g.item(n.items[:k])
	it.after, it.unused = changed.after, changed.unused
	return "other order of " + it.name
}

func (g *gardener) alterSubs(tree, n *node) string {
	if len(n.subs) > 0 && g.chance(2) {
		k := g.IntN(len(n.subs))
		name := n.subs[k].name
		n.subs = slices.Delete(n.subs, k, k+1)
		return "without " + name
	}
	if n.level(tree) >= levels {
		n.salt++
		return "another export of " + n.name
	}
	g.addSub(n, n.level(tree), 1+g.IntN(4))
	return "with " + n.subs[len(n.subs)-1].name
}

// level counts from 1 for the tree itself.
func (n *node) level(tree *node) int {
	if n == tree {
		return 1
	}
	for _, sub := range tree.subs {
		if below := n.level(sub); below > 0 {
			return below + 1
		}
	}
	return 0
}

// reorder lets data flow in other ways among sub-installations, also backwards.
func (g *gardener) reorder(n *node) string {
	g.Shuffle(len(n.subs), func(i, j int) { n.subs[i], n.subs[j] = n.subs[j], n.subs[i] })
	var names []string
	for position, sub := range n.subs {
		sub.refs = g.some(g.scope(n, position), mostImports)
		names = append(names, sub.name)
	}
	return "in " + n.name + " data flows through " + strings.Join(names, ", ")
}
