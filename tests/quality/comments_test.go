// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryFileHasTheHeader(t *testing.T) {
	header, err := os.ReadFile("header.go.txt")
	require.NoError(t, err)
	for _, file := range files(t) {
		if file.IsGenerated() {
			assert.True(t, strings.Contains(file.Content, string(header)), "%s lacks the header: %s", file.Path, cure)
		} else {
			assert.True(t, strings.HasPrefix(file.Content, string(header)), "%s does not begin with the two lines of header.go.txt", file.Path)
		}
	}
}

func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, file := range files(t) {
		if !file.IsTest() && !file.IsGenerated() {
			assert.Empty(t, Undocumented(file))
		}
	}
}

func TestEveryPackageIsDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, file := range files(t) {
		folder := file.Path[:strings.LastIndex(file.Path, "/")+1]
		if !file.IsTest() {
			documented[folder] = documented[folder] || file.Syntax.Doc != nil
		}
	}
	for folder, ok := range documented {
		assert.True(t, ok, "no file of %s has a comment above its package clause", folder)
	}
}

func TestEverySkipHasAReason(t *testing.T) {
	for _, file := range files(t) {
		if file.IsTest() {
			assert.Empty(t, UnexplainedSkips(file))
		}
	}
}

func parsed(t *testing.T, source string) *File {
	t.Helper()
	positions := token.NewFileSet()
	syntax, err := parser.ParseFile(positions, "x.go", source, parser.ParseComments)
	require.NoError(t, err)
	return &File{Path: "x.go", Syntax: syntax, Positions: positions}
}

func TestUndocumented(t *testing.T) {
	for name, c := range map[string]struct {
		source string
		want   []string
	}{
		"function":                     {"package x\nfunc A() {}", []string{"x.go:2 A"}},
		"documented":                   {"package x\n// A is.\nfunc A() {}", nil},
		"method of an unexported type": {"package x\ntype a int\nfunc (a) A() {}", nil},
		"method of an exported type":   {"package x\n// A is.\ntype A int\nfunc (*A) B() {}", []string{"x.go:4 B"}},
		"constant in a group":          {"package x\n// Group.\nconst (\nA = 1\n)", nil},
		"constant alone":               {"package x\nconst A = 1", []string{"x.go:2 A"}},
		"type in a group":              {"package x\n// Group.\ntype (\nA int\n)", []string{"x.go:4 A"}},
		"method of an interface":       {"package x\n// A is.\ntype A interface{ B() }", []string{"x.go:3 A.B"}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, c.want, Undocumented(parsed(t, c.source)))
		})
	}
}

func TestUnexplainedSkips(t *testing.T) {
	found := UnexplainedSkips(parsed(t, "package x\nfunc f() {\nt.Skip()\nt.Skip(\"\")\nt.SkipNow()\nt.Skip(\"needs root\")\n}"))
	assert.Equal(t, []string{"x.go:3", "x.go:4", "x.go:5"}, found)
}

// fieldOf is a field that people write under another name than Go has for it.
type fieldOf struct{ at, name, serialised, text string }

// fieldsOfPeople returns the fields of the API with their texts, and the names of all types there.
func fieldsOfPeople(t *testing.T) (fields []fieldOf, types map[string]bool) {
	types = map[string]bool{}
	for _, file := range files(t) {
		people := within(file.Path, "api/v1alpha1") || within(file.Path, "api/deployers")
		if !people || file.IsTest() || file.IsGenerated() {
			continue
		}
		ast.Inspect(file.Syntax, func(node ast.Node) bool {
			if declared, ok := node.(*ast.TypeSpec); ok {
				types[declared.Name.Name] = true
			}
			field, ok := node.(*ast.Field)
			if !ok || field.Tag == nil || field.Doc == nil || len(field.Names) != 1 {
				return true
			}
			tag, err := strconv.Unquote(field.Tag.Value)
			require.NoError(t, err)
			serialised, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
			if name := field.Names[0].Name; serialised != "" && serialised != "-" && serialised != name {
				fields = append(fields, fieldOf{file.At(field), name, serialised, field.Doc.Text()})
			}
			return true
		})
	}
	return fields, types
}

// TestFieldTextsUseSerialisedNames keeps Go names out of what kubectl explain shows: of the field itself, and of others where the name can be
// nothing else, because it has several words and is not a kind.
func TestFieldTextsUseSerialisedNames(t *testing.T) {
	fields, types := fieldsOfPeople(t)
	assert.Greater(t, len(fields), 300)
	written := map[string]string{}
	for _, field := range fields {
		if compound.MatchString(field.name) && !types[field.name] && !types[strings.TrimSuffix(field.name, "s")] {
			written[field.name] = field.serialised
		}
	}
	for _, field := range fields {
		first, _, _ := strings.Cut(field.text, " ")
		assert.NotEqual(t, field.name, first, "%s: begin the comment with %s, which people write", field.at, field.serialised)
		for _, word := range goName.FindAllString(field.text, -1) {
			assert.Empty(t, written[word], "%s: write %s in place of %s, which only Go knows", field.at, written[word], word)
		}
	}
}

var (
	compound = regexp.MustCompile(`[a-z][A-Z]`)
	goName   = regexp.MustCompile(`\b[A-Z]\w+`)
)
