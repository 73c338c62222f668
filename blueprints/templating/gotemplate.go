// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	gotemplate "text/template"
	"text/template/parse"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
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
	for name, f := range executionFunctions(r.ctx, r.in) {
		all[name] = f
	}
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

// printName is the function that is called with each value that is about to be printed.
const printName = "printedValue"

// place is where something stands in a template.
type place struct {
	name, source string
	offset       int
	// expression is what stands there.
	expression string
}

// print notes missing values, and that the next thing to be written is one; it returns what to print.
func (r *goRun) print(place int, value any) any {
	r.isValue = true
	if value == nil {
		r.missing = append(r.missing, r.places[place])
	}
	return printable(value)
}

// instrument inserts a call before each value that all templates of one text print.
func (r *goRun) instrument(t *gotemplate.Template, source string) {
	for _, one := range t.Templates() {
		if one.Tree == nil || one.Root == nil {
			continue
		}
		i := &instrumenter{run: r, name: t.Name(), source: source}
		i.list(one.Root)
	}
}

type instrumenter struct {
	run          *goRun
	name, source string
}

func (i *instrumenter) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		i.node(node)
	}
}

func (i *instrumenter) node(node parse.Node) {
	switch n := node.(type) {
	case *parse.ActionNode:
		i.action(n)
	case *parse.IfNode:
		i.list(n.List)
		i.list(n.ElseList)
	case *parse.WithNode:
		i.list(n.List)
		i.list(n.ElseList)
	case *parse.RangeNode:
		i.list(n.List)
		i.list(n.ElseList)
	}
}

// action appends the check to a pipeline that prints its value.
func (i *instrumenter) action(n *parse.ActionNode) {
	if len(n.Pipe.Decl) > 0 {
		return
	}
	i.run.places = append(i.run.places, place{name: i.name, source: i.source, offset: int(n.Pos), expression: n.Pipe.String()})
	check := i.parse(fmt.Sprintf("{{0 | %s %d}}", printName, len(i.run.places)-1))
	n.Pipe.Cmds = append(n.Pipe.Cmds, check.Pipe.Cmds[1])
}

// parse makes a node; the text is a constant of this file.
func (i *instrumenter) parse(text string) *parse.ActionNode {
	tree := parse.New(i.name)
	tree.Mode = parse.SkipFuncCheck
	parsed, err := tree.Parse(text, "", "", map[string]*parse.Tree{})
	if err != nil {
		panic(err)
	}
	return parsed.Root.Nodes[0].(*parse.ActionNode)
}

// noValue is what text/template prints for a missing value.
const noValue = "<no value>"

// checkNoValue fails when the output contains the text of a missing value; it names the place in the template that printed one, or
// else the place in the output.
func (r *goRun) checkNoValue(output string) error {
	offset := strings.Index(output, noValue)
	if !r.in.RejectNoValue || offset < 0 {
		return nil
	}
	if len(r.missing) == 0 {
		line, column := position(output, offset)
		return fmt.Errorf("the output contains %q in line %d, column %d", noValue, line, column)
	}
	first := r.missing[0]
	return &located{name: first.name, source: first.source, line: lineOf(first.source, first.offset),
		err: errors.New(r.describeMissing())}
}

func (r *goRun) describeMissing() string {
	var places []string
	for i, p := range r.missing {
		if i == 5 {
			places = append(places, fmt.Sprintf("and %d more", len(r.missing)-i))
			break
		}
		line, column := position(p.source, p.offset)
		places = append(places, fmt.Sprintf("{{ %s }} in %s line %d, column %d", foreign.Beginning(p.expression, lineWidth), p.name, line, column))
	}
	return fmt.Sprintf("the output contains %q, because a value is missing: %s; give the value, or use default", noValue,
		strings.Join(places, "; "))
}

// position counts lines and columns from 1.
func position(source string, offset int) (line, column int) {
	before := source[:min(offset, len(source))]
	return strings.Count(before, "\n") + 1, len(before) - strings.LastIndexByte(before, '\n')
}

func lineOf(source string, offset int) int {
	line, _ := position(source, offset)
	return line
}

// Limits of one execution, so that honest mistakes get a message with a place. What a hostile template may use is limited by whoever runs it:
// time, memory and stack are those of its process.
const (
	// maxOutput is how large the output may be.
	maxOutput = 4 << 20
	// maxIncludes is how deep includes may call each other.
	maxIncludes = 100
	// maxFile is how large the template and each file that it reads may be.
	maxFile = 1 << 20
)

var errOutput = fmt.Errorf("its output is larger than %d bytes; make less in one template", maxOutput)

func checkSource(source string) error {
	if len(source) > maxFile {
		return fmt.Errorf("the template is larger than %d bytes; split it", maxFile)
	}
	return nil
}

// errIncludes is the end of includes that call each other.
var errIncludes = errors.New("files include each other too deep; look for one that includes itself")
