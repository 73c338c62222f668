// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Reason is a word by which conditions, status.lastError and events name why something is as it is.
type Reason struct {
	// Name is the word.
	Name string
	// Rooms are the folders whose code uses it, sorted.
	Rooms []string
	// Ends says who can end a failure with this reason: Stall, Wait or Again, as the functions of deployers/protocol that make it; sorted, and
	// empty where the code does not make the failure by one of these.
	Ends []string
}

// reasonRooms are the rooms whose code writes conditions and events.
var reasonRooms = []string{"blueprints", "sources", "controllers", "deployers", "agent"}

var (
	// reasonWord tells reasons from sentences, which are named reason elsewhere in the code.
	reasonWord = regexp.MustCompile(`^[A-Z][A-Za-z]+$`)
	// reasonConstant is how constants with a reason are called.
	reasonConstant = regexp.MustCompile(`^(reason[A-Z].*|Reason[A-Z].*|[A-Z].*Reason)$`)
	// reasonFunction is how functions that return a reason are called.
	reasonFunction = regexp.MustCompile(`^(reason|reason[A-Z].*|.*Reason)$`)
)

// reasonParameters are functions of libraries that take a reason, with its place.
var reasonParameters = map[string]int{
	"MarkTrue": 2, "MarkFalse": 2, "MarkUnknown": 2, "MarkReconciling": 1, "MarkStalled": 1, "Event": 2, "Eventf": 2, "AnnotatedEventf": 3,
}

// reasonScan reads reasons from the code by names: what is given to a parameter, field, variable or result called reason.
type reasonScan struct {
	module *Module
	// constants by folder and name; packages of others have their import path as folder.
	constants map[string]map[string]string
	// parameters: folder, function or method → the places of parameters called reason.
	parameters map[string]map[string][]int
	// fields: folder, struct → its fields in order.
	fields map[string]map[string][]string
	found  map[string]*Reason
}

// Reasons returns every reason that the code of the rooms gives to conditions, errors in status, and events, sorted by name. Reasons that
// others give and the code passes on, as those of a kubelet, are not among them.
func Reasons(module *Module, files []*File) ([]Reason, error) {
	scan := &reasonScan{
		module: module, constants: map[string]map[string]string{}, parameters: map[string]map[string][]int{},
		fields: map[string]map[string][]string{}, found: map[string]*Reason{},
	}
	var relevant []*File
	for _, file := range files {
		if !file.IsTest() && !within(file.Path, "tests") {
			scan.define(path.Dir(file.Path), file.Syntax)
			relevant = append(relevant, file)
		}
	}
	for _, file := range relevant {
		folder := path.Dir(file.Path)
		ours := slices.ContainsFunc(reasonRooms, func(room string) bool { return within(folder, room) })
		if !ours || within(folder, "deployers/conformance") {
			continue
		}
		if err := scan.read(folder, file.Syntax); err != nil {
			return nil, err
		}
	}
	var reasons []Reason
	for _, name := range slices.Sorted(maps.Keys(scan.found)) {
		reason := scan.found[name]
		slices.Sort(reason.Rooms)
		slices.Sort(reason.Ends)
		reasons = append(reasons, *reason)
	}
	return reasons, nil
}

// define enters constants, functions and structs of a file.
func (s *reasonScan) define(folder string, syntax *ast.File) {
	for _, all := range []map[string]map[string]string{s.constants} {
		if all[folder] == nil {
			all[folder] = map[string]string{}
		}
	}
	if s.parameters[folder] == nil {
		s.parameters[folder], s.fields[folder] = map[string][]int{}, map[string][]string{}
	}
	ast.Inspect(syntax, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) {
					if text, ok := literal(n.Values[i]); ok {
						s.constants[folder][name.Name] = text
					}
				}
			}
		case *ast.FuncDecl:
			s.takes(folder, n.Name.Name, n.Type)
		case *ast.TypeSpec:
			if fields, ok := n.Type.(*ast.StructType); ok {
				s.fields[folder][n.Name.Name] = namesIn(fields.Fields)
			}
		case *ast.Field:
			if function, ok := n.Type.(*ast.FuncType); ok && len(n.Names) == 1 {
				s.takes(folder, n.Names[0].Name, function)
			}
		case *ast.AssignStmt:
			if function, ok := n.Rhs[0].(*ast.FuncLit); ok {
				if name, ok := n.Lhs[0].(*ast.Ident); ok {
					s.takes(folder, name.Name, function.Type)
				}
			}
		}
		return true
	})
}

