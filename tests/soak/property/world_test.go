// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"maps"
	"slices"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// world is the model: what is in the cluster, and what the engine has to make of it.
type world struct {
	data map[string]string
	// roots are in an order in which data flows from earlier to later ones.
	roots []*root
}

// root is a root Installation with the outcome of its last job.
type root struct {
	*node
	// reacts says that the root runs whenever the content of an import changes.
	reacts bool
	// suspended roots run as soon as they are resumed.
	suspended bool
	phase     v1alpha1.Phase
	// ordered says that the last job failed because of a producer.
	ordered bool
	// export is empty until a job has succeeded.
	export string
	// consumed are the exports of other roots, imported all values, that the last job has used; nil before it has used any.
	consumed, imported map[string]string
	jobs               int
}

func (w *world) root(name string) *root {
	at := slices.IndexFunc(w.roots, func(r *root) bool { return r.name == name })
	if at < 0 {
		return nil
	}
	return w.roots[at]
}

// scope returns all values that roots can import.
func (w *world) scope() map[string]string {
	values := maps.Clone(w.data)
	for _, r := range w.roots {
		if r.export != "" {
			values[r.name] = r.export
		}
	}
	return values
}

// imports returns the values that a root would import now, nil when one is missing.
func (w *world) imports(r *root) map[string]string {
	scope, values := w.scope(), map[string]string{}
	for _, ref := range r.refs {
		if scope[ref] == "" {
			return nil
		}
		values[ref] = scope[ref]
	}
	return values
}

// producers returns the roots that a root imports from.
func (w *world) producers(r *root) []*root {
	var found []*root
	for _, ref := range r.refs {
		if producer := w.root(ref); producer != nil {
			found = append(found, producer)
		}
	}
	return found
}

// upstream returns the names of everything that flows to a root, its own included.
func (w *world) upstream(r *root) map[string]bool {
	names := map[string]bool{r.name: true}
	for _, ref := range r.refs {
		names[ref] = true
		if producer := w.root(ref); producer != nil {
			maps.Copy(names, w.upstream(producer))
		}
	}
	return names
}

// downstream returns the roots that something flows to from a root, itself included.
func (w *world) downstream(from *root) []*root {
	return slices.DeleteFunc(slices.Clone(w.roots), func(r *root) bool { return !w.upstream(r)[from.name] })
}

// used returns the exports of other roots that a root imports, and whether all of those roots have succeeded.
func (w *world) used(r *root) (map[string]string, bool) {
	values, succeeded := map[string]string{}, true
	for _, producer := range w.producers(r) {
		values[producer.name] = producer.export
		succeeded = succeeded && producer.phase == v1alpha1.PhaseSucceeded
	}
	return values, succeeded
}

// predict lets every root run that has to, and returns which did. Touched are the roots whose spec changed or that were asked to run.
func (w *world) predict(touched map[string]bool) map[string]bool {
	ran := map[string]bool{}
	for _, r := range w.roots {
		if r.suspended {
			continue
		}
		if touched[r.name] || w.importsChanged(r) || w.producersChanged(r) {
			w.run(r)
			ran[r.name] = true
		}
	}
	return ran
}

func (w *world) importsChanged(r *root) bool {
	now := w.imports(r)
	return r.reacts && len(r.imported) > 0 && now != nil && !maps.Equal(now, r.imported)
}

func (w *world) producersChanged(r *root) bool {
	values, succeeded := w.used(r)
	return len(values) > 0 && succeeded && (r.ordered || !maps.Equal(values, r.consumed))
}

func (w *world) run(r *root) {
	values, succeeded := w.used(r)
	if now := w.imports(r); now != nil && (succeeded || r.reacts && r.imported != nil) {
		r.imported = now
	}
	if r.ordered = !succeeded; r.ordered {
		r.phase = v1alpha1.PhaseFailed
		return
	}
	r.consumed = values
	if r.phase = r.node.phase(); r.phase == v1alpha1.PhaseSucceeded {
		r.export = r.value(w.scope())
	}
}

// healthy reports whether every root has succeeded.
func (w *world) healthy() bool {
	return !slices.ContainsFunc(w.roots, func(r *root) bool { return r.phase != v1alpha1.PhaseSucceeded })
}

// size counts the Installations.
func (w *world) size() int {
	count := 0
	for _, r := range w.roots {
		count += len(r.all())
	}
	return count
}
