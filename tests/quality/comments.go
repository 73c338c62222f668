// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"go/ast"
	"go/token"
)

// Undocumented returns the exported names of a file that no comment describes, as "path:line Name". A comment above a group of
// constants or variables describes the group. Fields are described where the API reference needs them.
func Undocumented(file *File) []string {
	var missing []string
	for _, decl := range file.Syntax.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && onExported(d) {
				missing = append(missing, file.At(d)+" "+d.Name.Name)
			}
		case *ast.GenDecl:
			missing = append(missing, undocumentedSpecs(file, d)...)
		}
	}
	return missing
}

// onExported reports whether a function is none of an unexported type's methods.
func onExported(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	exported := true
	ast.Inspect(f.Recv.List[0].Type, func(node ast.Node) bool {
		if name, ok := node.(*ast.Ident); ok {
			exported = name.IsExported()
			return false
		}
		return true
	})
	return exported
}

func undocumentedSpecs(file *File, group *ast.GenDecl) []string {
	var missing []string
	for _, spec := range group.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if s.Name.IsExported() && s.Doc == nil && (group.Doc == nil || group.Lparen != token.NoPos) {
				missing = append(missing, file.At(s)+" "+s.Name.Name)
			}
			missing = append(missing, undocumentedMethods(file, s)...)
		case *ast.ValueSpec:
			for _, name := range s.Names {
				if name.IsExported() && s.Doc == nil && s.Comment == nil && group.Doc == nil {
					missing = append(missing, file.At(name)+" "+name.Name)
				}
			}
		}
	}
	return missing
}

// undocumentedMethods returns the methods of an exported interface that no comment describes.
func undocumentedMethods(file *File, spec *ast.TypeSpec) []string {
	contract, ok := spec.Type.(*ast.InterfaceType)
	if !ok || !spec.Name.IsExported() {
		return nil
	}
	var missing []string
	for _, method := range contract.Methods.List {
		if len(method.Names) == 1 && method.Names[0].IsExported() && method.Doc == nil && method.Comment == nil {
			missing = append(missing, file.At(method)+" "+spec.Name.Name+"."+method.Names[0].Name)
		}
	}
	return missing
}

// UnexplainedSkips returns the calls of a test file that skip a test without a reason, as path:line.
func UnexplainedSkips(file *File) []string {
	var unexplained []string
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		switch selector.Sel.Name {
		case "SkipNow":
			unexplained = append(unexplained, file.At(call))
		case "Skip", "Skipf":
			if len(call.Args) == 0 || isEmptyText(call.Args[0]) {
				unexplained = append(unexplained, file.At(call))
			}
		}
		return true
	})
	return unexplained
}

func isEmptyText(expression ast.Expr) bool {
	literal, ok := expression.(*ast.BasicLit)
	return ok && literal.Kind == token.STRING && len(literal.Value) == len("``")
}
