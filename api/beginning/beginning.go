// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package beginning cuts texts of others to the length that messages and status fields have room for.
package beginning

import "strings"

const ellipsis = "…"

// Of returns a text as it is where it has at most longest bytes, and else its beginning followed by an ellipsis, of at most longest bytes together.
// It never cuts a character in two: the API server stores another text in place of one that is no UTF-8, and who writes it would write it again
// and again. longest is at least 3.
func Of[T ~string](text T, longest int) string {
	if len(text) <= longest {
		return string(text)
	}
	return strings.ToValidUTF8(string(text[:longest-len(ellipsis)]), "") + ellipsis
}
