// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
)

// Error says why a template failed.
type Error struct {
	// Executor is the name of the executor.
	Executor string
	// File and Line are where it failed; Line is 0 when that is not known.
	File string
	Line int
	// Excerpt shows the source around the line.
	Excerpt string
	// Inputs shows names and types of the bindings, never their values.
	Inputs string
	// Err is the cause.
	Err error
}

// Error returns the cause, the excerpt and the masked inputs.
func (e *Error) Error() string {
	var out strings.Builder
	fmt.Fprintf(&out, "template of execution %q failed: %v", e.Executor, e.Err)
	if e.Excerpt != "" {
		fmt.Fprintf(&out, "\n%s:\n%s", e.File, e.Excerpt)
	}
	if e.Inputs != "" {
		fmt.Fprintf(&out, "\ninputs:\n%s", e.Inputs)
	}
	return out.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// located is an error together with the text that it is about. Line 0 means that the message of text/template has the line.
type located struct {
	name, source string
	line         int
	err          error
}

func (l *located) Error() string { return l.err.Error() }
func (l *located) Unwrap() error { return l.err }

func (r *goRun) explain(err error) error {
	out := &Error{Executor: r.in.Name, File: r.in.File, Inputs: describeInputs(r.in.Values), Err: mask(err, r.in)}
	deepest := innermost(err)
	if deepest == nil {
		return out
	}
	if deepest.name != rootName {
		out.File = deepest.name
	}
	out.Line = deepest.line
	if out.Line == 0 {
		out.Line = lineIn(deepest.err.Error(), deepest.name)
	}
	out.Excerpt = excerpt(deepest.source, out.Line)
	out.File = cmp.Or(out.File, "template")
	return out
}

// innermost finds the deepest text, that is the included file in which an include failed.
func innermost(err error) *located {
	var found, next *located
	for errors.As(err, &next) {
		found, err = next, next.err
	}
	return found
}

// lineIn finds the line in a message of text/template: "template: name:line:column: …".
func lineIn(message, name string) int {
	pattern := regexp.MustCompile(`template: ` + regexp.QuoteMeta(name) + `:(\d+)`)
	match := pattern.FindStringSubmatch(message)
	if match == nil {
		return 0
	}
	line, _ := strconv.Atoi(match[1])
	return line
}

// around is how many lines an excerpt shows before and after the line.
const around = 5

// lineWidth is how many bytes of a line an excerpt shows.
const lineWidth = 160

// excerpt shows the lines around a line with a marker at it.
func excerpt(source string, line int) string {
	lines := strings.Split(source, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	var out strings.Builder
	for i := max(1, line-around); i <= min(len(lines), line+around); i++ {
		marker := "  "
		if i == line {
			marker = "> "
		}
		fmt.Fprintf(&out, "%s%4d: %s\n", marker, i, beginning.Of(lines[i-1], lineWidth))
	}
	return strings.TrimSuffix(out.String(), "\n")
}
