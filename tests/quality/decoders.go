// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package quality

import (
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
)

// decoders are functions that read YAML, by package.
var decoders = map[string][]string{
	"sigs.k8s.io/yaml":                  {"Unmarshal", "UnmarshalStrict", "YAMLToJSON", "YAMLToJSONStrict"},
	"go.yaml.in/yaml/v2":                {"Unmarshal", "UnmarshalStrict", "NewDecoder"},
	"go.yaml.in/yaml/v3":                {"Unmarshal", "NewDecoder"},
	"gopkg.in/yaml.v2":                  {"Unmarshal", "UnmarshalStrict", "NewDecoder"},
	"gopkg.in/yaml.v3":                  {"Unmarshal", "NewDecoder"},
	"sigs.k8s.io/kustomize/kyaml/yaml":  {"Unmarshal", "UnmarshalStrict", "NewDecoder", "Parse", "MustParse"},
	"k8s.io/apimachinery/pkg/util/yaml": {"Unmarshal", "ToJSON", "NewYAMLToJSONDecoder", "NewYAMLOrJSONDecoder"},
	"github.com/mandelsoft/spiff/yaml":  {"Unmarshal", "UnmarshalMulti", "Parse", "ParseMulti"},
}

// excusedDecoders are files and folders that may read YAML by themselves, with the reason.
var excusedDecoders = map[string]string{
	"api/foreign":                    "it is the package that the others use",
	"tests":                          "it reads what the tests write",
	"publishing/lint":                "it looks for lines and keys in texts that were read within limits",
	"publishing/ocm/parse.go":        "it reads the constructor one document at a time, after foreign.Afford",
	"cmd/flux-landscaper":            "it reads the arguments of the person who runs it",
	"cmd/landscaper/controller.go":   "it reads a flag, which the operator sets",
	"cmd/landscaper/deployer.go":     "it reads a flag, which the operator sets",
	"blueprints/model/load.go":       "it looks for lines in a text that was read within limits, and follows no alias",
	"blueprints/templating/spiff.go": "the Spiff library reads its templates itself, after checkSpiff",
}

// mayDecode reports whether the file, or a folder around it, is excused.
func mayDecode(file string) bool { return longestExcuse(file) != "" }

// longestExcuse returns the key of excusedDecoders that the file belongs to, "" if there is none.
func longestExcuse(file string) string {
	for ; file != "." && file != "/"; file = path.Dir(file) {
		if _, ok := excusedDecoders[file]; ok {
			return file
		}
	}
	return ""
}

// UnboundedDecoders returns where a file uses functions that read YAML without limits, as path:line package.Function.
func UnboundedDecoders(file *File) []string {
	named := map[string][]string{}
	var found []string
	for _, spec := range file.Syntax.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value)
		functions, known := decoders[imported]
		switch {
		case !known:
		case spec.Name == nil:
			named[lastName(imported)] = functions
		case spec.Name.Name == ".":
			found = append(found, file.At(spec)+" .")
		default:
			named[spec.Name.Name] = functions
		}
	}
	ast.Inspect(file.Syntax, func(node ast.Node) bool {
		selector, ok := node.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if from, ok := selector.X.(*ast.Ident); ok && slices.Contains(named[from.Name], selector.Sel.Name) {
			found = append(found, file.At(selector)+" "+from.Name+"."+selector.Sel.Name)
		}
		return true
	})
	return found
}

// lastName returns the name of a package of decoders, which is the last element of its path but for versions.
func lastName(imported string) string {
	name := path.Base(imported)
	if strings.HasPrefix(name, "v") && len(name) == 2 {
		name = path.Base(path.Dir(imported))
	}
	name, _, _ = strings.Cut(name, ".")
	return name
}
