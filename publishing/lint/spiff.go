// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
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
		message, at := splitLine(err.Error())
		c.inSource(Error, s, at, "the template is not YAML: %s", message)
		return
	}
	c.expressions(s, &root, hasKey(&root, "imports"))
}

// hasKey reports whether there is such a key on any level.
func hasKey(n *yamlv3.Node, name string) bool {
	for i, child := range n.Content {
		if n.Kind == yamlv3.MappingNode && i%2 == 0 && child.Value == name || hasKey(child, name) {
			return true
		}
	}
	return false
}

// importsRead finds imports in an expression without its texts; what follows an operator for missing values may be missing.
var (
	importsRead = regexp.MustCompile(`(?:^|[^\w.\]-])\.?imports\.([A-Za-z_][\w-]*)`)
	spiffText   = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	ifMissing   = regexp.MustCompile(`\|\||\?|\b(?:defined|valid|catch)\b`)
)

// expressions checks those of a node and of what is below it. OwnImports says that imports may be a value of the template itself.
func (c *checker) expressions(s source, n *yamlv3.Node, ownImports bool) {
	for _, child := range n.Content {
		c.expressions(s, child, ownImports)
	}
	text, isExpression := expressionIn(n)
	if !isExpression {
		return
	}
	if len(text) > maxExpression || brackets(text) > maxBrackets {
		c.inSource(Error, s, s.of(n), "the expression is too long or has more than %d brackets in each other; split it", maxBrackets)
		return
	}
	if _, err := dynaml.Parse(text, nil, nil); err != nil {
		c.inSource(Error, s, s.of(n), "the expression %q cannot be parsed; check its brackets, quotes and operators", shorten(text))
		return
	}
	if ownImports {
		return
	}
	text = spiffText.ReplaceAllLiteralString(text, `""`)
	for _, found := range importsRead.FindAllStringSubmatch(text, -1) {
		c.declared(s, s.of(n), found[1], !ifMissing.MatchString(text))
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
