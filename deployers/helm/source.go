// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"errors"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/sources/flux"
)

// sourceProblem says who can end an error about a source, whose message begins with the field sourceRef. prefix is what comes before that.
func sourceProblem(prefix string, err error) error {
	var problem *flux.Error
	if !errors.As(err, &problem) {
		return err
	}
	if problem.Waiting {
		return kit.Again("GetChart", string(problem.Reason), "%s%w", prefix, err)
	}
	return kit.Stall("GetChart", string(problem.Reason), "%s%w", prefix, err)
}

// awaitSource makes a job wait for the source whose change will end an error, instead of trying again and again. Other errors stay as they
// are.
func (d *deployer) awaitSource(err error) (resources.Progress, error) {
	var problem *flux.Error
	if d.options.Landscaper == nil || !errors.As(err, &problem) || !problem.Waiting {
		return resources.Progress{}, err
	}
	return resources.Progress{Reasons: []string{err.Error()}, Watch: []contract.Watched{{
		Cluster: d.options.Landscaper, APIVersion: sourcev1.GroupVersion.String(),
		Kind: problem.Kind, Namespace: problem.Namespace, Name: problem.Name,
	}}}, nil
}
