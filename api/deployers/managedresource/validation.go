// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package managedresource

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
)

// RequirementOperators are the operators of RequirementSpec.
var RequirementOperators = []string{"exists", "!", "=", "==", "!=", "in", "notin"}

// ValidatePolicy returns an error naming path when policy is unknown.
func ValidatePolicy(path string, policy ManifestPolicy) error {
	known := []ManifestPolicy{"", ManagePolicy, FallbackPolicy, KeepPolicy, IgnorePolicy, ImmutablePolicy}
	if slices.Contains(known, policy) {
		return nil
	}
	return fmt.Errorf("%s: policy %q is unknown, use manage, fallback, keep, ignore or immutable", path, document.Brief(policy))
}

// ValidateStrategy returns an error naming path when strategy is unknown.
func ValidateStrategy(path string, strategy UpdateStrategy) error {
	known := []UpdateStrategy{"", UpdateStrategyUpdate, UpdateStrategyPatch, UpdateStrategyMerge, UpdateStrategyMergeOverwrite, UpdateStrategyApply}
	if slices.Contains(known, strategy) {
		return nil
	}
	return fmt.Errorf("%s: update strategy %q is unknown, use update, patch, merge, mergeOverwrite or apply", path, document.Brief(strategy))
}

// ValidateApply checks onConflict and onImmutable; the errors name the fields.
func ValidateApply(strategy UpdateStrategy, onConflict OnConflict, onImmutable OnImmutable) []error {
	var errs []error
	if !slices.Contains([]OnConflict{"", OnConflictForce, OnConflictFail}, onConflict) {
		errs = append(errs, fmt.Errorf("onConflict: %q is unknown, use Force or Fail", document.Brief(onConflict)))
	} else if onConflict != "" && strategy != UpdateStrategyApply {
		errs = append(errs, fmt.Errorf("onConflict: is for updateStrategy apply only, set that or remove onConflict"))
	}
	if !slices.Contains([]OnImmutable{"", OnImmutableFail, OnImmutableRecreate}, onImmutable) {
		errs = append(errs, fmt.Errorf("onImmutable: %q is unknown, use Fail or Recreate", document.Brief(onImmutable)))
	}
	return errs
}

// Limits of health checks.
const (
	maxHealthChecks     = 32
	maxExpressionLength = 2048
)

func validateHealthChecks(path string, checks []HealthCheck) []error {
	if len(checks) > maxHealthChecks {
		return []error{fmt.Errorf("%s: has %d entries, more than %d; join those of one kind", path, len(checks), maxHealthChecks)}
	}
	var errs []error
	for i, check := range checks {
		at := fmt.Sprintf("%s[%d]", path, i)
		errs = append(errs, requireKind(at, check.APIVersion, check.Kind)...)
		errs = append(errs, required(at+".current", check.Current)...)
		errs = append(errs, limit(at+".current", check.Current), limit(at+".inProgress", check.InProgress), limit(at+".failed", check.Failed))
	}
	return errs
}

func limit(path, expression string) error {
	if len(expression) <= maxExpressionLength {
		return nil
	}
	return fmt.Errorf("%s: has %d characters, more than %d; shorten it", path, len(expression), maxExpressionLength)
}

// ValidateReadiness checks readiness checks; the errors name the fields below path. Nil is valid.
func ValidateReadiness(path string, checks *ReadinessCheckConfiguration) []error {
	if checks == nil {
		return nil
	}
	errs := validateHealthChecks(path+".healthChecks", checks.HealthChecks)
	return append(errs, fault.ProblemsIn(len(checks.CustomReadinessChecks), func(i int) []error {
		return validateCheck(fmt.Sprintf("%s.custom[%d]", path, i), &checks.CustomReadinessChecks[i])
	})...)
}

func validateCheck(path string, check *CustomReadinessCheckConfiguration) []error {
	var errs []error
	if check.Name == "" {
		errs = append(errs, fmt.Errorf("%s.name: is empty, give the check a name", path))
	}
	if len(check.Resources) == 0 && check.LabelSelector == nil {
		errs = append(errs, fmt.Errorf("%s: selects nothing, set resourceSelector or labelSelector", path))
	}
	if selector := check.LabelSelector; selector != nil {
		errs = append(errs, requireKind(path+".labelSelector", selector.APIVersion, selector.Kind)...)
		if len(selector.Labels) == 0 {
			errs = append(errs, fmt.Errorf("%s.labelSelector.matchLabels: is empty, name at least one label", path))
		}
	}
	errs = append(errs, fault.ProblemsIn(len(check.Resources), func(i int) []error {
		resource, at := &check.Resources[i], fmt.Sprintf("%s.resourceSelector[%d]", path, i)
		return append(requireKind(at, resource.APIVersion, resource.Kind), required(at+".name", resource.Name)...)
	})...)
	if len(check.Requirements) == 0 {
		errs = append(errs, fmt.Errorf("%s.requirements: is empty, state at least one requirement", path))
	}
	return append(errs, fault.ProblemsIn(len(check.Requirements), func(i int) []error {
		return validateRequirement(fmt.Sprintf("%s.requirements[%d]", path, i), check.Requirements[i])
	})...)
}

