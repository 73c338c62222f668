// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// File is one Go file of the module.
type File struct {
	// Path is relative to the root, with slashes.
	Path string
	// Content is the text.
	Content string
	// Syntax is the parsed file, comments included.
	Syntax *ast.File
	// Positions belongs to Syntax.
	Positions *token.FileSet
}

// IsTest reports whether the file belongs to tests only.
func (f *File) IsTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

// IsGenerated reports whether a tool has written the file.
func (f *File) IsGenerated() bool { return ast.IsGenerated(f.Syntax) }

// At returns where a node begins, as path:line.
func (f *File) At(node ast.Node) string {
	return fmt.Sprintf("%s:%d", f.Path, f.Positions.Position(node.Pos()).Line)
}

// Sources returns every Go file of the module, parsed once per process.
var Sources = sync.OnceValues(sources)

func sources() ([]*File, error) {
	module, err := Load()
	if err != nil {
		return nil, err
	}
	var files []*File
	err = module.Walk(func(path string) error {
		if filepath.Ext(path) != ".go" {
			return nil
		}
		file, err := parse(module, path)
		files = append(files, file)
		return err
	})
	return files, err
}

func parse(module *Module, path string) (*File, error) {
	content, err := os.ReadFile(module.Path(path))
	if err != nil {
		return nil, err
	}
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, path, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", path, err)
	}
	return &File{Path: path, Content: string(content), Syntax: syntax, Positions: positions}, nil
}

// skipped are folders that hold no source: history, built programs, caches.
var skipped = []string{".git", "bin", ".cache"}

// Walk calls visit with the path of every regular file of the module, relative to the root and with slashes.
func (m *Module) Walk(visit func(path string) error) error {
	return filepath.WalkDir(m.Root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if slices.Contains(skipped, entry.Name()) && filepath.Dir(path) == m.Root {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil // in a work tree .git is a file
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		relative, err := filepath.Rel(m.Root, path)
		if err != nil {
			return err
		}
		return visit(filepath.ToSlash(relative))
	})
}
