// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// workplaces returns the namespaces that the Installation of a deployer is to name: those that it is served in, without those that it has lost lately. They
// wait for the end of their absence, unless the deployer is installed anew for another reason.
func (r *Reconciler) workplaces(w *work) ([]string, error) {
	served, installed := w.served(), watched(w.installation)
	if installed == nil || w.isAskedFor() {
		return served, nil
	}
	has := sets.New(installed...)
	absent := map[string]absence{}
	for _, name := range served {
		if since, isAbsent := r.absences.now(w.key, name, w.now); isAbsent && !has.Has(name) {
			absent[name] = since
		}
	}
	if len(absent) == 0 {
		return served, nil
	}
	rest := slices.DeleteFunc(slices.Clone(served), func(name string) bool {
		_, isAbsent := absent[name]
		return isAbsent
	})
	if len(rest) == 0 || !has.HasAll(rest...) { // it is told at least one, and a new one installs it anew
		return served, nil
	}
	if next, err := w.next(installed); err != nil || next != nil {
		return served, err
	}
	for _, name := range served {
		if since, isAbsent := absent[name]; isAbsent {
			w.awaitReturn(name, since)
		}
	}
	return rest, nil
}

// awaitReturn tells when a deployer comes back to a namespace.
func (w *work) awaitReturn(namespace string, since absence) {
	w.wakeIn(since.until.Sub(w.now))
	w.problems = append(w.problems, kit.Wait(operation, reasonNamespaceReturns,
		"namespace %s has refused deployer %s %d times and no longer does; it works there again at %s, or with the next change of it that takes no namespace away; annotate the Environment with %s to have it at once",
		namespace, w.key.Registration, since.times, since.until.UTC().Format(time.RFC3339), meta.ReconcileRequestAnnotation))
}

// noteLosses begins the absence of the namespaces that refuse a deployer and that its Installation named until now.
func (r *Reconciler) noteLosses(w *work, before []string) {
	had := sets.New(before...)
	for _, refused := range w.refusals {
		if had.Has(refused.namespace) {
			r.absences.begin(w.key, refused.namespace, w.now)
			had.Delete(refused.namespace) // each of its bindings may be refused
		}
	}
}

// isAskedFor reports whether somebody has asked for this reconciliation.
func (s *scope) isAskedFor() bool {
	requested, asks := meta.ReconcileAnnotationValue(s.env.Annotations)
	return asks && requested != s.persisted.LastHandledReconcileAt
}

// watched are the namespaces in which an installed deployer works; nil where it works in all, or is not installed yet.
func watched(installation *v1alpha1.Installation) []string {
	if installation.Annotations[v1alpha1.ReconcileIfChangedAnnotation] != "true" {
		return nil
	}
	var names []string
	if json.Unmarshal(installation.Spec.ImportDataMappings[importNamespaces].RawMessage, &names) != nil {
		return nil
	}
	return names
}