// takes enters the places of parameters called reason.
func (s *reasonScan) takes(folder, function string, signature *ast.FuncType) {
	for place, name := range namesIn(signature.Params) {
		if name == "reason" && !slices.Contains(s.parameters[folder][function], place) {
			s.parameters[folder][function] = append(s.parameters[folder][function], place)
		}
	}
}

// namesIn returns the names of parameters or fields in order; an embedded field or a parameter without name is "".
func namesIn(list *ast.FieldList) []string {
	var names []string
	for _, field := range list.List {
		if len(field.Names) == 0 {
			names = append(names, "")
		}
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// read enters the reasons of a file.
func (s *reasonScan) read(folder string, syntax *ast.File) error {
	imports := s.importsOf(syntax)
	if err := s.readForeign(imports); err != nil {
		return err
	}
	ast.Inspect(syntax, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.ValueSpec:
			for i, name := range n.Names {
				named, _ := n.Type.(*ast.Ident)
				if i < len(n.Values) && (reasonConstant.MatchString(name.Name) || named != nil && named.Name == "Reason") {
					s.values(folder, imports, n.Values[i], "")
				}
			}
		case *ast.SelectorExpr:
			if owner, ok := n.X.(*ast.Ident); ok && strings.Contains(imports[owner.Name], ".") && reasonConstant.MatchString(n.Sel.Name) {
				s.enter(folder, s.constants[imports[owner.Name]][n.Sel.Name], "")
			}
		case *ast.CallExpr:
			s.call(folder, imports, n)
		case *ast.CompositeLit:
			s.composite(folder, imports, n)
		case *ast.AssignStmt:
			s.assign(folder, imports, n)
		case *ast.FuncDecl:
			s.results(folder, imports, n)
		}
		return true
	})
	return nil
}

// importsOf returns names of packages → folder of this module, or import path of others.
func (s *reasonScan) importsOf(syntax *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range syntax.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = strings.TrimPrefix(imported, ModulePath+"/")
	}
	return imports
}

// readForeign enters the constants of Flux's package of reasons, where a file imports it.
func (s *reasonScan) readForeign(imports map[string]string) error {
	const foreign = "github.com/fluxcd/pkg/apis/meta"
	if s.constants[foreign] != nil || !slices.Contains(slices.Collect(maps.Values(imports)), foreign) {
		return nil
	}
	sources, err := filepath.Glob(filepath.Join(s.module.Packages[foreign].Dir, "*.go"))
	if err != nil {
		return err
	}
	for _, source := range sources {
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), source, content, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		s.define(foreign, syntax)
	}
	return nil
}

func (s *reasonScan) call(folder string, imports map[string]string, call *ast.CallExpr) {
	name, places := "", []int(nil)
	switch callee := call.Fun.(type) {
	case *ast.Ident:
		name = callee.Name
		places = s.parameters[folder][name]
	case *ast.SelectorExpr:
		name = callee.Sel.Name
		owner, _ := callee.X.(*ast.Ident)
		if place, library := reasonParameters[name]; library {
			places = []int{place}
		} else if owner != nil && imports[owner.Name] != "" {
			places = s.parameters[imports[owner.Name]][name]
		} else {
			places = s.parameters[folder][name]
		}
	}
	ends := ""
	if name == "Stall" || name == "Wait" || name == "Again" {
		ends = name
	}
	for _, place := range places {
		if place < len(call.Args) {
			s.values(folder, imports, call.Args[place], ends)
		}
	}
}

