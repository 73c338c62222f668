// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// decode reads the output of a GoTemplate.
func (r *goRun) decode(output string) (Output, error) {
	document, err := toObject(output)
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

// toObject turns YAML into a JSON object; no content is an empty object.
func toObject(text string) (json.RawMessage, error) {
	document, err := foreign.ToJSON([]byte(text))
	if err == nil {
		err = foreign.CheckNumbers([]byte(text))
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
