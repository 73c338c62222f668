// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// maxNarrowWatches is how many single objects of one kind and namespace are watched one by one; for more of them the whole
	// namespace is watched once.
	maxNarrowWatches = 8
	// lingerTime keeps a watch open that nobody needs any more, because the next job often needs it again.
	lingerTime = 10 * time.Second
)

// watchKey identifies what a watch shows. Clusters are the same when they share their connection.
type watchKey struct {
	cluster   *rest.Config
	kind      schema.GroupVersionKind
	namespace string
	// name is empty for all objects of the kind in the namespace.
	name string
}

func keyOf(watched Watched) watchKey {
	return watchKey{
		cluster:   watched.Cluster.Config,
		kind:      schema.FromAPIVersionAndKind(watched.APIVersion, watched.Kind),
		namespace: watched.Namespace, name: watched.Name,
	}
}

func (k watchKey) wide() watchKey { return k.of("") }

// of returns the key of the object of a name beside.
func (k watchKey) of(name string) watchKey {
	k.name = name
	return k
}

// watches shares watches on targets between the jobs that wait for something there. It is safe for concurrent use.
type watches struct {
	// wake is called, with no lock held, when something a job waits for has or may have changed.
	wake func(*job, ...watchKey)

	mu   sync.Mutex
	open map[watchKey]*sharedWatch
	jobs map[*job]map[watchKey]*sharedWatch
	done bool
}

// follow makes the watches of a job the given ones. What was seen in a call that started at since cannot have changed unnoticed:
// where a watch was not yet open then, the job is woken as soon as it is.
func (w *watches) follow(j *job, watched []Watched, since time.Time) {
	w.mu.Lock()
	wanted := map[watchKey]*sharedWatch{}
	var missed []watchKey
	for _, one := range watched {
		key := keyOf(one)
		shared, known := w.jobs[j][key]
		if !known {
			shared = w.attach(one.Cluster, key)
			if shared.attach(j, key.name, since) {
				missed = append(missed, key)
			}
		}
		wanted[key] = shared
	}
	for key, shared := range w.jobs[j] {
		if _, still := wanted[key]; !still {
			w.detach(j, key, shared)
		}
	}
	w.remember(j, wanted)
	w.mu.Unlock()
	if len(missed) > 0 {
		w.wake(j, missed...)
	}
}

func (w *watches) remember(j *job, wanted map[watchKey]*sharedWatch) {
	if w.jobs == nil {
		w.jobs = map[*job]map[watchKey]*sharedWatch{}
	}
	w.jobs[j] = wanted
	if len(wanted) == 0 {
		delete(w.jobs, j)
	}
}

// follows reports whether no change of what a job waits for goes unnoticed.
func (w *watches) follows(j *job, key watchKey) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, known := w.jobs[j][key]
	return known
}

// release ends the watches of a job.
func (w *watches) release(j *job) { w.follow(j, nil, time.Time{}) }

// attach returns an open watch that shows key: the one for the whole namespace if there is one or if too many single ones are open.
func (w *watches) attach(cluster *target.Cluster, key watchKey) *sharedWatch {
	if shared, ok := w.open[key.wide()]; ok {
		return shared
	}
	if shared, ok := w.open[key]; ok {
		return shared
	}
	if key.name != "" && w.narrowBeside(key) >= maxNarrowWatches {
		key = key.wide()
	}
	shared := newSharedWatch(cluster, key, w.wake)
	if w.open == nil {
		w.open = map[watchKey]*sharedWatch{}
	}
	w.open[key] = shared
	if w.done {
		shared.cancel()
	}
	return shared
}

func (w *watches) narrowBeside(key watchKey) int {
	count := 0
	for other := range w.open {
		if other.name != "" && other.wide() == key.wide() {
			count++
		}
	}
	return count
}

func (w *watches) detach(j *job, key watchKey, shared *sharedWatch) {
	if shared.detach(j, key.name) {
		time.AfterFunc(lingerTime, func() { w.closeUnused(shared) })
	}
}

func (w *watches) closeUnused(shared *sharedWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if shared.isUsed() || w.open[shared.key] != shared {
		return
	}
	delete(w.open, shared.key)
	shared.cancel()
}

// run ends all watches with ctx.
func (w *watches) run(ctx context.Context) error {
	<-ctx.Done()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	for _, shared := range w.open {
		shared.cancel()
	}
	return nil
}
