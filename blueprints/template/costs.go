// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"math"
	"reflect"
	"regexp"
	"strings"
)

// cost estimates the bytes that the result of a call takes, or an equivalent in time, from the size of all arguments as written
// out (0 for cheap functions) and the arguments themselves.
type cost func(size int64, args []reflect.Value) int64

// costs has an entry for every function whose result can be much larger than its arguments, or takes much longer to make.
var costs = map[string]cost{
	"repeat":                     func(_ int64, a []reflect.Value) int64 { return times(number(a[0]), length(a[1])) },
	"until":                      func(_ int64, a []reflect.Value) int64 { return times(number(a[0]), nodeBytes) },
	"untilStep":                  func(_ int64, a []reflect.Value) int64 { return span(number(a[0]), number(a[1]), number(a[2])) },
	"seq":                        func(_ int64, a []reflect.Value) int64 { return sequence(a[0]) },
	"randAlphaNum":               firstNumber,
	"randAlpha":                  firstNumber,
	"randAscii":                  firstNumber,
	"randNumeric":                firstNumber,
	"randBytes":                  firstNumber,
	"indent":                     indented,
	"nindent":                    indented,
	"wrapWith":                   func(size int64, a []reflect.Value) int64 { return size + times(length(a[1]), length(a[2])) },
	"join":                       func(size int64, a []reflect.Value) int64 { return size + times(length(a[0]), size/nodeBytes) },
	"replace":                    replaced,
	"regexReplaceAll":            regexReplaced,
	"mustRegexReplaceAll":        regexReplaced,
	"regexReplaceAllLiteral":     regexReplaced,
	"mustRegexReplaceAllLiteral": regexReplaced,
	"regexMatch":                 regexSearched,
	"mustRegexMatch":             regexSearched,
	"regexFind":                  regexSearched,
	"mustRegexFind":              regexSearched,
	"regexFindAll":               regexSearched,
	"mustRegexFindAll":           regexSearched,
	"regexSplit":                 regexSearched,
	"mustRegexSplit":             regexSearched,
	"printf":                     printed,
	"uniq":                       pairwise,
	"mustUniq":                   pairwise,
	"without":                    pairwise,
	"mustWithout":                pairwise,
}

// times multiplies without overflow; a negative factor counts as its absolute value.
func times(a, b int64) int64 {
	a, b = absolute(a), absolute(b)
	if a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

func absolute(a int64) int64 {
	if a == math.MinInt64 {
		return math.MaxInt64
	}
	if a < 0 {
		return -a
	}
	return a
}

// span is the size of the list of numbers from start to stop.
func span(start, stop, step int64) int64 {
	if step == 0 {
		return 0
	}
	distance := math.Abs(float64(stop) - float64(start))
	count := distance / math.Abs(float64(step))
	if count > math.MaxInt32 {
		return math.MaxInt64
	}
	return int64(count) * nodeBytes
}

func number(v reflect.Value) int64 {
	v = concrete(v)
	switch {
	case v.CanInt():
		return v.Int()
	case v.CanUint():
		return int64(min(v.Uint(), math.MaxInt64))
	case v.CanFloat():
		return int64(v.Float())
	}
	return 0
}

func concrete(v reflect.Value) reflect.Value {
	for v.Kind() == reflect.Interface && !v.IsNil() {
		v = v.Elem()
	}
	return v
}

func length(v reflect.Value) int64 {
	v = concrete(v)
	switch v.Kind() {
	case reflect.String, reflect.Slice, reflect.Array, reflect.Map:
		return int64(v.Len())
	}
	return 0
}

func text(v reflect.Value) string {
	v = concrete(v)
	if v.Kind() == reflect.String {
		return v.String()
	}
	return ""
}

func firstNumber(_ int64, args []reflect.Value) int64 { return number(args[0]) }

// sequence takes the variadic numbers of seq: end, or start and end, or start, step and end.
func sequence(params reflect.Value) int64 {
	n := params.Len()
	switch n {
	case 1:
		return span(1, number(params.Index(0)), 1)
	case 2:
		return span(number(params.Index(0)), number(params.Index(1)), 1)
	case 3:
		return span(number(params.Index(0)), number(params.Index(2)), number(params.Index(1)))
	}
	return 0
}

func indented(size int64, args []reflect.Value) int64 {
	lines := int64(strings.Count(text(args[1]), "\n")) + 1
	return size + times(number(args[0]), lines)
}

// replaced takes the arguments old, new, text.
func replaced(size int64, args []reflect.Value) int64 {
	return size + times(int64(strings.Count(text(args[2]), text(args[0]))), length(args[1]))
}

// regexReplaced takes the arguments pattern, text, replacement.
func regexReplaced(size int64, args []reflect.Value) int64 {
	if search := regexSearched(size, args); search > searchLimit {
		return search
	}
	pattern, err := regexp.Compile(text(args[0]))
	if err != nil {
		return size
	}
	matches := int64(len(pattern.FindAllStringIndex(text(args[1]), -1)))
	references := int64(strings.Count(text(args[2]), "$"))
	return size + times(matches, length(args[2])) + times(references, length(args[1]))
}

// searchLimit is the value of regexSearched above which a search takes longer than a second or so.
const searchLimit = 1 << 24

// regexSearched takes the arguments pattern, text. A search takes time in proportion to the product of their lengths.
func regexSearched(_ int64, args []reflect.Value) int64 {
	steps := times(length(args[0]), length(args[1]))
	return steps / 64
}

// verbs finds what stands between the percent sign and the letter of a verb of printf, widths the numbers in it.
var (
	verbs  = regexp.MustCompile(`%[^%\pL]*`)
	widths = regexp.MustCompile(`[0-9]+`)
)

// printed takes the arguments format and the variadic values. A width applies to each item of a list.
func printed(size int64, args []reflect.Value) int64 {
	var wide int64
	for _, verb := range verbs.FindAllString(text(args[0]), -1) {
		for _, digits := range widths.FindAllString(verb, -1) {
			wide += digitsValue(digits)
		}
		wide += times(int64(strings.Count(verb, "*")), largest(args[1]))
	}
	return size + times(wide, size/nodeBytes+1)
}

// digitsValue caps at what fmt accepts as a width.
func digitsValue(digits string) int64 {
	var value int64
	for _, d := range digits {
		value = min(value*10+int64(d-'0'), 1_000_000)
	}
	return value
}

func largest(values reflect.Value) int64 {
	var out int64
	for i := range values.Len() {
		out = max(out, min(absolute(number(values.Index(i))), 1_000_000))
	}
	return out
}

// pairwise is for functions that compare every item with every other.
func pairwise(size int64, args []reflect.Value) int64 {
	items := length(args[0])
	return size + times(items, items)
}
