// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"cmp"
	"context"
	"io"
	"maps"
	"strings"
	gotemplate "text/template"
)

// GoTemplate runs Go's text/template: option missingkey=zero, the functions of Sprig without those that look outside the blueprint
// (env, expandenv, getHostByName), and the functions for files, components and clusters.
type GoTemplate struct{}

// rootName is the name of a template without a file in messages of text/template.
const rootName = "execution"

// Execute renders the template and reads the output as a YAML object.
func (GoTemplate) Execute(ctx context.Context, in Input) (Output, error) {
	run := &goRun{ctx: ctx, in: in, values: bindings(in)}
	output, err := run.render()
	if err != nil {
		return Output{}, run.explain(err)
	}
	return run.decode(output)
}

// bindings copies the values, because templates can change maps, and adds the state.
func bindings(in Input) map[string]any {
	values := make(map[string]any, len(in.Values)+1)
	for key, value := range in.Values {
		values[key] = copyValue(value)
	}
	if in.State != nil {
		values["state"] = copyValue(in.State)
	}
	return values
}

func copyValue(v any) any {
	switch t := v.(type) {
	case map[string]any:
		return copyMap(t)
	case []any:
		out := make([]any, len(t))
		for i, item := range t {
			out[i] = copyValue(item)
		}
		return out
	}
	return v
}

func copyMap(in map[string]any) map[string]any {
	out := maps.Clone(in)
	for key, value := range out {
		out[key] = copyValue(value)
	}
	return out
}

// goRun is one execution of a GoTemplate.
type goRun struct {
	ctx       context.Context
	in        Input
	values    map[string]any
	functions gotemplate.FuncMap
	places    []place
	missing   []place
	// includes counts those that have not ended.
	includes int
	// isValue says that what is written next is no text of a template.
	isValue bool
	// literal are the lines of included files that have texts of templates only, without spaces around.
	literal map[string]bool
	// shown is the output without values.
	shown string
}

func (r *goRun) render() (string, error) {
	if err := checkSource(r.in.Source); err != nil {
		return "", err
	}
	r.functions = r.allFunctions()
	output, err := r.run(cmp.Or(r.in.File, rootName), r.in.Source, r.values)
	if err != nil {
		return "", err
	}
	return output, r.checkNoValue(output)
}

func (r *goRun) allFunctions() gotemplate.FuncMap {
	all := maps.Clone(libraryFunctions())
	maps.Copy(all, r.fileFunctions())
	maps.Copy(all, r.componentFunctions())
	maps.Copy(all, r.clusterFunctions())
	return all
}

// functionsOf returns the functions that a text can call; giving all of them to each text would take longer than most templates run.
func (r *goRun) functionsOf(source string) gotemplate.FuncMap {
	named := gotemplate.FuncMap{}
	for name, f := range r.functions {
		if strings.Contains(source, name) {
			named[name] = f
		}
	}
	named[printName] = r.print
	return named
}

// run parses and executes one text; include uses it as well.
func (r *goRun) run(name, source string, data any) (string, error) {
	parsed, err := gotemplate.New(name).Option("missingkey=zero").Funcs(r.functionsOf(source)).Parse(source)
	if err != nil {
		return "", &located{name: name, source: source, err: withCure(err)}
	}
	r.instrument(parsed, source)
	out := &limitedWriter{run: r}
	if err := parsed.Execute(out, data); err != nil {
		return "", &located{name: name, source: source, err: err}
	}
	r.shown = out.shown.String()
	if r.includes > 0 {
		r.keepLiteral(out.text.String(), r.shown)
	}
	return out.text.String(), nil
}

// limitedWriter collects the output up to its limit, and once more what of it errors may show.
type limitedWriter struct {
	run         *goRun
	text, shown strings.Builder
	// inLine says that the last line has more than spaces.
	inLine bool
}

var _ io.Writer = (*limitedWriter)(nil)

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.text.Len()+len(p) > maxOutput {
		return 0, errOutput
	}
	shown := string(p)
	if w.run.isValue {
		shown, w.run.isValue = w.run.withoutValues(shown, w.inLine), false
	}
	w.shown.WriteString(shown)
	tail := shown[strings.LastIndexByte(shown, '\n')+1:]
	w.inLine = w.inLine && len(tail) == len(shown) || strings.TrimSpace(tail) != ""
	return w.text.Write(p)
}
