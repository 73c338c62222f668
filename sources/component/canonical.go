// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf16"
)

// canonical writes JSON-like data after RFC 8785: fields sorted by UTF-16 code units, no spaces, the shortest numbers, texts with as few
// escapes as possible. Numbers are float64.
func canonical(value any) []byte { return appendCanonical(nil, value) }

func appendCanonical(out []byte, value any) []byte {
	switch v := value.(type) {
	case map[string]any:
		return appendObject(out, v)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCanonical(out, item)
		}
		return append(out, ']')
	case string:
		return appendText(out, v)
	case float64:
		return appendNumber(out, v)
	case bool:
		return fmt.Append(out, v)
	}
	return append(out, "null"...)
}

func appendObject(out []byte, fields map[string]any) []byte {
	keys := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
	})
	out = append(out, '{')
	for i, key := range keys {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendText(out, key), ':')
		out = appendCanonical(out, fields[key])
	}
	return append(out, '}')
}

// appendNumber writes as ECMAScript does, which encoding/json follows but for the negative zero.
func appendNumber(out []byte, number float64) []byte {
	if number == 0 {
		return append(out, '0')
	}
	text, _ := json.Marshal(number)
	return append(out, text...)
}

// shortEscapes are the escapes that have a letter.
var shortEscapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}

func appendText(out []byte, text string) []byte {
	out = append(out, '"')
	for _, r := range text {
		switch escape, short := shortEscapes[r]; {
		case short:
			out = append(out, escape...)
		case r < 0x20:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, string(r)...)
		}
	}
	return append(out, '"')
}
