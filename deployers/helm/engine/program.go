// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"helm.sh/helm/v3/pkg/chartutil"
	kjson "sigs.k8s.io/json"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/confined"
)

// ChildMemory is how much memory a child may take to work on a chart, in bytes, unless Options say otherwise.
const ChildMemory = 384 << 20

// maxProduct is how many bytes a manifest may have, which the parent has to parse.
const maxProduct = 16 << 20

// maxErrorText is how much a child tells of the beginning of an error, and of its end.
const maxErrorText = 2 << 10

// withoutMiddle returns a text without what a chain of a thousand calls says in the middle.
func withoutMiddle(text string) string {
	if len(text) <= 2*maxErrorText {
		return text
	}
	return foreign.Beginning(text, maxErrorText) + " … " + strings.ToValidUTF8(text[len(text)-maxErrorText:], "")
}

// program is everything that depends on the content of charts: it runs in child processes.
var program = confined.NewProgram("helm", perform)

// shared are the children of all engines of this process that have no limits of their own.
var shared = confined.NewPool(program, confined.Limits{Memory: ChildMemory})

// taskVerb says what a task is.
type taskVerb string

const (
	// taskLoad reads a chart.
	taskLoad taskVerb = "load"
	// taskDefinitions returns the objects of the crds directories that have a part in a release.
	taskDefinitions taskVerb = "definitions"
	// taskValues returns what templates see.
	taskValues taskVerb = "values"
	// taskRelease renders what makes up a revision of a release.
	taskRelease taskVerb = "release"
	// taskObjects renders the objects alone.
	taskObjects taskVerb = "objects"
)

// task is one job of a child.
type task struct {
	Verb  taskVerb
	Chart packedChart
	// Options and Values, as JSON, are those of the release, Secrets what no error shows.
	Options chartutil.ReleaseOptions
	Values  []byte
	Secrets []string
	// Capabilities of the cluster; nil means Helm's default.
	Capabilities *chartutil.Capabilities
	// SkipSchema leaves the values unchecked.
	SkipSchema    bool
	PostRenderers []helmv1alpha1.PostRenderer
	Metadata      *helmv1alpha1.CommonMetadata
}

// product is the result of a task; each verb fills its own part.
type product struct {
	// Problem is what kind of error the task ended with, if any.
	Problem problemKind
	// Name, Version, IsDynamic and HasDefinitions are those of Chart.
	Name, Version             string
	IsDynamic, HasDefinitions bool
	// Manifest and Notes are those of the revision, Hooks and Record as JSON: the latter is the chart as Helm records it.
	Manifest, Notes string
	Hooks, Record   []byte
	// Secrets are the texts below keys of all values, those of the chart included, that sound like secrets.
	Secrets []string
	// Given are the longer texts of all values, where the revision has hooks, whose programs may print them.
	Given []string
	// Definitions and Objects are JSON lists of objects, Seen is a JSON object.
	Definitions, Objects, Seen []byte
}

// problemKind says which of the errors of this package a child means.
type problemKind string

const (
	problemChart      problemKind = "chart"
	problemSchema     problemKind = "schema"
	problemPostRender problemKind = "postRender"
	problemSize       problemKind = "size"
	problemRender     problemKind = "render"
)

// kinds are the errors that a child can mean.
var kinds = map[problemKind]error{
	problemChart: ErrChart, problemSchema: ErrSchema, problemPostRender: ErrPostRender, problemSize: ErrUnaffordable,
	problemRender: ErrRender,
}

// perform does a task, in a child.
func perform(_ context.Context, parent *confined.Parent, t task) (product, error) {
	jsonpatch.AccumulatedCopySizeLimit = maxCopied
	w := &worker{task: t, parent: parent}
	err := w.work()
	if err == nil {
		return w.product, nil
	}
	secrets := slices.Concat(textsIn(nil, w.given, shortestText, true), t.Secrets, w.product.Secrets)
	text := withoutMiddle(Redacted{Err: err, Secrets: secrets}.Error())
	for kind, known := range kinds {
		if errors.Is(err, known) {
			return product{Problem: kind}, errors.New(text)
		}
	}
	return product{}, errors.New(text)
}

// do has a task done in a child, for the tenant who owns the release. An error says which of the errors of this package it is, and does
// not show the secrets of the task.
func (e *Engine) do(ctx context.Context, owner string, t task, answers map[string]confined.Answer) (product, error) {
	made, err := e.children.Run(ctx, confined.Job{Owner: owner, Answers: answers}, t)
	if err == nil {
		return made, nil
	}
	return product{}, toldBy(made.Problem, err)
}

// toldBy returns an error of a task as one of this package.
func toldBy(problem problemKind, err error) error {
	var ended *confined.Ended
	switch kind := kinds[problem]; {
	case kind != nil:
		return &foreignError{text: err.Error(), kind: kind}
	case errors.As(err, &ended) && ended.Reason != confined.Died:
		return &foreignError{text: ended.Error(), kind: ErrUnaffordable}
	case ended != nil, errors.Is(err, confined.ErrNotStarted):
		return &foreignError{text: err.Error(), kind: ErrNotRun}
	}
	return err
}

// ErrNotRun says that the process for a chart could not be started, or was ended from outside; errors.Is finds it. The chart is not to blame.
var ErrNotRun = errors.New("the chart was not worked on")

// ErrUnaffordable says that a chart needs more time or memory than it may have; errors.Is finds it.
var ErrUnaffordable = errors.New("the chart needs more than it may have")

// foreignError is an error of a child.
type foreignError struct {
	text string
	kind error
}

// Error returns what the child said.
func (f *foreignError) Error() string { return f.text }

// Unwrap returns what kind of error it is.
func (f *foreignError) Unwrap() error { return f.kind }

// worker does one task.
type worker struct {
	task    task
	parent  *confined.Parent
	product product
	// values are those of the task, given with those of the chart, once they are known.
	values, given map[string]any
}

func (w *worker) work() error {
	if len(w.task.Values) > 0 {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(w.task.Values, &w.values); err != nil {
			return err
		}
	}
	w.values = asHelmReads(w.values).(map[string]any)
	w.given = w.values
	w.parent.Begin("files of the chart")
	chart, err := w.task.Chart.load()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrChart, err)
	}
	switch w.task.Verb {
	case taskLoad:
		w.describe(chart)
		return nil
	case taskDefinitions:
		return w.definitions(chart)
	case taskValues:
		return w.seen(chart)
	case taskRelease:
		return w.release(chart)
	}
	return w.objects(chart)
}

// ErrChart says that a chart cannot be used as it is; errors.Is finds it in the errors of Load, LoadDirectory and the operations.
var ErrChart = errors.New("the chart cannot be used")

// ErrRender says that chart and values render to nothing that can be deployed, whenever it is tried; errors.Is finds it in the errors of Render, Install and
// Upgrade.
var ErrRender = errors.New("the chart cannot be rendered with these values; correct one of them")

// ErrSchema says that the values do not fit the chart's values.schema.json; errors.Is finds it in the errors of Install and Upgrade.
var ErrSchema = errors.New("the values do not fit the chart's schema")
