// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// importsOwnExport reports whether an Installation imports what it exports itself: a circle of one.
func importsOwnExport(inst *v1alpha1.Installation) bool {
	exported := exportsOf(inst)
	return slices.ContainsFunc(importsOf(inst), func(key string) bool { return slices.Contains(exported, key) })
}

// awaitedSuccessors returns the successors that have to be gone before an Installation: all but those that are being deleted in a circle with it.
func (r *Reconciler) awaitedSuccessors(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	successors, err := r.successors(ctx, inst)
	if err != nil || !slices.ContainsFunc(successors, inDeletion) {
		return successors, err
	}
	after := map[string][]string{inst.Name: namesOf(successors)}
	for queue := slices.Clone(successors); len(queue) > 0; queue = queue[1:] {
		current := queue[0]
		if _, seen := after[current.Name]; seen || !inDeletion(current) {
			continue
		}
		further, err := r.successors(ctx, current)
		if err != nil {
			return nil, err
		}
		after[current.Name] = namesOf(further)
		queue = append(queue, further...)
	}
	awaited := outsideOfCircles(inst.Name, after)
	return slices.DeleteFunc(successors, func(successor *v1alpha1.Installation) bool {
		return !slices.Contains(awaited, successor.Name)
	}), nil
}

// outsideOfCircles returns the successors of an Installation that do not lead back to it, given the successors of all that are being deleted. In
// a circle each would wait for the others, so that no order exists; whoever is not being deleted is waited for.
func outsideOfCircles(name string, after map[string][]string) []string {
	var outside []string
	for _, successor := range after[name] {
		if !leadsTo(successor, name, after, map[string]bool{}) {
			outside = append(outside, successor)
		}
	}
	return outside
}

// leadsTo reports whether a way along the successors leads from one to another. It marks what it has seen.
func leadsTo(from, to string, after map[string][]string, seen map[string]bool) bool {
	seen[from] = true
	return slices.ContainsFunc(after[from], func(next string) bool {
		return next == to || !seen[next] && leadsTo(next, to, after, seen)
	})
}

func namesOf(installations []*v1alpha1.Installation) []string {
	names := make([]string, 0, len(installations))
	for _, inst := range installations {
		names = append(names, inst.Name)
	}
	return names
}
