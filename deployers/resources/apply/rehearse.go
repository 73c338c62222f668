// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
)

// rehearse tries objects without changing anything, as far as that is possible before the others are there. With an error nothing of them may
// be applied.
func (w *writer) rehearse(ctx context.Context, tasks []*task) []error {
	problems := make([]error, len(tasks))
	objects.Each(len(tasks), func(i int) { problems[i] = w.rehearseOne(ctx, tasks[i]) })
	return slices.DeleteFunc(problems, func(err error) bool { return err == nil })
}

func (w *writer) rehearseOne(ctx context.Context, t *task) error {
	trial := *t
	trial.rehearsing = true
	r := w.applyOne(ctx, trial)
	if r.err != nil && !mayComeWithOthers(r.err) {
		return r.err
	}
	t.rehearsed = &r
	return nil
}

// mayComeWithOthers reports whether an error may be about something that other objects of the same job bring or mend: accounts, roles, classes,
// the server of an admission webhook.
func mayComeWithOthers(err error) bool {
	return errors.Is(err, objects.ErrLostRace) || apierrors.IsNotFound(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "webhook") ||
		apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "\" cannot ")
}

// rehearsable returns the objects of a plan that can be tried before anything is applied: those whose kind and namespace do not come with it.
func rehearsable(plan *[groups][]task) []*task {
	kinds, namespaces := map[schema.GroupKind]bool{}, map[string]bool{}
	for _, t := range plan[definitions] {
		kinds[definedGroupKind(t.Object)] = true
	}
	for _, t := range plan[clusterScoped] {
		if t.Object.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			namespaces[t.ref.Name] = true
		}
	}
	var tasks []*task
	for group := range plan {
		for i := range plan[group] {
			t := &plan[group][i]
			if !kinds[t.Object.GroupVersionKind().GroupKind()] && !namespaces[t.ref.Namespace] {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}

// unrehearsed returns the objects of a group that were not tried yet.
func unrehearsed(group []task) []*task {
	var tasks []*task
	for i := range group {
		if group[i].rehearsed == nil {
			tasks = append(tasks, &group[i])
		}
	}
	return tasks
}

// refuse notes that objects that nothing is recorded of were not created.
func (a *Applied) refuse(tasks []task) {
	for _, t := range tasks {
		if !t.known {
			a.Refused = append(a.Refused, managedresource.ManagedResourceStatus{Policy: t.Policy, Resource: t.ref})
		}
	}
}
