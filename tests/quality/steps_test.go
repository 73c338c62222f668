// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"go/ast"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// steps returns the names of the steps that a file lists, in order; those of other rooms are arguments of what adapts them.
func steps(file *File) []string {
	var names []string
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		list, ok := node.(*ast.CompositeLit)
		if !ok || !isStepList(list.Type) {
			return true
		}
		for _, element := range list.Elts {
			if call, ok := element.(*ast.CallExpr); ok && len(call.Args) == 1 {
				if adapted, ok := call.Args[0].(*ast.SelectorExpr); ok {
					element = adapted
				}
			}
			switch step := element.(type) {
			case *ast.SelectorExpr:
				names = append(names, step.Sel.Name)
			case *ast.Ident:
				names = append(names, step.Name)
			}
		}
		return false
	})
	return names
}

// isStepList reports whether a type is []protocol.Step[...].
func isStepList(expression ast.Expr) bool {
	list, ok := expression.(*ast.ArrayType)
	if !ok {
		return false
	}
	generic, ok := list.Elt.(*ast.IndexExpr)
	if !ok {
		return false
	}
	named, ok := generic.X.(*ast.SelectorExpr)
	return ok && named.Sel.Name == "Step"
}

// TestNoWalkHasMoreThanFiveFiles reads the chapter of the walks: each row names a step, and the files from there to its effect.
func TestNoWalkHasMoreThanFiveFiles(t *testing.T) {
	const most = 5
	page, err := os.ReadFile(loaded(t).Path("docs/architecture.md"))
	require.NoError(t, err)
	_, chapter, _ := strings.Cut(string(page), "### Three walks\n")
	chapter, _, _ = strings.Cut(chapter, "\n### ")
	require.Equal(t, 3, strings.Count(chapter, "\n**"), "walks")
	rows := 0
	for line := range strings.Lines(chapter) {
		if walked := quoted.FindAllStringSubmatch(line, -1); len(walked) > 0 {
			rows++
			assert.LessOrEqual(t, len(walked), most, line)
			for _, file := range walked {
				assert.FileExists(t, loaded(t).Path(file[1]))
			}
		}
	}
	assert.Greater(t, rows, 10)
}

// quoted is a word of a page that is code.
var quoted = regexp.MustCompile("`([^`]+)`")

func TestArchitectureNamesEveryStep(t *testing.T) {
	page, err := os.ReadFile(loaded(t).Path("docs/architecture.md"))
	require.NoError(t, err)
	found := 0
	for _, file := range files(t) {
		if path.Base(file.Path) != "reconciler.go" {
			continue
		}
		_, chapter, _ := strings.Cut(string(page), "(`"+file.Path+"`)")
		chapter, _, _ = strings.Cut(chapter, "\n**")
		for _, step := range steps(file) {
			found++
			assert.Contains(t, chapter, step, "docs/architecture.md names every step of %s below its path", file.Path)
		}
	}
	assert.Positive(t, found)
}
