// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"regexp"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
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

// driftPrefix begins the message of the condition Drifted.
const driftPrefix = "Not as deployed: "

// DriftOf returns what ShowDrift shows of an object, empty where nothing has drifted.
func DriftOf(obj conditions.Getter) string {
	if !conditions.IsTrue(obj, v1alpha1.DriftedCondition) {
		return ""
	}
	return strings.TrimPrefix(conditions.GetMessage(obj, v1alpha1.DriftedCondition), driftPrefix)
}

// ShowDrift shows which of the objects below one are not as their last job left them on the target, by what a person calls them.
func ShowDrift(obj conditions.Setter, drifted []string) {
	if len(drifted) == 0 {
		conditions.Delete(obj, v1alpha1.DriftedCondition)
		return
	}
	slices.Sort(drifted)
	conditions.MarkTrue(obj, v1alpha1.DriftedCondition, ReasonDrift, "%s", Message(driftPrefix+strings.Join(drifted, ", ")))
}

// What an item says of the status that it has lost.
const (
	reasonStatusRemoved  = "StatusRemoved"
	statusRemovedMessage = "no status says any more what this item has deployed; its deployer looks on the target for what carries its marks"
)

// IsUntouched reports whether nothing in the status of an item says that a deployer has ever begun a job of it. Deployers write that they begin before
// they do anything, and what they write stays; a phase without a trace of a deployer comes from an interruption or from the pick-up timeout.
func IsUntouched(item *v1alpha1.DeployItem) bool {
	status := &item.Status
	switch status.Phase {
	case "", v1alpha1.PhaseFailed, v1alpha1.PhaseDeleteFailed:
	default:
		return false
	}
	return !conditions.Has(item, v1alpha1.RecordLostCondition) && status.Deployer == nil && status.LastReconcileTime == nil && status.ObservedGeneration <= 0 &&
		status.ProviderStatus == nil && status.ExportReference == nil
}

// MarkRecordLost notes that the status of an item, which recorded what earlier jobs have deployed, was removed.
func MarkRecordLost(item *v1alpha1.DeployItem) {
	conditions.MarkTrue(item, v1alpha1.RecordLostCondition, reasonStatusRemoved, "%s", statusRemovedMessage)
}
