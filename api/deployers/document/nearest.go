// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"slices"
	"strings"
)

// Nearest returns the known name that the author of another one has probably meant: the same letters in another case, or at most two letters and less
// than half of them added, removed or replaced; empty where none is near.
func Nearest(name string, known []string) string {
	best, distance := "", min(2, (len(name)-1)/2)+1
	for _, candidate := range slices.Sorted(slices.Values(known)) {
		if strings.EqualFold(name, candidate) {
			return candidate
		}
		if d := apart(name, candidate); d < distance {
			best, distance = candidate, d
		}
	}
	return best
}

// apart returns how many letters have to be added, removed or replaced to make one word of the other (Levenshtein).
func apart(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