// composite reads Reason: and reason: of a literal, and by place where it has no keys.
func (s *reasonScan) composite(folder string, imports map[string]string, value *ast.CompositeLit) {
	named, _ := value.Type.(*ast.Ident)
	ends := ""
	for i, element := range value.Elts {
		pair, keyed := element.(*ast.KeyValueExpr)
		if !keyed {
			if named != nil && i < len(s.fields[folder][named.Name]) && strings.EqualFold(s.fields[folder][named.Name][i], "reason") {
				s.values(folder, imports, element, "")
			}
			continue
		}
		key, _ := pair.Key.(*ast.Ident)
		if key == nil {
			continue
		}
		if kind, ok := pair.Value.(*ast.SelectorExpr); ok && key.Name == "Kind" {
			ends = map[string]string{"Stalled": "Stall", "Waiting": "Wait", "Retry": "Again"}[kind.Sel.Name]
		}
		if strings.EqualFold(key.Name, "reason") {
			s.values(folder, imports, pair.Value, ends)
		}
	}
}

func (s *reasonScan) assign(folder string, imports map[string]string, statement *ast.AssignStmt) {
	if len(statement.Lhs) != len(statement.Rhs) {
		return
	}
	for i, left := range statement.Lhs {
		switch l := left.(type) {
		case *ast.Ident:
			if strings.EqualFold(l.Name, "reason") {
				s.values(folder, imports, statement.Rhs[i], "")
			}
		case *ast.SelectorExpr:
			if strings.EqualFold(l.Sel.Name, "reason") {
				s.values(folder, imports, statement.Rhs[i], "")
			}
		}
	}
}

// results reads what a function returns that is called after reasons, or whose first result is.
func (s *reasonScan) results(folder string, imports map[string]string, function *ast.FuncDecl) {
	results := function.Type.Results
	if results == nil || function.Body == nil {
		return
	}
	if !reasonFunction.MatchString(function.Name.Name) && namesIn(results)[0] != "reason" {
		return
	}
	ast.Inspect(function.Body, func(node ast.Node) bool {
		if statement, ok := node.(*ast.ReturnStmt); ok && len(statement.Results) > 0 {
			s.values(folder, imports, statement.Results[0], "")
		}
		return true
	})
}

// values enters the constants that an expression may have as value.
func (s *reasonScan) values(folder string, imports map[string]string, expression ast.Expr, ends string) {
	if text, ok := literal(expression); ok {
		s.enter(folder, text, ends)
		return
	}
	switch e := expression.(type) {
	case *ast.Ident:
		s.enter(folder, s.constants[folder][e.Name], ends)
	case *ast.SelectorExpr:
		if owner, ok := e.X.(*ast.Ident); ok {
			s.enter(folder, s.constants[imports[owner.Name]][e.Sel.Name], ends)
		}
	case *ast.CallExpr:
		for _, argument := range e.Args {
			if slices.Contains([]string{"string", "Reason", "Or"}, calleeOf(e)) {
				s.values(folder, imports, argument, ends)
			}
		}
	}
}

// calleeOf returns the name of the function that is called, without its package.
func calleeOf(call *ast.CallExpr) string {
	switch callee := call.Fun.(type) {
	case *ast.Ident:
		return callee.Name
	case *ast.SelectorExpr:
		return callee.Sel.Name
	}
	return ""
}

// enter notes that a folder uses a reason. Texts that are no reason are left out.
func (s *reasonScan) enter(folder, name, ends string) {
	if !reasonWord.MatchString(name) {
		return
	}
	if s.found[name] == nil {
		s.found[name] = &Reason{Name: name}
	}
	reason := s.found[name]
	if !slices.Contains(reason.Rooms, folder) {
		reason.Rooms = append(reason.Rooms, folder)
	}
	if ends != "" && !slices.Contains(reason.Ends, ends) {
		reason.Ends = append(reason.Ends, ends)
	}
}

// literal returns the value of a string literal.
func literal(expression ast.Expr) (string, bool) {
	basic, ok := expression.(*ast.BasicLit)
	if !ok || basic.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(basic.Value)
	return text, err == nil
}
