// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"math"
	"strings"
	gotemplate "text/template"
	"text/template/parse"
)

// Names of the functions that instrument calls in parsed templates.
const (
	tickName  = "budgetTick"
	enterName = "budgetEnter"
	leaveName = "budgetLeave"
	printName = "budgetPrint"
)

// maxNesting is how deep blocks may be nested in each other; the parser recurses for each level.
const maxNesting = 2000

// place is where something stands in a template.
type place struct {
	name, source string
	offset       int
}

// checkNesting refuses templates with so many blocks open at once that the parser would use up its stack.
func checkNesting(source string) error {
	opened := 0
	for _, word := range []string{"if", "range", "with", "define", "block"} {
		opened += strings.Count(source, word)
	}
	if opened > 10*maxNesting && opened-strings.Count(source, "end") > maxNesting {
		return overBudget("more than %d blocks are open at once", maxNesting)
	}
	return nil
}

// instruments are the functions that instrumented templates call. They return an empty text, or the value to print.
func (r *goRun) instruments() gotemplate.FuncMap {
	return gotemplate.FuncMap{
		tickName:  func() (string, error) { return "", r.meter.tick() },
		enterName: func() (string, error) { return "", r.meter.enter() },
		leaveName: func() string { r.meter.leave(); return "" },
		printName: r.print,
	}
}

// print checks a value that is about to be printed, notes missing ones and returns what to print.
func (r *goRun) print(place int, value any) (any, error) {
	switch t := value.(type) {
	case nil:
		r.missing = append(r.missing, r.places[place])
		return nil, nil
	case string, bool, int, int64:
		return value, nil
	case float64:
		return printable(t), nil
	}
	_, err := r.meter.measure(value)
	return value, err
}

// printable turns whole numbers, which JSON reads as floats, into integers, so that a million is not printed as 1e+06.
func printable(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

// instrument inserts calls into all templates of one text: a tick at the start of each loop body, enter and leave around each
// template, and a check of each value before it is printed.
func (r *goRun) instrument(t *gotemplate.Template, source string) {
	for _, one := range t.Templates() {
		if one.Tree == nil || one.Root == nil {
			continue
		}
		i := &instrumenter{run: r, name: t.Name(), source: source}
		i.list(one.Root)
		one.Root.Nodes = append([]parse.Node{i.call(enterName)}, one.Root.Nodes...)
		one.Root.Nodes = append(one.Root.Nodes, i.call(leaveName))
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
		n.List.Nodes = append([]parse.Node{i.call(tickName)}, n.List.Nodes...)
	}
}

// action appends the check to a pipeline that prints its value.
func (i *instrumenter) action(n *parse.ActionNode) {
	if len(n.Pipe.Decl) > 0 {
		return
	}
	i.run.places = append(i.run.places, place{name: i.name, source: i.source, offset: int(n.Pos)})
	check := i.parse(fmt.Sprintf("{{0 | %s %d}}", printName, len(i.run.places)-1))
	n.Pipe.Cmds = append(n.Pipe.Cmds, check.Pipe.Cmds[1])
}

func (i *instrumenter) call(name string) parse.Node { return i.parse("{{" + name + "}}") }

// parse makes a node; the text is a constant of this file.
func (i *instrumenter) parse(text string) *parse.ActionNode {
	tree := parse.New(i.name)
	tree.Mode = parse.SkipFuncCheck
	parsed, err := tree.Parse(text, "", "", map[string]*parse.Tree{})
	i.run.meter.must(err)
	return parsed.Root.Nodes[0].(*parse.ActionNode)
}
