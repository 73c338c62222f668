// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package property

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/landscape"
)

// state is what an object was from one moment on. Moments are resource versions, which count the writes of all kinds.
type state struct {
	at     int64
	object client.Object
	gone   bool
}

// worker is an object that runs jobs.
type worker interface {
	client.Object
	Job() *v1alpha1.JobStatus
}

// record holds every state of every object of a namespace.
type record struct {
	mu      sync.Mutex
	objects map[types.UID][]state
	names   map[string]types.UID // newest by kind and name
	changed chan struct{}
	broken  error
}

// newRecord begins to record a namespace that is still empty. A watch that a busy API server ends goes on where it was.
func newRecord(ctx context.Context, s *landscape.Scene) *record {
	s.T.Helper()
	r := &record{objects: map[types.UID][]state{}, names: map[string]types.UID{}, changed: make(chan struct{})}
	for _, kind := range []client.ObjectList{
		&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}, &v1alpha1.DataObjectList{},
	} {
		require.NoError(s.T, s.Client().List(ctx, kind, client.InNamespace(s.Namespace)))
		watcher, err := watchtools.NewRetryWatcherWithContext(ctx, kind.GetResourceVersion(), source{s, kind})
		require.NoError(s.T, err)
		s.T.Cleanup(watcher.Stop)
		go r.follow(ctx, watcher)
	}
	return r
}

// source begins watches of a kind.
type source struct {
	scene *landscape.Scene
	kind  client.ObjectList
}

// WatchWithContext watches the namespace of the scene.
func (s source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	list := s.kind.DeepCopyObject().(client.ObjectList)
	return s.scene.Client().Watch(ctx, list, &client.ListOptions{Namespace: s.scene.Namespace, Raw: &options})
}

func (r *record) follow(ctx context.Context, watcher watch.Interface) {
	for event := range watcher.ResultChan() {
		if object, ok := event.Object.(client.Object); ok {
			r.see(object, event.Type == watch.Deleted)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() == nil {
		r.broken = fmt.Errorf("a watch of the test ended")
	}
	r.announce()
}

func (r *record) see(object client.Object, gone bool) {
	at, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.broken = err
	}
	uid := object.GetUID()
	r.objects[uid] = append(r.objects[uid], state{at: at, object: object, gone: gone})
	r.names[nameOf(object)] = uid
	r.announce()
}

func (r *record) announce() {
	close(r.changed)
	r.changed = make(chan struct{})
}

func nameOf(object client.Object) string { return kindOf(object) + "/" + object.GetName() }

func kindOf(object client.Object) string {
	_, kind, _ := strings.Cut(fmt.Sprintf("%T", object), ".")
	return kind
}

// await waits until ready, which is called while nothing is recorded, says so.
func (r *record) await(ctx context.Context, ready func() bool) error {
	for {
		r.mu.Lock()
		done, changed, err := ready(), r.changed, r.broken
		r.mu.Unlock()
		if done || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// newest returns the last state of the newest object of a kind and name.
func (r *record) newest(kind, name string) (state, bool) {
	states := r.objects[r.names[kind+"/"+name]]
	if len(states) == 0 || states[len(states)-1].gone {
		return state{}, false
	}
	return states[len(states)-1], true
}

// installation returns the newest state of a living Installation, nil when there is none.
func (r *record) installation(name string) *v1alpha1.Installation {
	last, _ := r.newest("Installation", name)
	inst, _ := last.object.(*v1alpha1.Installation)
	return inst
}

// jobs returns the jobs of a living Installation so far.
func (r *record) jobs(name string) []string {
	if r.installation(name) == nil {
		return nil
	}
	return jobsOf(r.objects[r.names["Installation/"+name]])
}

// jobsOf returns the jobs of an object, in order.
func jobsOf(states []state) []string {
	var jobs []string
	for _, s := range states {
		id := s.object.(worker).Job().JobID
		if id != "" && (len(jobs) == 0 || jobs[len(jobs)-1] != id) {
			jobs = append(jobs, id)
		}
	}
	return jobs
}

// begun counts the objects of a root that have its newest job.
func (r *record) begun(name string) int {
	root, count := r.installation(name), 0
	for _, states := range r.objects {
		work, works := states[len(states)-1].object.(worker)
		if works && root != nil && work.Job().JobID == root.Status.JobID && strings.HasPrefix(work.GetName(), name+"-") {
			count++
		}
	}
	return count
}

// exported returns the value of a DataObject, empty when there is none.
func (r *record) exported(name string) string {
	last, ok := r.newest("DataObject", name)
	if !ok {
		return ""
	}
	return strings.Trim(string(last.object.(*v1alpha1.DataObject).Data.RawMessage), `"`)
}

// now returns the moment of the last write that was seen.
func (r *record) now() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	var last int64
	for _, states := range r.objects {
		last = max(last, states[len(states)-1].at)
	}
	return last
}

// history describes what an Installation, and what belongs to it by its name, went through.
func (r *record) history(t testing.TB, name string) {
	t.Helper()
	r.historyOf(t, func(work worker) bool { return work.GetName() == name || strings.HasPrefix(work.GetName(), name+"-") })
}

// historyOf describes what some objects went through.
func (r *record) historyOf(t testing.TB, concerns func(worker) bool) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	type line struct {
		at   int64
		text string
	}
	var lines []line
	for _, states := range r.objects {
		for _, s := range states {
			if work, ok := s.object.(worker); ok && concerns(work) {
				lines = append(lines, line{s.at, describe(work, s.gone)})
			}
		}
	}
	slices.SortFunc(lines, func(a, b line) int { return int(a.at - b.at) })
	for _, one := range lines {
		t.Logf("%d %s", one.at, one.text)
	}
}

func describe(work worker, gone bool) string {
	job, message := work.Job(), ""
	if job.LastError != nil {
		message = job.LastError.Message
	}
	return fmt.Sprintf("%s generation %d phase %q job %.8s/%.8s for %.8s deleting %v gone %v operation %q error %.200q", nameOf(work),
		work.GetGeneration(), job.Phase, job.JobID, job.JobIDFinished, work.GetAnnotations()[v1alpha1.JobAnnotation],
		work.GetDeletionTimestamp() != nil, gone, work.GetAnnotations()[v1alpha1.OperationAnnotation], message)
}
