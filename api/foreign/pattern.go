// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Limits of regular expressions: the characters of one, the steps that it is made of, and those of all of a document. To compile one takes time
// and memory by its steps, and so does each name that it is asked about: seven characters can stand for a thousand of them.
const (
	maxPattern       = 2048
	maxPatternSteps  = 2500
	maxPatternsSteps = 50_000
)

// Patterns checks the regular expressions of one document, which have a limit together. The zero value has seen none.
type Patterns struct {
	steps int
}

// Check returns what is wrong with a regular expression for names of objects, as the end of a sentence that begins with its field; nil for
// nothing. It compiles none, so that one which is refused costs little.
func (p *Patterns) Check(text string) error { return p.check(text, text) }

// CheckWhole does the same for an expression that has to match as a whole, as Whole writes it.
func (p *Patterns) CheckWhole(text string) error { return p.check(text, Whole(text)) }

// Whole returns the regular expression that matches what another one matches as a whole.
func Whole(text string) string { return "^(?:" + text + ")$" }

func (p *Patterns) check(text, compiled string) error {
	switch {
	case text == "":
		return nil
	case len(text) > maxPattern:
		return fmt.Errorf("is longer than %d characters; shorten it", maxPattern)
	case reachesBeyondASCII(text):
		// To parse a range that ignores case takes time by the characters in it, of which Unicode has a million.
		return errors.New(`has characters other than ASCII, or \p or \x{; write . for what is none`)
	}
	parsed, err := syntax.Parse(compiled, syntax.Perl)
	if err != nil {
		return fmt.Errorf("is not a regular expression (RE2): %s; correct it", reason(err))
	}
	steps := stepsOf(parsed)
	if steps > maxPatternSteps {
		return fmt.Errorf("repeats too much: it has %d steps, and %d are the most; use * or + in place of counts", steps, maxPatternSteps)
	}
	before := p.steps
	if p.steps += steps; p.steps > maxPatternsSteps && before <= maxPatternsSteps { // said once
		return fmt.Errorf("repeats too much together with the expressions before it: %d steps are the most for all; use * or + in place of counts", maxPatternsSteps)
	}
	return nil
}

func reachesBeyondASCII(text string) bool {
	if strings.ContainsFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return true
	}
	return strings.Contains(text, `\p`) || strings.Contains(text, `\P`) || strings.Contains(text, `\x{`)
}

// reason returns what is wrong with an expression without quoting it.
func reason(err error) string {
	var problem *syntax.Error
	if errors.As(err, &problem) {
		return problem.Code.String()
	}
	return "it cannot be read"
}

// stepsOf returns how many instructions a regular expression is made of at most, and ranges of characters.
func stepsOf(expression *syntax.Regexp) int {
	below := 0
	for _, sub := range expression.Sub {
		below += stepsOf(sub)
	}
	switch expression.Op {
	case syntax.OpLiteral:
		return len(expression.Rune)
	case syntax.OpCharClass:
		return max(len(expression.Rune)/2, 1)
	case syntax.OpCapture, syntax.OpStar:
		return below + 2
	case syntax.OpAlternate:
		return below + len(expression.Sub)
	case syntax.OpRepeat:
		return stepsOfRepeat(expression.Min, expression.Max, below)
	}
	return below + 1
}

// stepsOfRepeat returns the same for what is repeated so often, which has steps of its own; without end where most is negative. Each time that it
// may be left out is a step more.
func stepsOfRepeat(least, most, steps int) int {
	if most < 0 {
		return max(least, 1)*steps + 2
	}
	return max(least*steps+(most-least)*(steps+1), 1)
}
