// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"cmp"
	"go/ast"
	"slices"
)

// Function is one function or method with its length.
type Function struct {
	// Name of the function, without receiver.
	Name string
	// At is where it begins, as path:line.
	At string
	// Lines from the word func to the closing brace.
	Lines int
	// Flags reports whether it binds flags or builds a command: long by nature, and exempt from the limit for one function.
	Flags bool
}

// Functions returns the functions of the files that are neither tests nor generated, the longest first.
func Functions(files []*File) []Function {
	var functions []Function
	for _, file := range files {
		if file.IsTest() || file.IsGenerated() {
			continue
		}
		for _, decl := range file.Syntax.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
				functions = append(functions, measure(file, f))
			}
		}
	}
	slices.SortFunc(functions, func(a, b Function) int { return cmp.Compare(b.Lines, a.Lines) })
	return functions
}

func measure(file *File, f *ast.FuncDecl) Function {
	lines := file.Positions.Position(f.End()).Line - file.Positions.Position(f.Pos()).Line + 1
	return Function{Name: f.Name.Name, At: file.At(f), Lines: lines, Flags: bindsFlags(f)}
}

// bindsFlags reports whether a function takes a *pflag.FlagSet or returns a *cobra.Command.
func bindsFlags(f *ast.FuncDecl) bool {
	lists := []*ast.FieldList{f.Type.Params, f.Type.Results}
	return slices.ContainsFunc(lists, func(list *ast.FieldList) bool {
		return list != nil && slices.ContainsFunc(list.List, func(field *ast.Field) bool {
			pointer, ok := field.Type.(*ast.StarExpr)
			if !ok {
				return false
			}
			named, ok := pointer.X.(*ast.SelectorExpr)
			return ok && (named.Sel.Name == "FlagSet" || named.Sel.Name == "Command")
		})
	})
}
