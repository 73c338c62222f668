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
		return Output{}, &Error{Executor: r.in.Name, File: "output", Line: yamlLine(err),
			Excerpt: masked(excerpt(outline(output), yamlLine(err)), r.in), Inputs: describeInputs(r.in.Values), Err: mask(err, r.in)}
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

// yamlLine finds the line in a message of the YAML library, which leaves out the first line's number.
func yamlLine(err error) int {
	match := yamlLinePattern.FindStringSubmatch(err.Error())
	if match == nil && strings.Contains(err.Error(), "yaml: ") {
		return 1
	}
	if match == nil {
		return 0
	}
	line, _ := strconv.Atoi(match[1])
	return line
}

var outlinePattern = regexp.MustCompile(`^(\s*(?:- )*)([A-Za-z0-9_./-]+:(?:\s|$))?`)

// outline keeps indentation, dashes and keys of YAML text and leaves out the values, which may be secret.
func outline(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		shown := outlinePattern.FindString(line)
		if len(shown) < len(line) {
			shown += "…"
		}
		lines[i] = shown
	}
	return strings.Join(lines, "\n")
}
