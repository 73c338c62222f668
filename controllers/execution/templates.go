// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// readTemplates unpacks and validates the templates of the spec.
func readTemplates(_ context.Context, s *scope) error {
	if err := s.execution.Undecoded.Err(); err != nil {
		return protocol.Stall(operation, "InvalidDeployItems", "execution %s: %w", s.execution.Name, err)
	}
	templates, err := storage.Unpack(&s.execution.Spec)
	if err != nil {
		return protocol.Stall(operation, "InvalidDeployItems", "execution %s: %w", s.execution.Name, err)
	}
	if problems := validation.DeployItemTemplates(templates); len(problems) > 0 {
		return protocol.Stall(operation, "InvalidDeployItems", "execution %s: %w", s.execution.Name, problems.ToAggregate())
	}
	if cycle := validation.DependencyCycle(templates); cycle != "" {
		return &protocol.Failure{
			Kind: protocol.Stalled, Operation: operation, Reason: "CyclicDependencies",
			Codes: []v1alpha1.ErrorCode{v1alpha1.ErrorCyclicDependencies},
			Err:   errors.New(cycle),
		}
	}
	s.templates = templates
	return nil
}
