// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"

	"github.com/flux-landscaper/flux-landscaper/blueprints/render"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/sources/oci"
	"github.com/flux-landscaper/flux-landscaper/sources/repository"
	"github.com/flux-landscaper/flux-landscaper/sources/view"
)

// showComponent adds the component, if there is one, to what templates and schemas see.
func showComponent(env *render.Environment, found *resolvedComponent) (*view.View, error) {
	if found == nil {
		return nil, nil
	}
	shown, err := view.Show(env, view.Component{
		Root: found.root, Closed: found.closed, Session: found.session, Standard: found.standard, Pinned: found.verified != "",
	})
	if err != nil {
		return nil, kit.Stall(jobs.RenderOperation, "InvalidBlueprint", "%w", err)
	}
	return shown, nil
}

// viewFailure says who can end a failure of rendering. What was wrong with the content that was read decides, if there was anything: problem is
// the last error of that, and reading says that it goes on.
func viewFailure(ctx context.Context, operation string, err, problem error, reading bool) error {
	if err == nil {
		return nil
	}
	if again := notRendered(ctx, operation, err); again != nil {
		return again
	}
	switch {
	case reading:
		return kit.Again(operation, "ContentNotRead", "%w", err)
	case errors.Is(problem, oci.ErrUnauthorized):
		reason, codes := repositoryReason(problem)
		return &kit.Failure{Kind: kit.Stalled, Operation: operation, Reason: reason, Codes: codes, Err: err}
	case problem == nil || repository.KindOf(problem) == repository.Stalled:
		return renderFailure(operation, err)
	}
	return kit.Again(operation, "ContentNotRead", "%w", err)
}

// renderingFailed is viewFailure for what templates saw, which is nil without component.
func renderingFailed(ctx context.Context, shown *view.View, operation string, err error) error {
	problem, reading := shown.Problem()
	return viewFailure(ctx, operation, err, problem, reading)
}
