// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
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
	return !strings.Contains(text, hidden) && !strings.Contains(text, "((") && !strings.Contains(text, "<<") && !strings.Contains(text, "${")
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
	var isAgain bool // in another branch
	wanted := model.TypeTarget
	every(target, func(key, value *yamlv3.Node) {
		switch key.Value {
		case "import":
			if isAgain = name != nil; !isAgain {
				name = value
			}
		case "index":
			wanted = model.TypeTargetList
		case "key":
			wanted = model.TypeTargetMap
		}
	})
	if name == nil || isAgain || name.Kind != yamlv3.ScalarNode || name.Value == "" || !isLiteral(name.Value) {
		return
	}
	var known []string
	for _, d := range render.Flatten(c.blueprint.Imports) {
		if d.Name == name.Value && d.Type == wanted {
			return
		}
		if d.Name == name.Value {
			c.inSource(Error, s, s.of(name), "the import %q is of type %s, and the target of this deploy item must be of type %s", d.Name, d.Type, wanted)
			return
		}
		if d.Type == wanted {
			known = append(known, d.Name)
		}
	}
	c.inSource(Error, s, s.of(name), "the blueprint has no import %q of type %s for the target of this deploy item; %s",
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
		c.inSource(severity, g.source, g.source.of(g.name), "the blueprint has no export %q, so the value is ignored; %s",
			g.name.Value, cure(g.name.Value, lacking))
	}
}

// source is the text of a template and where it is.
type source struct {
	text, file, field string
	// start is the place before the first line and column of the text; exact reports whether the text stands in the file as it is.
	start place
	exact bool
	// outer is the place to report when places inside the text are not known in the file.
	outer place
	// included is true for a file that another template includes.
	included bool
}

// of is the place of a node in the text.
func (s source) of(n *yamlv3.Node) place { return s.sure(place{n.Line, n.Column}) }

// sure leaves out the column of YAML in a line with actions, in whose place other text was read.
func (s source) sure(at place) place {
	lines := strings.Split(s.text, "\n")
	if at.line > 0 && at.line <= len(lines) && strings.Contains(lines[at.line-1], "{{") {
		at.column = 0
	}
	return at
}

// inSource reports about a place in the text of a template.
func (c *checker) inSource(severity Severity, s source, inside place, format string, args ...any) {
	at := s.outer
	if s.exact && inside.line > 0 {
		at = place{line: s.start.line + inside.line}
		if inside.column > 0 {
			at.column = s.start.column + inside.column
		}
	}
	c.add(severity, s.file, at, s.field, format, args...)
}

func (c *checker) executors(list string, executors []model.TemplateExecutor) {
	unnamed := 0
	made := &exports{isAll: true}
	for i := range executors {
		if executors[i].Name == "" {
			unnamed++
		}
		s, ok := c.executor(fmt.Sprintf("%s[%d]", list, i), &executors[i])
		root, isAll := literal(executors[i].Type, s.text)
		if ok {
			c.keysMade(list, s, root)
		}
		switch {
		case list == "deployExecutions" && ok:
			c.targets(s, root)
		case list == "exportExecutions":
			made.read(s, root, isAll && ok)
		}
	}
	if list == "exportExecutions" && !c.broken {
		c.exports(made)
	}
	if unnamed > 1 {
		c.inDocument(Warning, list, "%d executors have no name, so they share one state; give each a name", unnamed)
	}
}

// executor checks a template and returns it.
func (c *checker) executor(at string, e *model.TemplateExecutor) (source, bool) {
	if e.Type == "" || e.File == "" && len(e.Template.RawMessage) == 0 {
		return source{}, false // a broken rule, reported already
	}
	check := map[string]func(source){templating.KindGoTemplate: c.goTemplate, templating.KindSpiff: c.spiff}[e.Type]
	if check == nil {
		c.inDocument(Error, at+".type", "the template language %q is unknown; use GoTemplate or Spiff", e.Type)
		return source{}, false
	}
	s, ok := c.template(at, e)
	if ok {
		check(s)
	}
	return s, ok
}

// template finds the text of an executor.
func (c *checker) template(at string, e *model.TemplateExecutor) (source, bool) {
	if len(e.Template.RawMessage) == 0 {
		text, err := templating.ReadFile(c.files, e.File)
		if err != nil {
			c.inDocument(Error, at+".file", "%v", err)
			return source{}, false
		}
		return source{text: string(text), file: c.prefix + clean(e.File), exact: true}, true
	}
	if e.File != "" {
		c.inDocument(Warning, at+".file", "the file is not used, because the template in place wins; remove one of them")
	}
	s := source{file: c.document.file, field: at + ".template", outer: c.document.at(at + ".template")}
	if json.Unmarshal(e.Template.RawMessage, &s.text) == nil {
		s.start, s.exact = c.document.block(at + ".template")
		return s, true
	}
	if e.Type == templating.KindGoTemplate {
		c.inDocument(Error, at+".template", "a GoTemplate is a text; write template: | and the template below it")
		return source{}, false
	}
	s.text = string(e.Template.RawMessage)
	return s, true
}

// declared reports an import that a template reads and the blueprint does not declare: as an error where it is sure that the template needs a value.
func (c *checker) declared(s source, at place, name string, isSure bool) {
	var known []string
	for _, d := range render.Flatten(c.blueprint.Imports) {
		known = append(known, d.Name)
	}
	if slices.Contains(known, name) || c.isComputed(name) {
		return
	}
	severity := Warning
	if isSure && len(c.blueprint.ImportExecutions) == 0 {
		severity = Error
	}
	c.inSource(severity, s, at, "the blueprint has no import %q; %s", name, cure(name, known))
}

// isComputed reports whether import executions may add a value of that name: whether one has it as a key or as a text.
func (c *checker) isComputed(name string) bool {
	made := regexp.MustCompile(`["']` + regexp.QuoteMeta(name) + `["']|\b` + regexp.QuoteMeta(name) + `\s*:`)
	return slices.ContainsFunc(c.blueprint.ImportExecutions, func(e model.TemplateExecutor) bool {
		text := e.Template.RawMessage
		if len(text) == 0 {
			text, _ = templating.ReadFile(c.files, e.File)
		}
		var plain string
		if json.Unmarshal(text, &plain) == nil {
			text = []byte(plain)
		}
		return made.Match(text)
	})
}
