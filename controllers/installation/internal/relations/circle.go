// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package relations

import (
	"context"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// importsOwnExport reports whether an Installation imports what it exports itself: a circle of one.
func importsOwnExport(inst *v1alpha1.Installation) bool {
	exported := ExportsOf(inst)
	return slices.ContainsFunc(ImportsOf(inst), func(key string) bool { return slices.Contains(exported, key) })
}

// AwaitedSuccessors returns the successors that have to be gone before an Installation: all but those that are being deleted in a circle with it.
func (f *Finder) AwaitedSuccessors(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	successors, err := f.consumers(ctx, inst)
	if err != nil || !slices.ContainsFunc(successors, InDeletion) {
		return successors, err
	}
	after := map[string][]string{inst.Name: namesOf(successors)}
	for queue := slices.Clone(successors); len(queue) > 0; queue = queue[1:] {
		current := queue[0]
		if _, seen := after[current.Name]; seen || !InDeletion(current) {
			continue
		}
		further, err := f.consumers(ctx, current)
		if err != nil {
			return nil, err
		}
		after[current.Name] = namesOf(further)
		queue = append(queue, further...)
	}
	awaited := outsideOfCircles(inst.Name, after)
	return slices.DeleteFunc(successors, func(successor *v1alpha1.Installation) bool {
		_, isAwaited := slices.BinarySearch(awaited, successor.Name) // successors are in order
		return !isAwaited
	}), nil
}

// outsideOfCircles returns the successors of an Installation that do not lead back to it, given the successors of all that are being deleted. In
// a circle each would wait for the others, so that no order exists; whoever is not being deleted is waited for.
func outsideOfCircles(name string, after map[string][]string) []string {
	var outside []string
	circle := leadingTo(name, after)
	for _, successor := range after[name] {
		if !circle[successor] {
			outside = append(outside, successor)
		}
	}
	return outside
}

// leadingTo returns those from which a way along the successors leads to one.
func leadingTo(name string, after map[string][]string) map[string]bool {
	before := map[string][]string{}
	for from, successors := range after {
		for _, successor := range successors {
			before[successor] = append(before[successor], from)
		}
	}
	found := map[string]bool{}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		for _, from := range before[queue[0]] {
			if !found[from] {
				found[from] = true
				queue = append(queue, from)
			}
		}
	}
	return found
}

// Cycle follows the producers and returns the names along a way that leads back, nil when there is none.
func (f *Finder) Cycle(ctx context.Context, inst *v1alpha1.Installation) ([]string, error) {
	if importsOwnExport(inst) {
		return []string{inst.Name, inst.Name}, nil
	}
	walk := &cycleWalk{finder: f, start: inst, done: map[string]bool{}}
	found, err := walk.from(ctx, inst)
	if err != nil || !found {
		return nil, err
	}
	return append(walk.path, inst.Name), nil
}

type cycleWalk struct {
	finder *Finder
	start  *v1alpha1.Installation
	path   []string
	done   map[string]bool
}

func (w *cycleWalk) from(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	w.done[inst.Name] = true
	w.path = append(w.path, inst.Name)
	producers, err := w.finder.Producers(ctx, inst)
	if err != nil {
		return false, err
	}
	for _, producer := range producers {
		if producer.UID == w.start.UID {
			return true, nil
		}
		if w.done[producer.Name] {
			continue
		}
		if found, err := w.from(ctx, producer); err != nil || found {
			return found, err
		}
	}
	w.path = slices.Delete(w.path, len(w.path)-1, len(w.path))
	return false, nil
}
