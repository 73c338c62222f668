// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"regexp"
	"slices"

	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the schema of conditions demands.
var (
	conditionType   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
	conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
)

const (
	maxConditionType    = 316
	maxConditionReason  = 1024
	maxConditionMessage = 32768
)

// KeepValidConditions removes the conditions of an object that the API server would refuse, with the whole status that they are in: those
// with invalid values, and all but the first of a type. Objects that Gardener Landscaper wrote have such conditions.
func KeepValidConditions(obj conditions.Setter) {
	all := obj.GetConditions()
	seen := map[string]bool{}
	valid := slices.DeleteFunc(slices.Clone(all), func(c metav1.Condition) bool {
		if isInvalidCondition(c) || seen[c.Type] {
			return true
		}
		seen[c.Type] = true
		return false
	})
	if len(valid) < len(all) {
		obj.SetConditions(valid)
	}
}

func isInvalidCondition(c metav1.Condition) bool {
	status := c.Status == metav1.ConditionTrue || c.Status == metav1.ConditionFalse || c.Status == metav1.ConditionUnknown
	return !status || c.LastTransitionTime.IsZero() || c.ObservedGeneration < 0 ||
		len(c.Type) > maxConditionType || !conditionType.MatchString(c.Type) ||
		len(c.Reason) > maxConditionReason || !conditionReason.MatchString(c.Reason) ||
		len([]rune(c.Message)) > maxConditionMessage
}
