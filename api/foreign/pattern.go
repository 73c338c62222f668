// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"errors"
	"fmt"
	"regexp/syntax"
)

// Limits of a regular expression: its characters, and the steps that it is compiled to. Seven characters can stand for a thousand steps, each of which
// takes memory, and time with each name that it is asked about.
const (
	maxPattern      = 2048
	maxPatternSteps = 2500
)

// CheckPattern returns what is wrong with a regular expression for names of objects, as the end of a sentence that begins with its field; nil for
// nothing, and for none.
func CheckPattern(text string) error { return check(text, text) }

// CheckWholePattern does the same for an expression that has to match as a whole, as Whole writes it.
func CheckWholePattern(text string) error { return check(text, Whole(text)) }

// Whole returns the regular expression that matches what another one matches as a whole.
func Whole(text string) string { return "^(?:" + text + ")$" }

func check(text, compiled string) error {
	if text == "" {
		return nil
	}
	if len(text) > maxPattern {
		return fmt.Errorf("is longer than %d characters; shorten it", maxPattern)
	}
	parsed, err := syntax.Parse(compiled, syntax.Perl)
	if err != nil {
		reason := "it cannot be read"
		if problem, ok := errors.AsType[*syntax.Error](err); ok {
			reason = problem.Code.String() // without the expression
		}
		return fmt.Errorf("is not a regular expression (RE2): %s; correct it", reason)
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil || len(program.Inst) > maxPatternSteps {
		return fmt.Errorf("repeats too much: %d steps are the most; use * or + in place of counts", maxPatternSteps)
	}
	return nil
}
