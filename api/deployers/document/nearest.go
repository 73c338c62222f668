// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"slices"
	"strings"
)

// Nearest returns the known name that the author of another one has probably meant: the same letters in another case, or at most two letters and less
// than half of them added, removed, replaced, or exchanged with the next one; empty where none is near.
func Nearest(name string, known []string) string {
	best, distance := "", 3
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if strings.EqualFold(name, candidate) {
			return candidate
		}
		if d := edits(name, candidate); d < distance && 2*d < max(len(name), len(candidate)) {
			best, distance = candidate, d
		}
	}
	return best
}

// edits returns how many letters have to be added, removed, replaced, or exchanged with the next one to make one word of the other (optimal string
// alignment).
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = min(last[j+1]+1, row[j]+1)
			if a[i] == b[j] {
				row[j+1] = min(row[j+1], last[j])
			} else {
				row[j+1] = min(row[j+1], last[j]+1)
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
