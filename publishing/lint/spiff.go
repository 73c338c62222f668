// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"strings"

	"github.com/mandelsoft/spiff/dynaml"
	yamlv3 "go.yaml.in/yaml/v3"
)

// Limits of expressions; beyond them the parser takes time that doubles with every bracket, so the engine refuses them too.
const (
	maxExpression = 16 << 10
	maxBrackets   = 10
)

// spiff checks that the template is YAML and that its expressions can be parsed.
func (c *checker) spiff(s source) {
	var root yamlv3.Node
	if err := yamlv3.Unmarshal([]byte(s.text), &root); err != nil {
		message, line := splitLine(err.Error())
		c.add(Error, s.file, s.line(line), s.field, "the template is not YAML: %s", message)
		return
	}
	c.expressions(s, &root)
}

func (c *checker) expressions(s source, n *yamlv3.Node) {
	for _, child := range n.Content {
		c.expressions(s, child)
	}
	text, isExpression := expressionIn(n)
	if !isExpression {
		return
	}
	if len(text) > maxExpression || brackets(text) > maxBrackets {
		c.add(Error, s.file, s.line(n.Line), s.field, "the expression is too long or has more than %d brackets in each other; split it", maxBrackets)
		return
	}
	if _, err := dynaml.Parse(text, nil, nil); err != nil {
		c.add(Error, s.file, s.line(n.Line), s.field, "the expression %q cannot be parsed; check its brackets, quotes and operators", shorten(text))
	}
}

// expressionIn returns the expression that a text is, by the rule of the engine.
func expressionIn(n *yamlv3.Node) (string, bool) {
	if n.Kind != yamlv3.ScalarNode || !strings.HasPrefix(n.Value, "((") || !strings.HasSuffix(n.Value, "))") || len(n.Value) < 4 {
		return "", false
	}
	text := n.Value[2 : len(n.Value)-2]
	return text, !strings.HasPrefix(text, "!")
}

func brackets(text string) int {
	depth, most := 0, 0
	for _, b := range text {
		switch b {
		case '(', '[', '{':
			depth++
			most = max(most, depth)
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
	}
	return most
}

func shorten(text string) string {
	const most = 80
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		return text[:most] + "…"
	}
	return text
}
