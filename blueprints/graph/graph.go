// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package graph answers questions about dependencies between named things: is there a cycle, and what can start now.
// It promises nothing to others.
package graph

import (
	"maps"
	"slices"
)

// Cycle returns the names along one cycle, with the first name repeated at the end, or nil when there is none. Nodes maps a name to
// the names it depends on; names that are no nodes count as without dependencies. The result is the same for the same input.
func Cycle(nodes map[string][]string) []string {
	const open, closed = 1, 2
	state, way := map[string]int{}, []string(nil)
	var from func(name string) []string
	from = func(name string) []string {
		switch state[name] {
		case open:
			return append(slices.Clone(way[slices.Index(way, name):]), name)
		case closed:
			return nil
		}
		state[name], way = open, append(way, name)
		for _, next := range nodes[name] {
			if cycle := from(next); cycle != nil {
				return cycle
			}
		}
		state[name], way = closed, way[:len(way)-1]
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if cycle := from(name); cycle != nil {
			return cycle
		}
	}
	return nil
}
