// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// binding is where a flag is bound to a field.
type binding struct {
	flag  string
	field *ast.SelectorExpr
}

// bindingOf returns what a call of FlagSet binds, as IntVar(&f.field, "name", ...) does.
func bindingOf(node ast.Node) (binding, bool) {
	call, ok := node.(*ast.CallExpr)
	if !ok || len(call.Args) < 2 {
		return binding{}, false
	}
	method, isMethod := call.Fun.(*ast.SelectorExpr)
	address, isAddress := call.Args[0].(*ast.UnaryExpr)
	name, isText := call.Args[1].(*ast.BasicLit)
	if !isMethod || !strings.HasSuffix(strings.TrimSuffix(method.Sel.Name, "P"), "Var") || !isAddress || address.Op != token.AND ||
		!isText || name.Kind != token.STRING {
		return binding{}, false
	}
	field, isField := address.X.(*ast.SelectorExpr)
	return binding{strings.Trim(name.Value, `"`), field}, isField
}

// parsePackage returns the files of the package in a directory, without tests.
func parsePackage(t *testing.T, set *token.FileSet, dir string) (files []*ast.File) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	return files
}

// testNames has the tests of directories that were read already.
var testNames = map[string][]string{}

// testsIn returns the names of the tests in a directory whatever their build constraints.
func testsIn(t *testing.T, dir string) []string {
	t.Helper()
	if names, isKnown := testNames[dir]; isKnown {
		return names
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, declared := range file.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok && function.Recv == nil && strings.HasPrefix(function.Name.Name, "Test") {
				testNames[dir] = append(testNames[dir], function.Name.Name)
			}
		}
	}
	return testNames[dir]
}

// unreadFlags returns the flags whose field nothing reads, by name, and how many flags are bound to fields.
func unreadFlags(set *token.FileSet, files []*ast.File) (unread []string, bound int) {
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	lenient := types.Config{Error: func(error) {}} // the types of other packages stay unknown, which is no matter for fields of this one
	_, _ = lenient.Check("main", set, files, info)
	flags, notRead := map[types.Object]string{}, map[*ast.SelectorExpr]bool{}
	for _, file := range files {
		ast.Inspect(file, func(node ast.Node) bool {
			if b, ok := bindingOf(node); ok && info.Selections[b.field] != nil {
				flags[info.Selections[b.field].Obj()], notRead[b.field] = b.flag, true
			}
			if assignment, ok := node.(*ast.AssignStmt); ok {
				for _, left := range assignment.Lhs {
					if field, ok := left.(*ast.SelectorExpr); ok {
						notRead[field] = true
					}
				}
			}
			return true
		})
	}
	read := map[types.Object]bool{}
	for field, selection := range info.Selections {
		read[selection.Obj()] = read[selection.Obj()] || !notRead[field]
	}
	for field, flag := range flags {
		if !read[field] {
			unread = append(unread, flag)
		}
	}
	return unread, len(flags)
}

// TestD21EveryFlagIsRead looks for flags that are parsed into a field, and do nothing more.
func TestD21EveryFlagIsRead(t *testing.T) {
	set := token.NewFileSet()
	unread, bound := unreadFlags(set, parsePackage(t, set, "."))
	assert.Empty(t, unread, "make use of the flag, or remove it")
	assert.Greater(t, bound, 40, "the others are bound to options of other packages, see effects")
}

func TestTestsAreFoundByDirectory(t *testing.T) {
	assert.Subset(t, testsIn(t, "."), []string{"TestD21EveryFlagIsRead", "TestTestsAreFoundByDirectory"})
	assert.NotContains(t, testsIn(t, "."), "testsIn")
	assert.Empty(t, testsIn(t, "testdata"))
}

func TestUnreadFlagsAreFound(t *testing.T) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "a.go", `package main

import "example.com/pflag"

type inner struct { used, idle, written int }

type outer struct { inner; deep inner }

func bind(o *outer, flags *pflag.FlagSet) {
	flags.IntVar(&o.used, "used", 1, "")
	flags.IntVar(&o.idle, "idle", 1, "")
	flags.IntVarP(&o.deep.written, "written", "w", 1, "")
}

func use(o *outer) int { o.written = 3; return o.deep.used }
`, parser.SkipObjectResolution)
	require.NoError(t, err)
	unread, bound := unreadFlags(set, []*ast.File{file})
	assert.ElementsMatch(t, []string{"idle", "written"}, unread)
	assert.Equal(t, 3, bound)
}
