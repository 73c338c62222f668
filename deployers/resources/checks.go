// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/runtime/statusreaders"
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/ext"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Custom asks whether custom checks hold (spec/deployers.md §6.5). The checks are independent of each other, and every
// call looks at the objects as they are now. Objects that do not exist yet are not ready.
func CustomChecks(ctx context.Context, s *Session, checks []managedresource.CustomReadinessCheckConfiguration) (Progress, error) {
	var progress Progress
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

func customCheck(ctx context.Context, s *Session, check *managedresource.CustomReadinessCheckConfiguration) (Progress, error) {
	var progress Progress
	cluster, err := s.On(ctx, check.TargetName)
	if err != nil {
		return progress, err
	}
	for _, selected := range check.Resources {
		ref := ReferenceOf(&selected)
		live, err := s.Served.Get(ctx, cluster, ref)
		if err != nil && !IsGone(err) {
			return progress, err
		}
		if err := judge(ctx, &progress, check, ref, live, Watched(cluster, ref)); err != nil {
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

func labelledCheck(ctx context.Context, cluster *target.Cluster, check *managedresource.CustomReadinessCheckConfiguration) (Progress, error) {
	var progress Progress
	selector := check.LabelSelector
	all := contract.Watched{Cluster: cluster, APIVersion: selector.APIVersion, Kind: selector.Kind}
	found, err := labelled(ctx, cluster, selector)
	if err != nil && !IsGone(err) {
		return progress, err
	}
	if len(found) == 0 {
		progress.Wait(fmt.Sprintf("readiness check %s: no %s has the labels %s", check.Name, selector.Kind, labels.Set(selector.Labels)), all)
	}
	for i := range found {
		if err := judge(ctx, &progress, check, ReferenceTo(&found[i]), &found[i], all); err != nil {
			return progress, err
		}
	}
	return progress, nil
}

func labelled(ctx context.Context, cluster *target.Cluster, selector *managedresource.LabelSelectorSpec) ([]unstructured.Unstructured, error) {
	kind, err := Lookup(ctx, cluster, schema.FromAPIVersionAndKind(selector.APIVersion, selector.Kind))
	if err != nil {
		return nil, err
	}
	found, err := cluster.Dynamic.Resource(kind.GVR).List(ctx, metav1.ListOptions{LabelSelector: labels.Set(selector.Labels).String()})
	if err != nil {
		whole := managedresource.ResourceReference{APIVersion: selector.APIVersion, Kind: selector.Kind}
		return nil, ObjectError("list", whole, err)
	}
	return found.Items, nil
}

// judge adds to the progress what an object, nil when it does not exist, lacks to fulfil a check.
func judge(ctx context.Context, p *Progress, check *managedresource.CustomReadinessCheckConfiguration, ref managedresource.ResourceReference,
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
	found, err := ValuesAt(object, requirement.JsonPath)
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
			return nil, Misconfigured("a value of a requirement is not JSON: %w", err)
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

const (
	// maxExpression is how many bytes an expression may have, maxExpressionCost how many steps of CEL it may take for one object, maxExpressionTime how long.
	maxExpression     = 2048
	maxExpressionCost = 1_000_000
	maxExpressionTime = 2 * time.Second
	// maxShownProblem bounds what messages show of a problem.
	maxShownProblem = 300
)

// healthRules are the expressions of a user for one kind, in the order in which they are asked.
type healthRules []healthRule

type healthRule struct {
	field      string
	expression cel.Program
	status     status.Status
}

// expressions has what expressions in a Flux Kustomization have. Variables are not declared: kinds may have any top-level fields.
var expressions = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders(), cel.ParserExpressionSizeLimit(maxExpression))
})

// compileExpressions reads health checks as Flux does (RFC 0009), by kind. The error names each expression that cannot be used by its field below path, and
// says why. When a kind occurs twice the later check counts.
func compileExpressions(path string, checks []managedresource.HealthCheck) (map[schema.GroupKind]healthRules, error) {
	compiled := make(map[schema.GroupKind]healthRules, len(checks))
	var problems []error
	for i, c := range checks {
		var rules healthRules
		for _, r := range []struct {
			field, text string
			status      status.Status
		}{{"inProgress", c.InProgress, status.InProgressStatus}, {"failed", c.Failed, status.FailedStatus}, {"current", c.Current, status.CurrentStatus}} {
			if r.text == "" {
				continue
			}
			rule := healthRule{field: fmt.Sprintf("%s[%d].%s", path, i, r.field), status: r.status}
			var err error
			if rule.expression, err = compileExpression(r.text); err != nil {
				problems = append(problems, fmt.Errorf("%s: is not a CEL expression: %s", rule.field, shownProblem(err)))
			}
			rules = append(rules, rule)
		}
		compiled[schema.FromAPIVersionAndKind(c.APIVersion, c.Kind).GroupKind()] = rules
	}
	return compiled, errors.Join(problems...)
}

func compileExpression(text string) (cel.Program, error) {
	env, err := expressions()
	if err != nil {
		return nil, err
	}
	parsed, issues := env.Parse(text)
	if issues.Err() != nil {
		return nil, issues.Err()
	}
	return env.Program(parsed, cel.EvalOptions(cel.OptOptimize), cel.CostLimit(maxExpressionCost), cel.InterruptCheckFrequency(100))
}

// of asks the expressions about an object. One that cannot be answered, such as one about fields that the object does not have yet, leaves it in progress.
// The error names the one that takes too many steps.
func (h healthRules) of(ctx context.Context, object *unstructured.Unstructured) (*status.Result, error) {
	observed, found, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	if found && err == nil && object.GetGeneration() != 0 && observed != object.GetGeneration() {
		return inProgress("its controller has not seen its last change yet"), nil
	}
	ctx, cancel := context.WithTimeout(ctx, maxExpressionTime)
	defer cancel()
	for _, r := range h {
		answer, _, err := r.expression.ContextEval(ctx, object.Object)
		switch {
		case err != nil && strings.Contains(err.Error(), "cost limit exceeded"):
			return nil, fmt.Errorf("%s: costs more than an expression may; make it simpler", r.field)
		case err != nil:
			return inProgress(fmt.Sprintf("%s cannot be answered: %s", r.field, shownProblem(err))), nil
		case answer.Type() != types.BoolType:
			return inProgress(fmt.Sprintf("%s cannot be answered: the answer is a %s, not true or false", r.field, answer.Type().TypeName())), nil
		case answer == types.True:
			return &status.Result{Status: r.status, Message: r.field + " is true"}, nil
		}
	}
	return inProgress("none of its health checks is true"), nil
}

// shownProblem returns the text of a problem in one line.
func shownProblem(err error) string {
	return foreign.Beginning(strings.Join(strings.Fields(err.Error()), " "), maxShownProblem)
}

// resultByStatus reads the status of an object as kstatus does, Jobs as Flux does: they are ready when they have ended. An object without status is
// ready.
func resultByStatus(ctx context.Context, object *unstructured.Unstructured) *status.Result {
	var result *status.Result
	var err error
	if object.GroupVersionKind().GroupKind() == (schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}) {
		read, failed := statusreaders.NewCustomJobStatusReader(nil).ReadStatusForObject(ctx, nil, object)
		if err = failed; err == nil {
			result, err = &status.Result{Status: read.Status, Message: read.Message}, read.Error
		}
	} else {
		result, err = status.Compute(object)
	}
	if err != nil {
		return inProgress("its status cannot be read: " + err.Error())
	}
	return result
}

func inProgress(message string) *status.Result {
	return &status.Result{Status: status.InProgressStatus, Message: message}
}
