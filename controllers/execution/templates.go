// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/blueprints/graph"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/packing"
)

// readTemplates unpacks and validates the templates of the spec.
func readTemplates(_ context.Context, s *scope) error {
	if err := s.execution.Undecoded.Err(); err != nil {
		return kit.Stall(operation, "InvalidDeployItems", "execution %s: %w", s.execution.Name, err)
	}
	templates, err := packing.Unpack(&s.execution.Spec)
	if err != nil {
		return kit.Stall(operation, "InvalidDeployItems", "execution %s: %w", s.execution.Name, err)
	}
	if problems := validation.DeployItemTemplates(templates); len(problems) > 0 {
		return kit.Stall(operation, "InvalidDeployItems", "execution %s: %w", s.execution.Name, problems.ToAggregate())
	}
	if cycle := validation.DependencyCycle(templates, graph.Cycle); cycle != "" {
		return &kit.Failure{
			Kind: kit.Stalled, Operation: operation, Reason: "CyclicDependencies",
			Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorCyclicDependencies},
			Err:   errors.New(cycle),
		}
	}
	s.templates = templates
	return nil
}
