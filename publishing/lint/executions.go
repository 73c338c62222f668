// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"fmt"

	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
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
}

func (s source) line(inside int) int {
	if s.exact && inside > 0 {
		return s.offset + inside
	}
	return s.outer
}

func (c *checker) executors(list string, executors []model.TemplateExecutor) {
	unnamed := 0
	for i := range executors {
		if executors[i].Name == "" {
			unnamed++
		}
		c.executor(fmt.Sprintf("%s[%d]", list, i), &executors[i])
	}
	if unnamed > 1 {
		c.inDocument(Warning, list, "%d executors have no name, so they share one state; give each a name", unnamed)
	}
}

func (c *checker) executor(at string, e *model.TemplateExecutor) {
	if e.Type == "" || e.File == "" && len(e.Template.RawMessage) == 0 {
		return // a broken rule, reported already
	}
	check := map[string]func(source){templating.KindGoTemplate: c.goTemplate, templating.KindSpiff: c.spiff}[e.Type]
	if check == nil {
		c.inDocument(Error, at+".type", "the template language %q is unknown; use GoTemplate or Spiff", e.Type)
		return
	}
	if s, ok := c.template(at, e); ok {
		check(s)
	}
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
