// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	helmengine "helm.sh/helm/v3/pkg/engine"

	"github.com/flux-landscaper/flux-landscaper/confined"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/rendering"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// lookupTime bounds one question.
const lookupTime = 30 * time.Second

// errSlowLookups says that the time for all lookups of a chart is over.
var errSlowLookups = errors.New("its lookups take longer than all of them may together; look up less, and look for a loop without end")

// lookups answers the questions of one task, with the rights of the connection that it is for.
type lookups struct {
	cluster *target.Cluster

	mu sync.Mutex
	// failure is the last error of a question.
	failure error
}

// answers returns what a task may ask.
func (l *lookups) answers() map[string]confined.Answer {
	return map[string]confined.Answer{rendering.AskLookup: l.answer}
}

// answer asks the cluster as Helm's own function does.
func (l *lookups) answer(ctx context.Context, raw []byte) ([]byte, error) {
	var asked rendering.Sought
	if err := json.Unmarshal(raw, &asked); err != nil {
		return nil, err
	}
	all := ctx
	ctx, cancel := context.WithTimeout(all, lookupTime)
	defer cancel()
	find := helmengine.NewLookupFunction(newGetter(ctx, l.cluster, asked.Namespace).config)
	found, err := find(asked.APIVersion, asked.Kind, asked.Namespace, asked.Name)
	if err != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		if all.Err() != nil {
			err = errSlowLookups
		}
		l.failure = err
		return nil, err
	}
	return json.Marshal(found)
}

// explain returns the error of a task together with that of the question that it may have failed with.
func (l *lookups) explain(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
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
