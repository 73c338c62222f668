// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
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
	w.problems = append(w.problems, protocol.Wait(operation, reasonNamespaceReturns,
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

// shortestAbsence and longestAbsence bound for how long a namespace stays out that a deployer has lost: whoever owns it could otherwise have the deployer
// installed anew all the time, by refusing and allowing its bindings in turn. After twice the longest in peace it is the shortest again.
const (
	shortestAbsence = time.Minute
	longestAbsence  = time.Hour
)

// absence is what is known of a namespace that a deployer has lost.
type absence struct {
	// times counts the losses.
	times int
	// until is when the deployer may come back.
	until time.Time
}

// loss is that of a namespace by a deployer.
type loss struct {
	pair.Key
	namespace string
}

// absences are those of the namespaces of each deployer. Only this process knows them: after another start of it each namespace may come back once without
// delay. It is safe for concurrent use.
type absences struct {
	mu sync.Mutex
	of map[loss]absence
}

// begin notes that a deployer has lost a namespace.
func (a *absences) begin(key pair.Key, namespace string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[loss]absence{}
	}
	last := a.of[loss{key, namespace}]
	if now.Sub(last.until) > 2*longestAbsence {
		last.times = 0
	}
	a.of[loss{key, namespace}] = absence{times: last.times + 1, until: now.Add(queue.Doubled(shortestAbsence, longestAbsence, last.times))}
}

// now returns what is known of a namespace in which a deployer may not come back yet.
func (a *absences) now(key pair.Key, namespace string, now time.Time) (absence, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.of[loss{key, namespace}]
	return last, now.Before(last.until)
}

// keep forgets the namespaces that a deployer no longer is to have.
func (a *absences) keep(key pair.Key, namespaces []string) {
	a.drop(func(l loss) bool { return l.Key == key && !slices.Contains(namespaces, l.namespace) })
}

// forget forgets an Environment.
func (a *absences) forget(environment string) {
	a.drop(func(l loss) bool { return l.Environment == environment })
}

func (a *absences) drop(those func(loss) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.of, func(l loss, _ absence) bool { return those(l) })
}
