// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package fields

import (
	"math/bits"
	"slices"
)

// Limits of what tells the items of a list apart. No API server has lists that come near.
const (
	// maxKeyFields is how many fields may do so together.
	maxKeyFields = 16
	// maxShapes is in how many ways the items of one list may leave some of these fields out.
	maxShapes = 16
)

// A shape says which of the key fields an item has, by a bit for each. An item without any is no other item.
type shape uint32

// whole is the shape of an item that is its own key.
const whole shape = 1

func shapeOf(item any, names []string) shape {
	if names == nil {
		return whole
	}
	var s shape
	fields, _ := item.(map[string]any)
	for i, name := range names {
		if _, found := fields[name]; found {
			s |= 1 << i
		}
	}
	return s
}

// keyOf returns the text that is the same for items that are the same in the fields of a shape. Numbers are the same where their texts are.
func (s shape) keyOf(item any, names []string) string {
	if names == nil {
		return encoded(item)
	}
	var values []any
	fields, _ := item.(map[string]any)
	for i, name := range names {
		if s&(1<<i) != 0 {
			values = append(values, fields[name])
		}
	}
	return encoded(values)
}

// itemIndex finds the items of a wanted list that others mean. Key fields that a manifest leaves to the defaults of the API server count as equal.
// Lists are as long as whoever made them wanted, so that no item is compared with every other one.
type itemIndex struct {
	names  []string
	length int
	// shapes are sorted, those with most fields first.
	shapes []shape
	places map[shape]map[string]int
}

// indexItems returns the index of a list whose items the fields of these names tell apart, or their values where there are no names. Of items with
// the same key it has the first. It reports false for a list that is to be taken for one value.
func indexItems(wanted []any, names []string) (itemIndex, bool) {
	x := itemIndex{names: names, length: len(wanted), places: map[shape]map[string]int{}}
	for place, item := range wanted {
		s := shapeOf(item, names)
		if s == 0 {
			continue
		}
		if x.places[s] == nil {
			if len(x.shapes) == maxShapes {
				return x, false
			}
			x.shapes = append(x.shapes, s)
			slices.SortFunc(x.shapes, func(a, b shape) int { return bits.OnesCount32(uint32(b)) - bits.OnesCount32(uint32(a)) })
			x.places[s] = map[string]int{}
		}
		key := s.keyOf(item, names)
		if _, found := x.places[s][key]; !found {
			x.places[s][key] = place
		}
	}
	return x, true
}

// placeOf returns the place of the wanted item that another item is; -1 for none. Of several it is the one that has most of the key fields: a port without
// protocol is not the one whose protocol another item names.
func (x *itemIndex) placeOf(item any) int {
	for _, s := range x.shapes {
		if place, found := x.places[s][s.keyOf(item, x.names)]; found {
			return place
		}
	}
	return -1
}

const (
	// isOther is an item that is not wanted, isAgain one that a wanted item with all of the key is, too.
	isOther = -1
	isAgain = -2
)

// pair returns for each live item the place of the wanted item that it is, each once, else isOther or isAgain. A wanted item that leaves keys to their
// defaults is the one that was written for it before: what somebody else has added beside that is another one.
func (x *itemIndex) pair(wanted, live []any, isOurs func(i int) bool) []int {
	places := slices.Repeat([]int{isOther}, len(live))
	taken := make([]bool, len(wanted))
	whole := whole
	if x.names != nil {
		whole = 1<<len(x.names) - 1
	}
	for _, ours := range []bool{true, false} {
		for i, item := range live {
			if isOurs(i) != ours {
				continue
			}
			switch at := x.placeOf(item); {
			case at >= 0 && !taken[at]:
				places[i], taken[at] = at, true
			case at >= 0 && shapeOf(wanted[at], x.names) == whole:
				places[i] = isAgain
			}
		}
	}
	return places
}

// firstsIn returns for each wanted item where in another list the first is that it means; -1 for none, and for those that are wanted twice.
func (x *itemIndex) firstsIn(others []any) []int {
	firsts := slices.Repeat([]int{-1}, x.length)
	for i, other := range others {
		if place := x.placeOf(other); place >= 0 && firsts[place] < 0 {
			firsts[place] = i
		}
	}
	return firsts
}
