// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"

	names "github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

// hidden stands in the text of a template for what only an execution tells.
const hidden = "TEMPLATE-EXPRESSION"

var (
	action  = regexp.MustCompile(`(?s)\{\{.*?\}\}`)
	control = regexp.MustCompile(`^\{\{-?\s*(?:if|else|end|range|with|define|block|\$\w+\s*:?=|/\*)`)
)

// literal returns the YAML that stands in a template, with its lines, and whether that is all of it; nil where the text is no YAML without an execution.
func literal(language, text string) (root *yamlv3.Node, isAll bool) {
	isAll = true
	if language == templating.KindGoTemplate {
		text = action.ReplaceAllStringFunc(text, func(written string) string {
			mark := hidden
			if control.MatchString(written) {
				mark = ""
			}
			return mark + strings.Repeat("\n", strings.Count(written, "\n"))
		})
		lines := strings.Split(text, "\n")
		for i, line := range lines {
			if strings.Contains(line, hidden) && strings.TrimSpace(strings.ReplaceAll(line, hidden, "")) == "" {
				lines[i], isAll = "", false
			}
		}
		text = strings.Join(lines, "\n")
	}
	var document yamlv3.Node
	if yamlv3.Unmarshal([]byte(text), &document) != nil || len(document.Content) == 0 {
		return nil, false
	}
	return document.Content[0], isAll
}

// isLiteral reports whether a text, or the path of a key, stands in the template as it will be.
func isLiteral(text string) bool {
	return !strings.Contains(text, hidden) && !strings.Contains(text, "((") && !strings.Contains(text, "<<")
}

// every calls use with the key and value of each entry of a mapping; keys may appear in several branches of a condition.
func every(n *yamlv3.Node, use func(key, value *yamlv3.Node)) {
	for i := 0; n != nil && n.Kind == yamlv3.MappingNode && i+1 < len(n.Content); i += 2 {
		use(n.Content[i], n.Content[i+1])
	}
}

// targets checks the imports that deploy items have their Targets from.
func (c *checker) targets(s source, root *yamlv3.Node) {
	every(root, func(key, items *yamlv3.Node) {
		if key.Value != "deployItems" || items.Kind != yamlv3.SequenceNode {
			return
		}
		for _, item := range items.Content {
			every(item, func(key, target *yamlv3.Node) {
				if key.Value == "target" {
					c.target(s, target)
				}
			})
		}
	})
}

func (c *checker) target(s source, target *yamlv3.Node) {
	var name *yamlv3.Node
	wanted := model.TypeTarget
	every(target, func(key, value *yamlv3.Node) {
		switch key.Value {
		case "import":
			name = value
		case "index":
			wanted = model.TypeTargetList
		case "key":
			wanted = model.TypeTargetMap
		}
	})
	if name == nil || name.Kind != yamlv3.ScalarNode || name.Value == "" || !isLiteral(name.Value) {
		return
	}
	var known []string
	for _, d := range render.Flatten(c.blueprint.Imports) {
		if d.Name == name.Value && d.Type == wanted {
			return
		}
		if d.Name == name.Value {
			c.add(Error, s.file, s.line(name.Line), s.field, "the import %q is of type %s, and the target of this deploy item must be of type %s", d.Name, d.Type, wanted)
			return
		}
		if d.Type == wanted {
			known = append(known, d.Name)
		}
	}
	c.add(Error, s.file, s.line(name.Line), s.field, "the blueprint has no import %q of type %s for the target of this deploy item; %s",
		name.Value, wanted, cure(name.Value, known))
}

func cure(name string, known []string) string {
	if near := names.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "declare it, or correct the name"
}

// exports are the names that export executions give.
type exports struct {
	// given are the keys, with their templates; isAll is false where there may be more.
	given []madeName
	isAll bool
}

type madeName struct {
	source source
	name   *yamlv3.Node
}

func (e *exports) read(s source, root *yamlv3.Node, isAll bool) {
	e.isAll = e.isAll && isAll
	found := false
	every(root, func(key, value *yamlv3.Node) {
		if key.Value != "exports" {
			return
		}
		found = true
		e.isAll = e.isAll && value.Kind == yamlv3.MappingNode
		every(value, func(key, _ *yamlv3.Node) {
			if isLiteral(key.Value) {
				e.given = append(e.given, madeName{s, key})
			} else {
				e.isAll = false
			}
		})
	})
	e.isAll = e.isAll && found
}

// exports compares the names that export executions give with those that the blueprint declares.
func (c *checker) exports(e *exports) {
	var missing []int
	for i := range c.blueprint.Exports {
		if !slices.ContainsFunc(e.given, func(g madeName) bool { return g.name.Value == c.blueprint.Exports[i].Name }) {
			missing = append(missing, i)
		}
	}
	var lacking []string
	for _, i := range missing {
		lacking = append(lacking, c.blueprint.Exports[i].Name)
		if e.isAll {
			c.inDocument(Warning, fmt.Sprintf("exports[%d]", i), "no export execution gives the export %q; add it to one", c.blueprint.Exports[i].Name)
		}
	}
	for _, g := range e.given {
		if slices.ContainsFunc(c.blueprint.Exports, func(d model.ExportDefinition) bool { return d.Name == g.name.Value }) {
			continue
		}
		severity := Warning
		if e.isAll && names.Nearest(g.name.Value, lacking) != "" {
			severity = Error
		}
		c.add(severity, g.source.file, g.source.line(g.name.Line), g.source.field, "the blueprint has no export %q, so the value is ignored; %s",
			g.name.Value, cure(g.name.Value, lacking))
	}
}