func validateRequirement(path string, requirement RequirementSpec) []error {
	errs := required(path+".jsonPath", requirement.JsonPath)
	if !slices.Contains(RequirementOperators, requirement.Operator) {
		return append(errs, fmt.Errorf("%s.operator: %q is unknown, use one of %s",
			path, document.Brief(requirement.Operator), strings.Join(RequirementOperators, ", ")))
	}
	return append(errs, validateValues(path+".values", requirement.Operator, len(requirement.Value))...)
}

func validateValues(path, operator string, count int) []error {
	switch operator {
	case "exists", "!":
		if count > 0 {
			return []error{fmt.Errorf("%s: operator %s takes no values, remove them", path, operator)}
		}
	case "in", "notin":
		if count == 0 {
			return []error{fmt.Errorf("%s: operator %s needs at least one value", path, operator)}
		}
	default:
		if count != 1 {
			return []error{fmt.Errorf("%s: operator %s needs exactly one value, found %d", path, operator, count)}
		}
	}
	return nil
}

// ValidateExports checks exports; the errors name the fields below path. Nil is valid.
func ValidateExports(path string, exports *Exports) []error {
	if exports == nil {
		return nil
	}
	seen := map[string]bool{}
	return fault.ProblemsIn(len(exports.Exports), func(i int) []error {
		export, at := &exports.Exports[i], fmt.Sprintf("%s.exports[%d]", path, i)
		errs := append(required(at+".key", export.Key), required(at+".jsonPath", export.JSONPath)...)
		if seen[export.Key] {
			errs = append(errs, fmt.Errorf("%s.key: %q is used twice, give every export a key of its own", at, document.Brief(export.Key)))
		}
		seen[export.Key] = true
		return append(errs, validateExportSource(at, export)...)
	})
}

func validateExportSource(path string, export *Export) []error {
	var errs []error
	if from := export.FromResource; from != nil {
		errs = append(errs, requireKind(path+".fromResource", from.APIVersion, from.Kind)...)
		errs = append(errs, required(path+".fromResource.name", from.Name)...)
	}
	if ref := export.FromObjectReference; ref != nil {
		errs = append(errs, requireKind(path+".fromObjectRef", ref.APIVersion, ref.Kind)...)
		errs = append(errs, required(path+".fromObjectRef.jsonPath", ref.JSONPath)...)
	}
	return errs
}

// ValidateDeletionGroups checks deletion groups; the errors name the fields below path.
func ValidateDeletionGroups(path string, groups []DeletionGroupDefinition) []error {
	return fault.ProblemsIn(len(groups), func(i int) []error { return validateGroup(fmt.Sprintf("%s[%d]", path, i), groups[i]) })
}

func validateGroup(path string, group DeletionGroupDefinition) []error {
	predefined, custom := group.PredefinedResourceGroup, group.CustomResourceGroup
	if (predefined == nil) == (custom == nil) {
		return []error{fmt.Errorf("%s: set exactly one of predefinedResourceGroup and customResourceGroup", path)}
	}
	if predefined != nil {
		return validatePredefined(path+".predefinedResourceGroup", predefined)
	}
	return validateCustom(path+".customResourceGroup", custom)
}

func validatePredefined(path string, group *PredefinedResourceGroup) []error {
	known := []PredefinedResourceGroupType{NamespacedResources, ClusterScopedResources, CRDs, Empty}
	if slices.Contains(known, group.Type) {
		return nil
	}
	return []error{fmt.Errorf("%s.type: %q is unknown, use namespaced-resources, cluster-scoped-resources, crds or empty",
		path, document.Brief(group.Type))}
}

func validateCustom(path string, group *CustomResourceGroup) []error {
	var errs []error
	if len(group.Resources) == 0 {
		errs = append(errs, fmt.Errorf("%s.resources: is empty, name at least one kind", path))
	}
	errs = append(errs, fault.ProblemsIn(len(group.Resources), func(i int) []error {
		return requireKind(fmt.Sprintf("%s.resources[%d]", path, i), group.Resources[i].APIVersion, group.Resources[i].Kind)
	})...)
	if group.TargetName != nil && !group.DeleteAllResources {
		errs = append(errs, fmt.Errorf("%s.targetName: requires deleteAllResources: true", path))
	}
	return errs
}

// ValidateContinuousReconcile checks a continuousReconcile field; the errors name path. Nil is valid.
func ValidateContinuousReconcile(path string, spec *ContinuousReconcileSpec) []error {
	if spec == nil {
		return nil
	}
	if (spec.Cron == "") == (spec.Every == nil) {
		return []error{fmt.Errorf("%s: set exactly one of cron and every", path)}
	}
	if spec.Every != nil && spec.Every.Duration <= 0 {
		return []error{fmt.Errorf("%s.every: must be greater than zero", path)}
	}
	if spec.Cron != "" {
		if _, err := ParseSchedule(spec.Cron); err != nil {
			return []error{fmt.Errorf("%s.cron: %w", path, err)}
		}
	}
	return nil
}

func requireKind(path, apiVersion, kind string) []error {
	return append(required(path+".apiVersion", apiVersion), required(path+".kind", kind)...)
}

func required(path, value string) []error {
	if value != "" {
		return nil
	}
	return []error{fmt.Errorf("%s: is empty, set it", path)}
}
