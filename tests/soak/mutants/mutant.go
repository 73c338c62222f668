// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a change of one place in the code.
type mutant struct {
	file, function string
	code           []byte
	start, end     int // of what is replaced, in code
	put            string
	line           int
}

func (m *mutant) folder() string { return filepath.Dir(m.file) }

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d %s: %s → %s", m.file, m.line, m.function, brief(m.taken()), brief(m.put))
}

func (m *mutant) taken() string { return string(m.code[m.start:m.end]) }

func (m *mutant) changed() []byte {
	return slices.Concat(m.code[:m.start], []byte(m.put), m.code[m.end:])
}

// brief is code on one line.
func brief(code string) string {
	line := strings.Join(strings.Fields(code), " ")
	return line[:min(len(line), 80)]
}

// sample returns mutants in a random order in which all packages take turns.
func sample(seed uint64) ([]*mutant, error) {
	byFolder := map[string][]*mutant{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "tests" || path == "docs" || path != "." && strings.HasPrefix(entry.Name(), ".")):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(entry.Name(), "zz_generated"):
			return nil
		}
		found, err := mutantsOf(path)
		byFolder[filepath.Dir(path)] = append(byFolder[filepath.Dir(path)], found...)
		return err
	})
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, 0))
	var folders []string
	for folder := range byFolder {
		folders = append(folders, folder)
	}
	slices.Sort(folders)
	random.Shuffle(len(folders), func(i, j int) { folders[i], folders[j] = folders[j], folders[i] })
	for _, folder := range folders {
		all := byFolder[folder]
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	var turns []*mutant
	for i := 0; ; i++ {
		before := len(turns)
		for _, folder := range folders {
			if i < len(byFolder[folder]) {
				turns = append(turns, byFolder[folder][i])
			}
		}
		if len(turns) == before {
			return turns, nil
		}
	}
}

// others are what stands in the place of a comparison.
var others = map[token.Token]token.Token{
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.LAND: token.LOR, token.LOR: token.LAND,
}

// mutantsOf returns what may be changed in a file.
func mutantsOf(path string) ([]*mutant, error) {
	code, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, code, 0)
	if err != nil {
		return nil, err
	}
	var all []*mutant
	for _, declaration := range parsed.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		add := func(start, end token.Pos, put string) {
			at := files.Position(start)
			all = append(all, &mutant{
				file: path, function: nameOf(function), code: code, start: at.Offset, end: files.Position(end).Offset, put: put, line: at.Line,
			})
		}
		ast.Inspect(function.Body, func(node ast.Node) bool {
			switch n := node.(type) {
			case *ast.IfStmt:
				cond := string(code[files.Position(n.Cond.Pos()).Offset:files.Position(n.Cond.End()).Offset])
				add(n.Cond.Pos(), n.Cond.End(), "("+cond+") && false")
				add(n.Cond.Pos(), n.Cond.End(), "("+cond+") || true")
			case *ast.BinaryExpr:
				if other, ok := others[n.Op]; ok {
					add(n.OpPos, n.OpPos+token.Pos(len(n.Op.String())), other.String())
				}
			case *ast.ExprStmt:
				add(n.Pos(), n.End(), "")
			case *ast.ReturnStmt:
				if len(n.Results) == 0 {
					break
				}
				if last, ok := n.Results[len(n.Results)-1].(*ast.Ident); ok && last.Name == "err" {
					add(last.Pos(), last.End(), "nil")
				}
			}
			return true
		})
	}
	return all, nil
}

// nameOf is the name of a function as in documentation: Read, or Store.Read for a method.
func nameOf(function *ast.FuncDecl) string {
	if function.Recv == nil {
		return function.Name.Name
	}
	of := function.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if generic, ok := of.(*ast.IndexExpr); ok {
		of = generic.X
	}
	if named, ok := of.(*ast.Ident); ok {
		return named.Name + "." + function.Name.Name
	}
	return function.Name.Name
}
