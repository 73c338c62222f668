// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// Comments reads the comments above types and their fields.
type Comments struct {
	module *Module
	// types by package path and name.
	types map[string]map[string]*ast.TypeSpec
}

// NewComments returns a reader for the packages of the module and those it depends on.
func NewComments(module *Module) *Comments {
	return &Comments{module: module, types: map[string]map[string]*ast.TypeSpec{}}
}

// comment is what the lines above a field say.
type comment struct {
	text     string
	optional bool
}

// ofField returns the comment of a field, or of its type where it has none itself.
func (c *Comments) ofField(owner reflect.Type, field reflect.StructField) (comment, error) {
	spec, err := c.find(owner)
	if err != nil {
		return comment{}, err
	}
	found := comment{}
	if definition, ok := spec.Type.(*ast.StructType); ok {
		for _, candidate := range definition.Fields.List {
			if len(candidate.Names) > 0 && candidate.Names[0].Name == field.Name {
				found = read(candidate.Doc)
			}
		}
	}
	t := element(field.Type)
	if t.Name() == "" || t.PkgPath() == "" || !strings.HasPrefix(t.PkgPath(), ModulePath) {
		return found, nil
	}
	spec, err = c.find(t)
	if err != nil {
		return comment{}, err
	}
	return found.with(read(spec.Doc), spec.Name.Name), nil
}

// with adds what is known of the type: its text where the field has none, and the values it allows.
func (c comment) with(ofType comment, name string) comment {
	text, allowed, _ := strings.Cut(ofType.text, " One of:")
	if c.text == "" {
		c.text = text
	}
	if allowed != "" && !strings.Contains(c.text, "One of:") {
		c.text += " One of:" + allowed
	}
	return c
}

// Of returns the text of the comment above a type.
func (c *Comments) Of(t reflect.Type) (string, error) {
	spec, err := c.find(t)
	if err != nil {
		return "", err
	}
	return read(spec.Doc).text, nil
}

func (c *Comments) find(t reflect.Type) (*ast.TypeSpec, error) {
	if c.types[t.PkgPath()] == nil {
		if err := c.parse(t.PkgPath()); err != nil {
			return nil, err
		}
	}
	spec := c.types[t.PkgPath()][t.Name()]
	if spec == nil {
		return nil, fmt.Errorf("package %s has no type %s", t.PkgPath(), t.Name())
	}
	return spec, nil
}

func (c *Comments) parse(path string) error {
	p := c.module.Packages[path]
	if p == nil {
		return fmt.Errorf("package %s is not part of the build", path)
	}
	sources, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
	if err != nil {
		return err
	}
	c.types[path] = map[string]*ast.TypeSpec{}
	for _, source := range sources {
		content, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), source, content, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		c.enter(path, file)
	}
	return nil
}

func (c *Comments) enter(path string, file *ast.File) {
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range group.Specs {
			if t, ok := spec.(*ast.TypeSpec); ok {
				if t.Doc == nil {
					t.Doc = group.Doc
				}
				c.types[path][t.Name.Name] = t
			}
		}
	}
}

// read splits a comment into text and markers.
func read(group *ast.CommentGroup) comment {
	found := comment{}
	var words []string
	allowed, fallback := "", ""
	for _, line := range strings.Split(group.Text(), "\n") {
		line = strings.TrimSpace(line)
		marker, isMarker := strings.CutPrefix(line, "+")
		if !isMarker {
			words = append(words, strings.Fields(line)...)
			continue
		}
		name, value, _ := strings.Cut(marker, "=")
		switch strings.TrimSuffix(name, ":") {
		case "optional":
			found.optional = true
		case "kubebuilder:validation:Enum":
			allowed = " One of: " + strings.Join(strings.Split(value, ";"), ", ") + "."
		case "kubebuilder:default":
			fallback = " Default: " + value + "."
			found.optional = true
		}
	}
	found.text = strings.Join(words, " ") + fallback + allowed
	return found
}
