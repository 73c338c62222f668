// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template/parse"
	"unicode/utf8"

	"github.com/flux-landscaper/flux-landscaper/blueprints/templating"
)

// clean returns the path of a file in the blueprint relative to its root.
func clean(name string) string { return strings.TrimPrefix(path.Clean("/"+name), "/") }

// goTemplate checks syntax, names of functions, and files that are named literally.
func (c *checker) goTemplate(s source) {
	trees := map[string]*parse.Tree{}
	tree := parse.New("template")
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(s.text, "", "", trees); err != nil {
		message, at := templateError(err)
		c.inSource(Error, s, at, "the template cannot be parsed: %s", message)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		if trees[name].Root != nil {
			walk := &goWalk{checker: c, source: s, tree: trees[name], tested: map[string]int{}, unsure: s.included || name != tree.Name}
			walk.node(trees[name].Root)
		}
	}
}

var templatePlace = regexp.MustCompile(`^template: [^:]*:(\d+):(?:\d+:)? (.*)$`)

// templateError takes name and line off a message of text/template.
func templateError(err error) (string, place) {
	found := templatePlace.FindStringSubmatch(err.Error())
	if found == nil {
		return err.Error(), place{}
	}
	line, _ := strconv.Atoi(found[1])
	return found[2], place{line: line}
}

// goWalk visits the nodes of one template.
type goWalk struct {
	*checker
	source source
	tree   *parse.Tree
	// unsure is true where dot and $ may be something else than what executions see; inner counts the blocks around that change dot.
	unsure bool
	inner  int
	// asked collects the imports that a condition reads, nil outside of one; tested counts the conditions around that ask for an import.
	asked  map[string]bool
	tested map[string]int
	// tolerant is true where a value may be missing.
	tolerant bool
}

func (w *goWalk) node(n parse.Node) {
	switch t := n.(type) {
	case *parse.ListNode:
		w.list(t)
	case *parse.ActionNode:
		w.pipe(t.Pipe)
	case *parse.TemplateNode:
		w.pipe(t.Pipe)
	case *parse.IfNode:
		w.branch(&t.BranchNode, 0)
	case *parse.RangeNode:
		w.branch(&t.BranchNode, 1)
	case *parse.WithNode:
		w.branch(&t.BranchNode, 1)
	}
}

func (w *goWalk) list(l *parse.ListNode) {
	if l == nil {
		return
	}
	for _, n := range l.Nodes {
		w.node(n)
	}
}

// branch visits a condition and what depends on it, in which dot is another one if inner is 1.
func (w *goWalk) branch(b *parse.BranchNode, inner int) {
	asked := map[string]bool{}
	w.asked = asked
	w.pipe(b.Pipe)
	w.asked = nil
	for name := range asked {
		w.tested[name]++
	}
	w.inner += inner
	w.list(b.List)
	w.inner -= inner
	w.list(b.ElseList)
	for name := range asked {
		w.tested[name]--
	}
}

// imports reports the imports that a command reads and the blueprint does not have.
func (w *goWalk) imports(command *parse.CommandNode) {
	for i, arg := range command.Args {
		path := w.path(arg)
		if function, ok := command.Args[0].(*parse.IdentifierNode); ok && function.Ident == "index" && i == 1 && len(command.Args) > 2 {
			if key, isText := command.Args[2].(*parse.StringNode); isText {
				path = append(slices.Clone(path), key.Text)
			}
		}
		if len(path) < 2 || path[0] != "imports" {
			continue
		}
		if w.asked != nil {
			w.asked[path[1]] = true
		}
		isSure := !w.unsure && !w.tolerant && w.asked == nil && w.tested[path[1]] == 0
		w.declared(w.source, w.placeOf(arg), path[1], isSure)
	}
}

// path returns what a node reads of what executions see.
func (w *goWalk) path(n parse.Node) []string {
	switch t := n.(type) {
	case *parse.FieldNode:
		if w.inner == 0 {
			return t.Ident
		}
	case *parse.VariableNode:
		if t.Ident[0] == "$" {
			return t.Ident[1:]
		}
	}
	return nil
}

// tolerates lists functions that are used for what may have no value.
var tolerates = []string{"and", "coalesce", "default", "dig", "empty", "eq", "get", "hasKey", "kindIs", "kindOf", "ne", "not", "or", "ternary", "typeIs", "typeOf"}

func (w *goWalk) pipe(p *parse.PipeNode) {
	if p == nil {
		return
	}
	outside := w.tolerant
	for _, command := range p.Cmds {
		function, ok := command.Args[0].(*parse.IdentifierNode)
		w.tolerant = w.tolerant || ok && slices.Contains(tolerates, function.Ident)
	}
	for _, command := range p.Cmds {
		w.file(command)
		w.imports(command)
		for _, arg := range command.Args {
			w.argument(arg)
		}
	}
	w.tolerant = outside
}

func (w *goWalk) argument(n parse.Node) {
	switch t := n.(type) {
	case *parse.PipeNode:
		w.pipe(t)
	case *parse.ChainNode:
		w.argument(t.Node)
	case *parse.IdentifierNode:
		if !functionExists(w.checker, t.Ident) {
			w.report(n, "the function %q %s", t.Ident, templating.CureOf(t.Ident))
		}
	}
}

// file checks include, readFile and readDir where the name is written literally; included files are templates themselves.
func (w *goWalk) file(command *parse.CommandNode) {
	if len(command.Args) < 2 {
		return
	}
	function, isName := command.Args[0].(*parse.IdentifierNode)
	name, isText := command.Args[1].(*parse.StringNode)
	if !isName || !isText {
		return
	}
	switch function.Ident {
	case "include":
		w.include(command, name.Text)
	case "readFile":
		if _, err := templating.ReadFile(w.files, name.Text); err != nil {
			w.report(command, "%v", err)
		}
	}
}

func (w *goWalk) include(command parse.Node, name string) {
	text, err := templating.ReadFile(w.files, name)
	if err != nil {
		w.report(command, "%v", err)
		return
	}
	if !w.seen[clean(name)] {
		w.seen[clean(name)] = true
		w.goTemplate(source{text: string(text), file: w.prefix + clean(name), exact: true, included: true})
	}
}

func (w *goWalk) report(n parse.Node, format string, args ...any) {
	w.inSource(Error, w.source, w.placeOf(n), format, args...)
}

// placeOf is a place in the text.
func (w *goWalk) placeOf(n parse.Node) place {
	before := w.source.text[:min(int(n.Position()), len(w.source.text))]
	return place{1 + strings.Count(before, "\n"), 1 + utf8.RuneCountInString(before[1+strings.LastIndex(before, "\n"):])}
}

// functions remembers by name what functionExists found.
var functions sync.Map

// functionExists asks the engine itself, with a template that names the function and never calls it.
func functionExists(c *checker, name string) bool {
	if known, ok := functions.Load(name); ok {
		return known.(bool)
	}
	probe := templating.Input{Name: "probe", Source: "{}{{ if false }}{{ " + name + " }}{{ end }}"}
	_, err := templating.GoTemplate{}.Execute(c.ctx, probe)
	if c.ctx.Err() != nil {
		return true
	}
	functions.Store(name, err == nil)
	return err == nil
}
