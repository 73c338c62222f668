// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// node is an Installation: a root or a sub-installation.
type node struct {
	name string
	salt int
	// refs are the imports, by their names in the scope above. The one at position k is imported as i<k>.
	refs  []string
	items []*item
	// subs are in an order in which data flows from earlier to later ones.
	subs []*node
	// silent says that a sub-installation exports nothing.
	silent bool
	// unused says that the export of the parent does not depend on that of this sub-installation.
	unused bool
	// broken is the execution of the blueprint that fails, empty when none does.
	broken execution
}

// execution is a list of templates in a blueprint.
type execution string

const (
	deployExecution execution = "deployExecutions"
	exportExecution execution = "exportExecutions"
)

// item is a DeployItem. It exports a digest over its salt and the imports.
type item struct {
	name  string
	salt  int
	after []string
	// namespace is where a manifest item puts the ConfigMap that it exports; a mock item has none.
	namespace string
	// phase is what a mock item is told to end in; empty succeeds.
	phase  v1alpha1.Phase
	unused bool
}

func (it *item) isMock() bool { return it.namespace == "" }

// digest is what templates compute as well.
func digest(parts []string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, ",")))
	return "v" + hex.EncodeToString(sum[:])[:12]
}

func importName(position int) string { return "i" + strconv.Itoa(position) }

// value predicts the export, given the values in the scope above.
func (n *node) value(above map[string]string) string {
	own := map[string]string{}
	var imported []string
	for k, ref := range n.refs {
		own[importName(k)] = above[ref]
		imported = append(imported, above[ref])
	}
	parts := append([]string{strconv.Itoa(n.salt)}, imported...)
	for _, it := range n.items {
		if !it.unused {
			parts = append(parts, digest(append([]string{strconv.Itoa(it.salt)}, imported...)))
		}
	}
	for _, sub := range n.subs {
		own[sub.name] = sub.value(own)
		if sub.counts() {
			parts = append(parts, own[sub.name])
		}
	}
	return digest(parts)
}

// counts reports whether the export of the parent is made of this one's, too.
func (n *node) counts() bool { return !n.silent && !n.unused }

// all returns the node and all below it.
func (n *node) all() []*node {
	list := []*node{n}
	for _, sub := range n.subs {
		list = append(list, sub.all()...)
	}
	return list
}

// phase is how a job ends: an item or a template that fails fails all above it, an item that never ends keeps them waiting.
func (n *node) phase() v1alpha1.Phase {
	worst := v1alpha1.PhaseSucceeded
	for _, one := range n.all() {
		if one.broken != "" {
			return v1alpha1.PhaseFailed
		}
		for _, it := range one.items {
			switch it.phase {
			case v1alpha1.PhaseFailed:
				return v1alpha1.PhaseFailed
			case v1alpha1.PhaseProgressing:
				worst = v1alpha1.PhaseProgressing
			}
		}
	}
	return worst
}

// itemsThat returns the items of the node and of all below it that are as the function says.
func (n *node) itemsThat(are func(*item) bool) (items []*item) {
	for _, one := range n.all() {
		for _, it := range one.items {
			if are(it) {
				items = append(items, it)
			}
		}
	}
	return items
}

// deployed returns the items of the node and of all below it that put something on the target.
func (n *node) deployed() []*item { return n.itemsThat(func(it *item) bool { return !it.isMock() }) }

// deploys reports whether something of the node or below it goes to the target.
func (n *node) deploys() bool { return len(n.deployed()) > 0 }

// heal lets all items and templates succeed.
func (n *node) heal() {
	for _, one := range n.all() {
		one.broken = ""
		for _, it := range one.items {
			it.phase = ""
		}
	}
}
