// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
)

// Checks are the health checks of one DeployItem, ready to be asked. The zero value has none.
type Checks struct {
	kinds map[schema.GroupKind]check
}

// check is the expressions for one kind in the order in which they are asked.
type check []rule

type rule struct {
	field      string
	expression *expression
	status     status.Status
}

// Compile prepares health checks. The error names each expression that cannot be used by its field below path, and says why. When a kind occurs
// twice the later check counts.
func Compile(path string, checks []managedresource.HealthCheck) (Checks, error) {
	compiled := Checks{kinds: make(map[schema.GroupKind]check, len(checks))}
	var problems []error
	for i, c := range checks {
		var rules check
		// The order is that of RFC 0009.
		for _, r := range []struct {
			field, text string
			status      status.Status
		}{{"inProgress", c.InProgress, status.InProgressStatus}, {"failed", c.Failed, status.FailedStatus}, {"current", c.Current, status.CurrentStatus}} {
			if r.text == "" {
				continue
			}
			field := fmt.Sprintf("%s[%d].%s", path, i, r.field)
			e, err := compile(r.text)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %w", field, err))
				continue
			}
			rules = append(rules, rule{field: field, expression: e, status: r.status})
		}
		compiled.kinds[schema.FromAPIVersionAndKind(c.APIVersion, c.Kind).GroupKind()] = rules
	}
	return compiled, errors.Join(problems...)
}

// Has reports whether there is a check for a kind.
func (c Checks) Has(kind schema.GroupKind) bool { return c.kinds[kind] != nil }

// Of asks the check of an object's kind, which there has to be. The error names the expression that costs too much. An expression that cannot be
// answered, such as one about fields that the object does not have yet, leaves the object in progress.
func (c Checks) Of(ctx context.Context, object *unstructured.Unstructured) (*status.Result, error) {
	if isUnobserved(object) {
		return inProgress("its controller has not seen its last change yet"), nil
	}
	for _, r := range c.kinds[object.GroupVersionKind().GroupKind()] {
		holds, err := r.expression.ask(ctx, object.Object)
		switch {
		case errors.Is(err, ErrTooCostly):
			return nil, fmt.Errorf("%s: %w", r.field, err)
		case err != nil:
			return inProgress(fmt.Sprintf("%s cannot be answered: %v", r.field, err)), nil
		case holds:
			return &status.Result{Status: r.status, Message: r.field + " is true"}, nil
		}
	}
	return inProgress("none of its health checks is true"), nil
}

// isUnobserved reports whether the status is of an earlier generation.
func isUnobserved(object *unstructured.Unstructured) bool {
	observed, found, err := unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	return found && err == nil && object.GetGeneration() != 0 && observed != object.GetGeneration()
}
