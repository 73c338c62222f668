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
	s := &search{nodes: nodes, state: map[string]visit{}}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		if cycle := s.from(name); cycle != nil {
			return cycle
		}
	}
	return nil
}

type visit int

const (
	open visit = iota + 1
	closed
)

// step is a node on the way from the start, with the dependencies that are still to look at.
type step struct {
	name string
	left []string
}

type search struct {
	nodes map[string][]string
	state map[string]visit
	way   []step
}

// from walks without recursion, because the number of nodes is up to the user.
func (s *search) from(start string) []string {
	s.enter(start)
	for len(s.way) > 0 {
		top := &s.way[len(s.way)-1]
		if len(top.left) == 0 {
			s.state[top.name] = closed
			s.way = s.way[:len(s.way)-1]
			continue
		}
		next := top.left[0]
		top.left = top.left[1:]
		if s.state[next] == open {
			return s.cycleTo(next)
		}
		s.enter(next)
	}
	return nil
}

func (s *search) enter(name string) {
	if s.state[name] == 0 {
		s.state[name] = open
		s.way = append(s.way, step{name: name, left: s.nodes[name]})
	}
}

func (s *search) cycleTo(name string) []string {
	var out []string
	for _, step := range s.way {
		if len(out) > 0 || step.name == name {
			out = append(out, step.name)
		}
	}
	return append(out, name)
}
