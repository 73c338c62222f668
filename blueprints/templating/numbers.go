// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	gotemplate "text/template"
)

// numberFunctions take the place of functions of Go and Sprig, for which a number is not the same with and without a fraction. Templates may have been
// written for values whose numbers were all float64.
func numberFunctions(sprig gotemplate.FuncMap) gotemplate.FuncMap {
	shown := func(show func(...any) string) any {
		return func(values ...any) string { return show(each(values, printable)...) }
	}
	toString := sprig["toString"].(func(any) string)
	out := gotemplate.FuncMap{
		"print": shown(fmt.Sprint), "println": shown(fmt.Sprintln),
		"printf":   func(format string, values ...any) string { return fmt.Sprintf(format, each(values, formatted)...) },
		"toString": func(value any) string { return toString(printable(value)) },
		"eq":       oneOf(comparison("eq")),
	}
	for _, name := range []string{"quote", "squote", "cat"} {
		out[name] = shown(sprig[name].(func(...any) string))
	}
	for _, name := range []string{"ne", "lt", "le", "gt", "ge"} {
		out[name] = comparison(name)
	}
	return out
}

func each(values []any, change func(any) any) []any {
	out := make([]any, len(values))
	for i, value := range values {
		out[i] = change(value)
	}
	return out
}

// printable turns floats that are whole, as computing makes them, into integers, so that a million is not printed as 1e+06.
func printable(value any) any {
	if f, ok := value.(float64); ok && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return value
}

// formatted prepares a value for printf: a whole number can be written in the formats of floats, and a float that is whole in that of any value.
func formatted(value any) any {
	switch n := value.(type) {
	case int64:
		return whole{n, new(big.Float).SetInt64(n)}
	case float64:
		return whole{printable(n), n}
	}
	return value
}

// whole is a number as an integer and as a float.
type whole struct{ integer, float any }

// Format implements fmt.Formatter.
func (w whole) Format(state fmt.State, verb rune) {
	shown := w.float
	if _, isInteger := w.integer.(int64); isInteger && !strings.ContainsRune("eEfFgG", verb) {
		shown = w.integer
	}
	_, _ = fmt.Fprintf(state, fmt.FormatString(state, verb), shown)
}

// comparison is the function of text/template with a name, which refuses to compare integers with floats, for these as well.
func comparison(name string) func(a, b any) (bool, error) {
	compare := gotemplate.Must(gotemplate.New("").Parse("{{" + name + " .A .B}}"))
	return func(a, b any) (bool, error) {
		switch x, y := reflect.ValueOf(a), reflect.ValueOf(b); {
		case x.CanInt() && y.CanFloat():
			a = float64(x.Int())
		case x.CanFloat() && y.CanInt():
			b = float64(y.Int())
		}
		var out strings.Builder
		err := compare.Execute(&out, struct{ A, B any }{a, b})
		for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
			err = inner
		}
		return out.String() == "true", err
	}
}

// oneOf reports whether a value is one of others.
func oneOf(equal func(a, b any) (bool, error)) func(value any, others ...any) (bool, error) {
	return func(value any, others ...any) (bool, error) {
		if len(others) == 0 {
			return false, errors.New("missing argument for comparison")
		}
		for _, other := range others {
			if found, err := equal(value, other); found || err != nil {
				return found, err
			}
		}
		return false, nil
	}
}
