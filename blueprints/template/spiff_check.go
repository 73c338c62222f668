// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
)

// Limits of Spiff templates. The library's parser of expressions takes time that grows by a factor with each level of brackets, and
// its YAML parser recurses for each level.
const (
	maxSpiffDepth      = 200
	maxSpiffNodes      = 100_000
	maxExpressionBytes = 16 << 10
	maxBrackets        = 10
	maxRange           = 1_000_000
	maxBcryptCost      = 12
)

// checkSpiff refuses templates that the library would take too long or too much memory to read.
func checkSpiff(source []byte, limit int) error {
	if len(source) > limit {
		return overBudget("the template is larger than %d bytes", limit)
	}
	if err := checkDepth(source); err != nil {
		return err
	}
	if err := foreign.Afford(source); err != nil {
		return unreadable("the template", err)
	}
	var root yamlv3.Node
	if err := yamlv3.Unmarshal(source, &root); err != nil {
		return fmt.Errorf("the template is not YAML: %w", err)
	}
	c := &spiffCheck{left: maxSpiffNodes}
	return c.node(&root, 0)
}

// checkDepth refuses texts with so many open brackets that a YAML parser would use up its stack.
func checkDepth(text []byte) error {
	depth := 0
	for _, b := range text {
		switch b {
		case '[', '{':
			if depth++; depth > 2*maxSpiffDepth {
				return overBudget("more than %d brackets are open at once", 2*maxSpiffDepth)
			}
		case ']', '}':
			depth = max(0, depth-1)
		}
	}
	return nil
}

type spiffCheck struct{ left int }

// node follows aliases as often as they are used.
func (c *spiffCheck) node(n *yamlv3.Node, depth int) error {
	if c.left--; c.left < 0 {
		return overBudget("the template has more than %d values, counting those behind aliases", maxSpiffNodes)
	}
	if depth > maxSpiffDepth {
		return overBudget("the template is nested more than %d levels deep", maxSpiffDepth)
	}
	if n.Kind == yamlv3.AliasNode {
		return c.node(n.Alias, depth+1)
	}
	for _, child := range n.Content {
		if err := c.node(child, depth+1); err != nil {
			return err
		}
	}
	if strings.HasPrefix(n.Value, "((") && strings.HasSuffix(n.Value, "))") {
		if err := checkExpression(n.Value); err != nil {
			return fmt.Errorf("line %d: %w", n.Line, err)
		}
	}
	return nil
}

var (
	rangePattern  = regexp.MustCompile(`(\d*)\s*\.\.\s*-?(\d*)`)
	randPattern   = regexp.MustCompile(`\brand\([^)]*?(\d{5,})\s*\)`)
	bcryptPattern = regexp.MustCompile(`\bbcrypt\([^)]*,\s*(\d+)\s*\)`)
)

func checkExpression(expression string) error {
	if len(expression) > maxExpressionBytes {
		return overBudget("an expression is longer than %d bytes", maxExpressionBytes)
	}
	if brackets(expression[2:len(expression)-2]) > maxBrackets {
		return overBudget("an expression has more than %d brackets in each other; use an intermediate value", maxBrackets)
	}
	if largestNumber(rangePattern, expression) > maxRange {
		return overBudget("a range goes beyond %d", maxRange)
	}
	if largestNumber(randPattern, expression) > maxRange {
		return overBudget("rand makes more than %d characters", maxRange)
	}
	if largestNumber(bcryptPattern, expression) > maxBcryptCost {
		return overBudget("the cost of bcrypt is above %d", maxBcryptCost)
	}
	return nil
}

// brackets returns how many brackets are open at once at most, outside of quoted texts.
func brackets(expression string) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(expression); i++ {
		switch b := expression[i]; {
		case b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '(' || b == '[' || b == '{':
			depth++
			deepest = max(deepest, depth)
		case b == ')' || b == ']' || b == '}':
			depth--
		}
	}
	return deepest
}

func largestNumber(pattern *regexp.Regexp, expression string) int64 {
	var out int64
	for _, match := range pattern.FindAllStringSubmatch(expression, -1) {
		for _, digits := range match[1:] {
			if digits == "" {
				continue
			}
			number, err := strconv.ParseInt(digits, 10, 64)
			if err != nil {
				number = maxRange + 1
			}
			out = max(out, number)
		}
	}
	return out
}
