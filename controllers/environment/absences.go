// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package environment

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/flux-landscaper/flux-landscaper/controllers/pair"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

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

// absences are those of the namespaces of each deployer. Only this process knows them: after another start of it each namespace may come back once without
// delay. It is safe for concurrent use.
type absences struct {
	mu sync.Mutex
	of map[pair.Key]map[string]absence
}

// begin notes that a deployer has lost a namespace.
func (a *absences) begin(key pair.Key, namespace string, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.of == nil {
		a.of = map[pair.Key]map[string]absence{}
	}
	if a.of[key] == nil {
		a.of[key] = map[string]absence{}
	}
	last := a.of[key][namespace]
	if now.Sub(last.until) > 2*longestAbsence {
		last.times = 0
	}
	a.of[key][namespace] = absence{times: last.times + 1, until: now.Add(kit.Doubled(shortestAbsence, longestAbsence, last.times))}
}

// now returns what is known of a namespace in which a deployer may not come back yet.
func (a *absences) now(key pair.Key, namespace string, now time.Time) (absence, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	last := a.of[key][namespace]
	return last, now.Before(last.until)
}

// keep forgets the namespaces that a deployer no longer is to have.
func (a *absences) keep(key pair.Key, namespaces []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.of[key]) == 0 {
		return
	}
	wanted := sets.New(namespaces...)
	for namespace := range a.of[key] {
		if !wanted.Has(namespace) {
			delete(a.of[key], namespace)
		}
	}
}

// forget forgets an Environment.
func (a *absences) forget(environment string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.of {
		if key.Environment == environment {
			delete(a.of, key)
		}
	}
}
