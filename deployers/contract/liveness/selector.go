// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package liveness

import (
	"slices"
	"strconv"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Selected reports whether any of the selectors selects the target.
func Selected(selectors []v1alpha1.TargetSelector, target *v1alpha1.Target) bool {
	return slices.ContainsFunc(selectors, func(selector v1alpha1.TargetSelector) bool {
		return names(selector.Targets, target) &&
			satisfies(target.GetAnnotations(), selector.Annotations) && satisfies(target.GetLabels(), selector.Labels)
	})
}

// names reports whether one of the references names the target; no references name every target.
func names(references []v1alpha1.ObjectReference, target *v1alpha1.Target) bool {
	return len(references) == 0 || slices.ContainsFunc(references, func(ref v1alpha1.ObjectReference) bool {
		return ref.Name == target.Name && (ref.Namespace == "" || ref.Namespace == target.Namespace)
	})
}

// satisfies reports whether a map of annotations or labels meets all requirements.
func satisfies(have map[string]string, requirements []v1alpha1.Requirement) bool {
	return !slices.ContainsFunc(requirements, func(requirement v1alpha1.Requirement) bool {
		value, has := have[requirement.Key]
		holds := operators[requirement.Operator]
		return holds == nil || !holds(value, has, requirement.Values)
	})
}

// IsOperator reports whether a requirement may have this operator.
func IsOperator(name string) bool { return operators[name] != nil }

// operators follow the label selectors of Kubernetes: != and notin also hold where the key is missing.
var operators = map[string]func(value string, has bool, wanted []string) bool{
	"=":      isIn,
	"==":     isIn,
	"in":     isIn,
	"!=":     isNotIn,
	"notin":  isNotIn,
	"exists": func(_ string, has bool, _ []string) bool { return has },
	"!":      func(_ string, has bool, _ []string) bool { return !has },
	"gt":     compares(func(have, want int64) bool { return have > want }),
	"lt":     compares(func(have, want int64) bool { return have < want }),
}

func isIn(value string, has bool, wanted []string) bool { return has && slices.Contains(wanted, value) }

func isNotIn(value string, has bool, wanted []string) bool { return !isIn(value, has, wanted) }

func compares(holds func(have, want int64) bool) func(string, bool, []string) bool {
	return func(value string, has bool, wanted []string) bool {
		if !has || len(wanted) != 1 {
			return false
		}
		have, errHave := strconv.ParseInt(value, 10, 64)
		want, errWant := strconv.ParseInt(wanted[0], 10, 64)
		return errHave == nil && errWant == nil && holds(have, want)
	}
}
