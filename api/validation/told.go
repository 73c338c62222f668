// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/flux-landscaper/flux-landscaper/api/beginning"
	"github.com/flux-landscaper/flux-landscaper/api/bounded"
)

const (
	// maxProblems is how many problems of an object are named.
	maxProblems = bounded.Most
	// longestShown is how many bytes of a field and of its value a problem shows. Names of objects are shorter.
	longestShown = 300
)

// told returns the problems of an object as people are told them: the first ones, saying whether there are more, and of each value no more than its
// beginning. Every function of the package that may find many problems of an object ends with it: who joins the texts of problems copies them again with each.
func told(problems field.ErrorList) field.ErrorList {
	if len(problems) > maxProblems {
		problems = append(problems[:maxProblems], field.Forbidden(field.NewPath("spec"), bounded.More))
	}
	for _, problem := range problems {
		problem.Field = beginning.Of(problem.Field, longestShown)
		if value, isText := problem.BadValue.(string); isText {
			problem.BadValue = beginning.Of(value, longestShown)
		}
	}
	return problems
}
