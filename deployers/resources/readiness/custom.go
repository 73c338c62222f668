// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/exports"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Custom asks whether custom checks hold (spec/deployers.md §6.5). The checks are independent of each other, and every
// call looks at the objects as they are now. Objects that do not exist yet are not ready.
func Custom(ctx context.Context, s *resources.Session, checks []managedresource.CustomReadinessCheckConfiguration) (resources.Progress, error) {
	var progress resources.Progress
	for i := range checks {
		check := &checks[i]
		if check.Disabled {
			continue
		}
		if err := s.Step("deployer: during readiness check - custom check %s", check.Name); err != nil {
			return progress, err
		}
		more, err := customCheck(ctx, s, check)
		if err != nil {
			return progress, fmt.Errorf("readiness check %s: %w", check.Name, err)
		}
		progress.Add(more)
	}
	return progress, nil
}

func customCheck(ctx context.Context, s *resources.Session, check *managedresource.CustomReadinessCheckConfiguration) (resources.Progress, error) {
	var progress resources.Progress
	cluster, err := s.On(ctx, check.TargetName)
	if err != nil {
		return progress, err
	}
	for _, selected := range check.Resources {
		ref := objects.ReferenceOf(&selected)
		live, err := s.Served.Get(ctx, cluster, ref)
		if err != nil && !objects.IsGone(err) {
			return progress, err
		}
		if err := judge(ctx, &progress, check, ref, live, objects.Watched(cluster, ref)); err != nil {
			return progress, err
		}
	}
	if check.LabelSelector == nil {
		return progress, nil
	}
	more, err := labelledCheck(ctx, cluster, check)
	progress.Add(more)
	return progress, err
}

func labelledCheck(ctx context.Context, cluster *target.Cluster, check *managedresource.CustomReadinessCheckConfiguration) (resources.Progress, error) {
	var progress resources.Progress
	selector := check.LabelSelector
	all := contract.Watched{Cluster: cluster, APIVersion: selector.APIVersion, Kind: selector.Kind}
	found, err := labelled(ctx, cluster, selector)
	if err != nil && !objects.IsGone(err) {
		return progress, err
	}
	if len(found) == 0 {
		progress.Wait(fmt.Sprintf("readiness check %s: no %s has the labels %s", check.Name, selector.Kind, labels.Set(selector.Labels)), all)
	}
	for i := range found {
		if err := judge(ctx, &progress, check, objects.ReferenceTo(&found[i]), &found[i], all); err != nil {
			return progress, err
		}
	}
	return progress, nil
}

func labelled(ctx context.Context, cluster *target.Cluster, selector *managedresource.LabelSelectorSpec) ([]unstructured.Unstructured, error) {
	kind, err := objects.Lookup(ctx, cluster, schema.FromAPIVersionAndKind(selector.APIVersion, selector.Kind))
	if err != nil {
		return nil, err
	}
	found, err := cluster.Dynamic.Resource(kind.GVR).List(ctx, metav1.ListOptions{LabelSelector: labels.Set(selector.Labels).String()})
	if err != nil {
		whole := managedresource.ResourceReference{APIVersion: selector.APIVersion, Kind: selector.Kind}
		return nil, objects.ObjectError("list", whole, err)
	}
	return found.Items, nil
}

// judge adds to the progress what an object, nil when it does not exist, lacks to fulfil a check.
func judge(ctx context.Context, p *resources.Progress, check *managedresource.CustomReadinessCheckConfiguration, ref managedresource.ResourceReference,
	live *unstructured.Unstructured, watch contract.Watched) error {
	if live == nil {
		p.Wait(fmt.Sprintf("readiness check %s: %s does not exist", check.Name, ref), watch)
		return nil
	}
	for _, requirement := range check.Requirements {
		ok, err := fulfils(ctx, live.Object, requirement)
		if err != nil {
			return err
		}
		if !ok {
			p.Wait(fmt.Sprintf("readiness check %s: %s does not fulfil %s %s", check.Name, ref, requirement.JsonPath, requirement.Operator), watch)
			return nil
		}
	}
	return nil
}

// fulfils reports whether every field that a requirement selects is as required. A missing field fulfils only the operator !.
func fulfils(ctx context.Context, object map[string]any, requirement managedresource.RequirementSpec) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	found, err := exports.Values(object, requirement.JsonPath)
	if err != nil {
		return false, err
	}
	switch requirement.Operator {
	case "exists":
		return len(found) > 0, nil
	case "!":
		return len(found) == 0, nil
	}
	wanted, err := textsOf(requirement.Value)
	if err != nil {
		return false, err
	}
	negative := requirement.Operator == "!=" || requirement.Operator == "notin"
	for _, value := range found {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if wanted[textOf(value)] == negative {
			return false, nil
		}
	}
	return len(found) > 0, nil
}

// textsOf returns the values of a requirement as textOf writes them.
func textsOf(values []managedresource.RequirementValue) (map[string]bool, error) {
	texts := map[string]bool{}
	for _, v := range values {
		var value any
		raw, err := v.Value.MarshalJSON()
		if err == nil {
			err = kjson.UnmarshalCaseSensitivePreserveInts(raw, &value)
		}
		if err != nil {
			return nil, objects.Misconfigured("a value of a requirement is not JSON: %w", err)
		}
		texts[textOf(value)] = true
	}
	return texts, nil
}

// textOf returns a JSON value in the one form that is the same for equal values: 1 and 1.0 are.
func textOf(value any) string {
	raw, err := json.Marshal(value)
	if err != nil {
		return "" // the text of no value
	}
	var plain any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &plain); err != nil {
		return ""
	}
	raw, _ = json.Marshal(plain) // it was JSON before
	return string(raw)
}
