// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package conformance puts a deployer through the contract of DeployItems from outside: it plays the Execution, and judges every version of
// the items that the API server has seen. It knows nothing of the deployer but the type of its items. It promises nothing to others.
package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Options say what to check. Client and Type are required.
type Options struct {
	// Client reaches the cluster with the DeployItems. Its scheme knows the kinds of Kubernetes and those of api/v1alpha1.
	Client client.WithWatch
	// Type of the DeployItems that the deployer carries out.
	Type string
	// Namespace to work in; empty makes one, which goes at the end.
	Namespace string
	// Target is the name of a Target in Namespace that the items name; empty for items without one.
	Target string
	// Configurations of the items.
	Configurations Configurations
	// JobTimeout is how long a deployer may take for a job of a configuration other than Slow; 30 s when 0.
	JobTimeout time.Duration
	// Quiet is how long an item is watched on which nothing may be written; 3 s when 0.
	Quiet time.Duration
	// Parallel is how many checks run at a time; 4 when 0.
	Parallel int
	// Only lists the names of the checks to run; empty for all.
	Only []string
}

// Verdict is how a check ended.
type Verdict string

// Verdicts.
const (
	OK      Verdict = "ok"
	Failed  Verdict = "failed"
	Skipped Verdict = "skipped"
)

// Result is the end of one check.
type Result struct {
	Check   string  `json:"check"`
	Verdict Verdict `json:"verdict"`
	// Contract is the sentence that the check holds the deployer to.
	Contract string `json:"contract"`
	// Seen is what the deployer did, or why the check was skipped.
	Seen string `json:"seen,omitempty"`
}

// Report is the end of a run.
type Report struct {
	Type    string   `json:"type"`
	Results []Result `json:"results"`
	// Left names what the run could not clean up, with the cure.
	Left []string `json:"left,omitempty"`
}

// Failed reports whether a check has failed.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Results, func(result Result) bool { return result.Verdict == Failed })
}

// Names returns the names of all checks in the order in which they are reported.
func Names() []string {
	names := make([]string, len(checks))
	for i := range checks {
		names[i] = checks[i].name
	}
	return names
}

// skip is the reason why a check says nothing about the deployer.
type skip string

func (s skip) Error() string { return string(s) }

// Run puts a deployer through the checks and removes what it made. The error says why nothing could be checked.
func Run(ctx context.Context, options Options) (*Report, error) {
	chosen, err := chosenChecks(&options)
	if err != nil {
		return nil, err
	}
	b := &bench{Options: options, run: uuid.NewString()[:8], client: options.Client}
	drop, err := b.prepare(ctx)
	defer drop()
	if err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx)) // the clean-up needs it, too
	defer stop()
	if b.history, err = watch(watching, options.Client, b.Namespace, client.MatchingLabels{runLabel: b.run}); err != nil {
		return nil, err
	}
	report := &Report{Type: options.Type, Results: make([]Result, len(chosen))}
	b.each(len(chosen), func(i int) { report.Results[i] = b.judge(ctx, chosen[i]) })
	report.Left = b.cleanUp(context.WithoutCancel(ctx))
	return report, nil
}

// chosenChecks checks the options, fills in their defaults and returns the checks to run.
func chosenChecks(options *Options) ([]check, error) {
	if options.Type == "" {
		return nil, errors.New("the type of the DeployItems is missing")
	}
	if options.Target != "" && options.Namespace == "" {
		return nil, fmt.Errorf("the Target %q is in no namespace; name its namespace", options.Target)
	}
	if err := options.Configurations.check(); err != nil {
		return nil, err
	}
	for _, name := range options.Only {
		if !slices.Contains(Names(), name) {
			return nil, fmt.Errorf("there is no check %q; the checks are %s", name, strings.Join(Names(), ", "))
		}
	}
	options.JobTimeout = cmp.Or(max(options.JobTimeout, 0), 30*time.Second)
	options.Quiet = cmp.Or(max(options.Quiet, 0), 3*time.Second)
	options.Parallel = cmp.Or(max(options.Parallel, 0), 4)
	return slices.DeleteFunc(slices.Clone(checks), func(c check) bool {
		return len(options.Only) > 0 && !slices.Contains(options.Only, c.name)
	}), nil
}

// prepare makes the namespace and the Context that items need, where they are missing. The function that it returns removes them.
func (b *bench) prepare(ctx context.Context) (drop func(), err error) {
	var made []client.Object
	drop = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), b.JobTimeout)
		defer cancel()
		for i := len(made) - 1; i >= 0; i-- {
			uid := made[i].GetUID()
			_ = b.client.Delete(ctx, made[i], client.Preconditions{UID: &uid}) // the owner of the cluster sees what stays
		}
	}
	if b.Namespace == "" {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "deployer-conformance-"}}
		if err := b.client.Create(ctx, namespace); err != nil {
			return drop, fmt.Errorf("cannot make a namespace for the checks: %w; name one that exists", err)
		}
		b.Namespace, made = namespace.Name, append(made, namespace)
	}
	if b.Target != "" {
		target := &v1alpha1.Target{}
		if err := b.client.Get(ctx, client.ObjectKey{Namespace: b.Namespace, Name: b.Target}, target); err != nil {
			return drop, fmt.Errorf("cannot read the Target of the items: %w", err)
		}
	}
	standard := &v1alpha1.Context{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: v1alpha1.DefaultContextName}}
	switch err := b.client.Create(ctx, standard); {
	case err == nil:
		made = append(made, standard)
	case !apierrors.IsAlreadyExists(err):
		return drop, fmt.Errorf("cannot make the Context %q of namespace %q: %w", standard.Name, b.Namespace, err)
	}
	return drop, nil
}

// each calls a function for 0 … count-1, as many at a time as the options say.
func (b *bench) each(count int, do func(int)) {
	turns := make(chan struct{}, b.Parallel)
	var all sync.WaitGroup
	for i := range count {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			do(i)
		})
	}
	all.Wait()
}

func (b *bench) judge(ctx context.Context, c check) Result {
	result := Result{Check: c.name, Verdict: OK, Contract: c.contract}
	err := b.missing(c)
	if err == nil {
		err = c.run(ctx, b)
	}
	var skipped skip
	switch {
	case errors.As(err, &skipped):
		result.Verdict, result.Seen = Skipped, err.Error()
	case err != nil:
		result.Verdict, result.Seen = Failed, err.Error()
	}
	return result
}

// missing returns why a check cannot run with the given configurations.
func (b *bench) missing(c check) error {
	for _, kind := range c.needs {
		if b.Configurations[kind] == nil {
			return skip(fmt.Sprintf("no configuration %q is given", kind))
		}
	}
	return nil
}
