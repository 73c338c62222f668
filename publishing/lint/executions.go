// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

// source is the text of a template and where it is.
type source struct {
	text, file, field string
	// offset is added to the lines of the text; exact reports whether they are lines of the file then.
	offset int
	exact  bool
	// outer is the line to report when lines inside the text are not known in the file.
	outer int
	// included is true for a file that another template includes.
	included bool
}

func (s source) line(inside int) int {
	if s.exact && inside > 0 {
		return s.offset + inside
	}
	return s.outer
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
		return source{text: string(text), file: clean(e.File), exact: true}, true
	}
	if e.File != "" {
		c.inDocument(Warning, at+".file", "the file is not used, because the template in place wins; remove one of them")
	}
	s := source{file: model.FileName, field: at + ".template", outer: c.document.line(at + ".template")}
	if json.Unmarshal(e.Template.RawMessage, &s.text) == nil {
		s.offset, s.exact = c.document.blockOffset(at + ".template")
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
func (c *checker) declared(name string, isSure bool, report func(Severity, string)) {
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
	report(severity, fmt.Sprintf("the blueprint has no import %q; %s", name, cure(name, known)))
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
