// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"slices"
	"strings"
)

// PublicNamesPage is the list of what others may import.
const PublicNamesPage = "docs/spec/public-names.txt"

// publicRooms promise stability to those who import them; every other package promises nothing.
var publicRooms = []string{"api", "deployers/contract", "deployers/target"}

const publicNamesHead = `# What others may import: the exported names of api, deployers/contract and deployers/target. Written by make generate, so that
# each change of them shows in review. Every other package promises nothing.
`

// PublicNames returns the text of PublicNamesPage: a line for each exported constant, variable, function, type, field and method, sorted.
func PublicNames(files []*File) (string, error) {
	var lines []string
	for _, file := range files {
		folder := path.Dir(file.Path)
		if file.IsTest() || file.IsGenerated() || !isPublic(folder) {
			continue
		}
		// Parsed anew: taking out what is not exported changes the tree.
		positions := token.NewFileSet()
		syntax, err := parser.ParseFile(positions, file.Path, file.Content, parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		ast.FileExports(syntax)
		for _, declaration := range syntax.Decls {
			found, err := namesOf(positions, declaration)
			if err != nil {
				return "", fmt.Errorf("%s: %w", file.Path, err)
			}
			for _, line := range found {
				lines = append(lines, folder+": "+line)
			}
		}
	}
	slices.Sort(lines)
	return publicNamesHead + strings.Join(lines, "\n") + "\n", nil
}

// isPublic reports whether others can import a folder, and are promised stability.
func isPublic(folder string) bool {
	return !slices.Contains(strings.Split(folder, "/"), "internal") &&
		slices.ContainsFunc(publicRooms, func(room string) bool { return within(folder, room) })
}

// namesOf returns the lines of a declaration that ast.FileExports has left.
func namesOf(positions *token.FileSet, declaration ast.Decl) ([]string, error) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil && !receiver(d).IsExported() {
			return nil, nil
		}
		d.Body = nil
		line, err := printed(positions, d)
		return []string{line}, err
	case *ast.GenDecl:
		var lines []string
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.ValueSpec:
				for _, name := range s.Names {
					lines = append(lines, d.Tok.String()+" "+name.Name)
				}
			case *ast.TypeSpec:
				found, err := namesOfType(positions, s)
				if err != nil {
					return nil, err
				}
				lines = append(lines, found...)
			}
		}
		return lines, nil
	}
	return nil, nil
}

// receiver returns the name of the type that a method belongs to.
func receiver(method *ast.FuncDecl) *ast.Ident {
	kind := method.Recv.List[0].Type
	for {
		switch t := kind.(type) {
		case *ast.StarExpr:
			kind = t.X
		case *ast.IndexExpr:
			kind = t.X
		case *ast.IndexListExpr:
			kind = t.X
		case *ast.Ident:
			return t
		default:
			return ast.NewIdent("_")
		}
	}
}

// namesOfType returns a line for the type, and one for each of its fields or of the methods of an interface.
func namesOfType(positions *token.FileSet, spec *ast.TypeSpec) ([]string, error) {
	var members *ast.FieldList
	kind := ""
	switch t := spec.Type.(type) {
	case *ast.StructType:
		members, kind = t.Fields, "struct"
	case *ast.InterfaceType:
		members, kind = t.Methods, "interface"
	default:
		text, err := printed(positions, spec.Type)
		return []string{"type " + spec.Name.Name + " " + text}, err
	}
	lines := []string{"type " + spec.Name.Name + " " + kind}
	for _, member := range members.List {
		text, err := printed(positions, member.Type)
		if err != nil {
			return nil, err
		}
		if len(member.Names) == 0 {
			lines = append(lines, fmt.Sprintf("type %s %s, embeds %s", spec.Name.Name, kind, text))
		}
		for _, name := range member.Names {
			lines = append(lines, fmt.Sprintf("type %s %s, %s %s", spec.Name.Name, kind, name.Name, text))
		}
	}
	return lines, nil
}

// printed returns the source of a node on one line.
func printed(positions *token.FileSet, node ast.Node) (string, error) {
	var text bytes.Buffer
	if err := printer.Fprint(&text, positions, node); err != nil {
		return "", err
	}
	return strings.Join(strings.Fields(text.String()), " "), nil
}
