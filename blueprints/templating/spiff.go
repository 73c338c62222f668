// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mandelsoft/spiff/dynaml"
	"github.com/mandelsoft/spiff/flow"
	spiffyaml "github.com/mandelsoft/spiff/yaml"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Spiff runs Spiff++ without its functions for commands, environment, network and writing. Its files are those of the blueprint.
// Bindings are data: a text in them that looks like an expression is not evaluated.
type Spiff struct{}

// Execute processes the template, which is YAML.
func (Spiff) Execute(ctx context.Context, in Input) (Output, error) {
	out, err := runSpiff(ctx, in)
	if err != nil {
		return Output{}, &Error{Executor: in.Name, File: in.File, Inputs: describeInputs(in.Values), Err: mask(err, in)}
	}
	return out, nil
}

// sourceName is what the library calls the template; it looks for a file of that name in the working directory, so it is a name that
// no file has.
const sourceName = "template\x00"

func runSpiff(ctx context.Context, in Input) (Output, error) {
	template, err := parseSpiff(in)
	if err != nil {
		return Output{}, err
	}
	box, err := newSandbox(ctx, in)
	if err != nil {
		return Output{}, err
	}
	var stubs []spiffyaml.Node
	if len(in.State) > 0 {
		state, err := toNode(in.State, false)
		if err != nil {
			return Output{}, err
		}
		stubs = append(stubs, state)
	}
	result, err := flow.Cascade(box, template, flow.Options{}, stubs...)
	if err != nil {
		return Output{}, spiffError(err)
	}
	return spiffOutput(result)
}

func parseSpiff(in Input) (spiffyaml.Node, error) {
	if err := checkSource(in.Source); err != nil {
		return nil, err
	}
	if err := cmp.Or(foreign.Afford([]byte(in.Source)), foreign.CheckNumbers([]byte(in.Source))); err != nil {
		return nil, unreadable("the template", err)
	}
	template, err := spiffyaml.Unmarshal(sourceName, []byte(in.Source))
	if err != nil {
		return nil, fmt.Errorf("the template is not YAML: %w", err)
	}
	return template, nil
}

// spiffError leaves out of the library's report what it calls the template.
func spiffError(err error) error {
	return withCure(errors.New(strings.ReplaceAll(err.Error(), sourceName, "template")))
}

func spiffOutput(result spiffyaml.Node) (Output, error) {
	document, err := toJSON(result)
	if err != nil {
		return Output{}, err
	}
	if string(document) == "null" {
		document = []byte("{}")
	}
	if document[0] != '{' {
		return Output{}, errors.New("the output is not an object with keys like deployItems or exports")
	}
	state, err := toJSON(flow.DetermineState(result))
	if string(state) == "null" || string(state) == "{}" {
		state = nil
	}
	return Output{Document: document, State: state}, err
}

func toJSON(node spiffyaml.Node) (json.RawMessage, error) {
	plain, err := fromNode(node)
	if err != nil {
		return nil, err
	}
	out, err := json.Marshal(plain)
	if len(out) > maxOutput {
		return nil, errOutput
	}
	return out, err
}

// fromNode turns what the library works with into JSON-like data.
func fromNode(node spiffyaml.Node) (any, error) {
	plain, err := spiffyaml.Normalize(node)
	if err != nil {
		return nil, errors.New("the result contains a value that is not data, for example a function")
	}
	return plain, nil
}

// toNode turns JSON-like data into what the library works with. Evaluate says whether texts that look like expressions count as such.
func toNode(value any, evaluate bool) (spiffyaml.Node, error) {
	if !evaluate {
		value = escaped(value)
	}
	return spiffyaml.Sanitize(sourceName, value)
}

// Literal copies JSON-like data so that Spiff yields it as it is, whatever in it looks like an expression.
func Literal(value any) any { return escaped(value) }

// escaped copies a value, and protects texts and keys that mean something to Spiff.
func escaped(value any) any {
	switch t := value.(type) {
	case string:
		return escapedText(t)
	case []any:
		out := make([]any, len(t))
		for i, item := range t {
			out[i] = escaped(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(t))
		for key, item := range t {
			out[escapedKey(key)] = escaped(item)
		}
		return out
	}
	return value
}

func escapedText(text string) string {
	if strings.HasPrefix(text, "((") && strings.HasSuffix(text, "))") && len(text) >= 4 {
		return "((!" + text[2:]
	}
	return text
}

func escapedKey(key string) string {
	for _, merge := range []string{spiffyaml.MERGEKEY, "<<"} {
		if strings.HasPrefix(key, merge) {
			return merge + "!" + key[len(merge):]
		}
	}
	return key
}

// nodeOf wraps a value of an expression.
func nodeOf(value any) spiffyaml.Node { return dynaml.NewNode(value, nil) }
