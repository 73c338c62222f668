// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package templating

import (
	"fmt"
	gotemplate "text/template"
	"text/template/parse"
)

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
