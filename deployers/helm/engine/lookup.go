// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	helmengine "helm.sh/helm/v3/pkg/engine"

	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/rendering"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// lookups answers the questions of one task, with the rights of the connection that it is for.
type lookups struct {
	cluster *target.Cluster
	// failure is the last error of a question.
	failure error
}

// answers returns what a task may ask.
func (l *lookups) answers() map[string]confined.Answer {
	return map[string]confined.Answer{rendering.AskLookup: confined.AnswerWith(l.answer)}
}

// answer asks the cluster as Helm's own function does.
func (l *lookups) answer(ctx context.Context, asked rendering.Sought) (map[string]any, error) {
	find := helmengine.NewLookupFunction(newGetter(ctx, l.cluster, asked.Namespace).config)
	found, err := find(asked.APIVersion, asked.Kind, asked.Namespace, asked.Name)
	if err != nil {
		l.failure = err
	}
	return found, err
}

// explain returns the error of a task together with that of the question that it may have failed with.
func (l *lookups) explain(err error) error {
	if err == nil || l.failure == nil {
		return err
	}
	return &askedError{error: err, question: l.failure}
}

// askedError is the error of a task that has asked for something in vain.
type askedError struct {
	error
	question error
}

// Unwrap returns both errors.
func (a *askedError) Unwrap() []error { return []error{a.error, a.question} }
