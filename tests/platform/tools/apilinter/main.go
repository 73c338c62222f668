// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Command apilinter holds the types of an API against the conventions of Kubernetes, by kube-api-linter. It takes the packages as arguments, prints what
// breaks a convention, and ends with a code other than 0 then. Only files named *_types.go have types of an API.
package main

import (
	"log"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/multichecker"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/conditions"
	"sigs.k8s.io/kube-api-linter/pkg/analysis/registry"
	"sigs.k8s.io/kube-api-linter/pkg/config"
	_ "sigs.k8s.io/kube-api-linter/pkg/registration"
)

// held are the conventions that are checked. The others are not: the kinds of Gardener Landscaper, whose fields stay as they are, break some (nobools, nomaps,
// nophase, noreferences, arrayofstruct, nonpointerstructs, optionalfields); controller-gen derives what is required from omitempty (optionalorrequired), and
// reads its own marker for defaults (defaults); the size of a request bounds every text (maxlength, minlength); durations are written as in Flux
// (nodurations); tests/quality checks the texts of fields (commentstart); the rest checks nothing without rules of our own.
var held = []string{
	"conditions", "defaultorrequired", "duplicatemarkers", "integers", "jsontags", "nofloats", "nonullable", "notimestamp", "requiredfields", "ssatags",
	"statusoptional", "statussubresource", "uniquemarkers",
}

// settings leave out what serves protobuf and strategic merge patches, which CRDs do not have.
var settings = config.LintersConfig{"conditions": map[string]any{
	"isFirstField":     string(conditions.ConditionsFirstFieldIgnore),
	"useProtobuf":      string(conditions.ConditionsUseProtobufForbid),
	"usePatchStrategy": string(conditions.ConditionsUsePatchStrategyForbid),
}}

// exceptions are parts of the messages about fields that Gardener Landscaper has in this way.
var exceptions = []string{
	`root object type "LsHealthCheck" has a status field but does not have the marker "kubebuilder:subresource:status"`,
	`field TargetImport.Targets has forbidden marker "nullable"`,
	`status field "ObservedGeneration" must be marked as optional`,
}

func main() {
	analyzers, err := registry.DefaultRegistry().InitializeLinters(config.Linters{Disable: []string{config.Wildcard}, Enable: held}, settings)
	if err != nil {
		log.Fatal(err)
	}
	for _, each := range analyzers {
		restrict(each)
	}
	multichecker.Main(analyzers...)
}

// restrict has an analyzer report nothing of other files, and no exception.
func restrict(analyzer *analysis.Analyzer) {
	run := analyzer.Run
	analyzer.Run = func(pass *analysis.Pass) (any, error) {
		report := pass.Report
		pass.Report = func(found analysis.Diagnostic) {
			file := pass.Fset.Position(found.Pos).Filename
			isException := slices.ContainsFunc(exceptions, func(text string) bool { return strings.Contains(found.Message, text) })
			if strings.HasSuffix(file, "_types.go") && !isException {
				report(found)
			}
		}
		return run(pass)
	}
}
