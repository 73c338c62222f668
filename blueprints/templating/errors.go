// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
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
		fmt.Fprintf(&out, "%s%4d: %s\n", marker, i, foreign.Beginning(lines[i-1], lineWidth))
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// decode reads the output of a GoTemplate.
func (r *goRun) decode(output string) (Output, error) {
	document, err := ToObject(output)
	if err != nil {
		line := yamlLine(err)
		shown, place := masked(excerpt(r.shown, line), r.in), elementAt(r.shown, line)
		if r.in.Unmasked {
			shown, place = excerpt(output, line), elementAt(output, line)
		}
		return Output{}, &Error{Executor: r.in.Name, File: "output", Line: line, Excerpt: shown, Inputs: describeInputs(r.in.Values),
			Err: errorAt(place, mask(err, r.in))}
	}
	return Output{Document: document, State: stateOf(document)}, nil
}

// ToObject turns the output of a template, which is YAML, into a JSON object; no content is an empty object. It is an error where something of the output would be
// lost: a number of more than 64 bits, a key that an object has twice, a second document. Errors name the line.
func ToObject(text string) (json.RawMessage, error) {
	document, err := foreign.ToJSON([]byte(text))
	if err == nil {
		err = cmp.Or(foreign.CheckNumbers([]byte(text)), foreign.CheckWhole([]byte(text)))
	}
	if err != nil {
		return nil, unreadable("the output", err)
	}
	if string(document) == "null" {
		return json.RawMessage("{}"), nil
	}
	if document[0] != '{' {
		return nil, errors.New("the output is not a YAML object with keys like deployItems or exports")
	}
	return document, nil
}

// unreadable names the YAML that package foreign refused.
func unreadable(what string, err error) error {
	if errors.Is(err, foreign.ErrTooMuch) {
		return fmt.Errorf("%s %s", what, foreign.Problem(err))
	}
	return fmt.Errorf("%s %w", what, err)
}

// stateOf returns what the document has under the key state, in upper or lower case.
func stateOf(document json.RawMessage) json.RawMessage {
	var found struct {
		State json.RawMessage `json:"state"`
	}
	if json.Unmarshal(document, &found) != nil || string(found.State) == "null" {
		return nil
	}
	return found.State
}

var yamlLinePattern = regexp.MustCompile(`line (\d+)`)

// yamlLine finds the line in a message of the YAML library, which leaves out the first line's number, and misses a colon where the next line begins.
func yamlLine(err error) int {
	if message := err.Error(); strings.Contains(message, "could not find expected ':'") {
		return max(1, yamlLineOf(message)-1)
	}
	return yamlLineOf(err.Error())
}

func yamlLineOf(message string) int {
	match := yamlLinePattern.FindStringSubmatch(message)
	if match == nil && strings.Contains(message, "yaml: ") {
		return 1
	}
	if match == nil {
		return 0
	}
	line, _ := strconv.Atoi(match[1])
	return line
}

var outlinePattern = regexp.MustCompile(`^(\s*(?:- )*)([A-Za-z0-9_./-]+:(?:\s|$))?`)

// outline keeps indentation, dashes and keys of a line of YAML text and leaves out the value, which may be secret.
func outline(line string) string {
	shown := outlinePattern.FindString(line)
	if len(shown) < len(line) {
		shown += "…"
	}
	return shown
}

// withoutValues returns what errors may show of a printed value: lines that are text of an included template, and outlines of others. Of one that
// begins within a line it is nothing.
func (r *goRun) withoutValues(value string, inLine bool) string {
	lines := strings.Split(value, "\n")
	for i, line := range lines {
		switch {
		case r.literal[strings.TrimSpace(line)]:
		case i > 0 || !inLine:
			lines[i] = outline(line)
		case line != "":
			lines[i] = "…"
		}
	}
	return strings.Join(lines, "\n")
}

// keepLiteral notes the lines of an output in which no value is left out.
func (r *goRun) keepLiteral(output, shown string) {
	if r.literal == nil {
		r.literal = map[string]bool{}
	}
	lines := strings.Split(output, "\n")
	for i, line := range strings.Split(shown, "\n") {
		if line == lines[i] {
			r.literal[strings.TrimSpace(line)] = true
		}
	}
}

var (
	listKey     = regexp.MustCompile(`^["']?([A-Za-z]+)["']?:`)
	elementName = regexp.MustCompile(`^name: *["']?([A-Za-z0-9._-]+)["']?\s*$`)
)

// elements are what the elements of lists are called.
var elements = map[string]string{"deployitems": "deploy item", "subinstallations": "sub-installation"}

// elementAt names the element of a list in an output that has a line, with its position; "" where there is none.
func elementAt(output string, line int) string {
	list, indent, position, name := "", -1, -1, ""
	for i, text := range strings.Split(output, "\n") {
		field := strings.TrimLeft(text, " ")
		column := len(text) - len(field)
		isElement := strings.HasPrefix(field, "- ") && list != "" && (indent < 0 || column == indent)
		key := listKey.FindStringSubmatch(text)
		if i >= line && (isElement || key != nil) {
			break
		}
		switch {
		case key != nil:
			list, indent, position, name = key[1], -1, -1, ""
		case isElement:
			indent, position, name = column, position+1, ""
			field, column = strings.TrimLeft(field[1:], " "), column+len(field)-len(strings.TrimLeft(field[1:], " "))
		}
		if found := elementName.FindStringSubmatch(field); found != nil && position >= 0 && column == indent+2 {
			name = strconv.Quote(found[1]) + " "
		}
	}
	what := elements[strings.ToLower(list)]
	if what == "" || position < 0 || line < 1 {
		return ""
	}
	return fmt.Sprintf("%s %s(%s[%d])", what, name, list, position)
}

// errorAt is an error about a place; "" is none.
func errorAt(place string, err error) error {
	if place == "" {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}
