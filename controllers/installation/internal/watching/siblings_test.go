// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package watching

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/fixture"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
)

// post is where events of Installations come in, and a worker that answers them.
type post struct {
	t      *testing.T
	finder Finder
	events siblingEvents
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	worker reconcile.Reconciler
	// reads counts what is read, others has the requests for single Installations.
	reads  int
	others []string
	// seen are the objects that workers were told of at once.
	seen []string
}

func newPost(t *testing.T, there ...*v1alpha1.Installation) *post {
	t.Helper()
	objects := make([]client.Object, 0, len(there))
	for _, inst := range there {
		objects = append(objects, inst.DeepCopy())
	}
	return newPostOf(t, objects...)
}

func newPostOf(t *testing.T, objects ...client.Object) *post {
	t.Helper()
	p := &post{t: t, queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())}
	t.Cleanup(p.queue.ShutDown)
	reader := interceptor.NewClient(indexed(t, objects...), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, options ...client.GetOption) error {
			p.reads++
			return c.Get(ctx, key, obj, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			p.reads++
			return c.List(ctx, list, options...)
		},
	})
	p.finder = Finder{
		Reader: reader, Related: &relations.Finder{Reader: reader, Live: reader}, Siblings: &Siblings{},
		Seen: func(kind string, obj client.Object) { p.seen = append(p.seen, kind+"/"+obj.GetName()) },
	}
	p.events = siblingEvents{siblings: p.finder.Siblings}
	p.worker = p.finder.Waking(reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
		p.others = append(p.others, request.Name)
		return reconcile.Result{}, nil
	}))
	return p
}

// work lets the worker answer everything that is queued, and returns the Installations that were woken.
func (p *post) work() []string {
	p.t.Helper()
	for p.queue.Len() > 0 {
		request, _ := p.queue.Get()
		_, err := p.worker.Reconcile(p.t.Context(), request)
		require.NoError(p.t, err)
		p.queue.Done(request)
	}
	woken := p.others
	p.others = nil
	return woken
}

func (p *post) becomes(old, new *v1alpha1.Installation) {
	p.events.Update(p.t.Context(), event.UpdateEvent{ObjectOld: old, ObjectNew: new}, p.queue)
}

// tied is an idle root that imports and exports data.
func tied(name, imported, exported string) *v1alpha1.Installation {
	inst := fixture.Working(name, name, "")
	inst.Generation = 1
	inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "in", DataRef: imported}}
	inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "out", DataRef: exported}}
	return inst
}

func with(inst *v1alpha1.Installation, change func(*v1alpha1.Installation)) *v1alpha1.Installation {
	changed := inst.DeepCopy()
	change(changed)
	return changed
}

func busy(inst *v1alpha1.Installation) { inst.Status.JobID = "job" }

func otherSpec(inst *v1alpha1.Installation) {
	inst.Generation++
	inst.Spec = tied("", "other", "other").Spec
}

func lost(inst *v1alpha1.Installation) {
	inst.Status.Phase, inst.Status.LastError = v1alpha1.PhaseFailed, &v1alpha1.Error{Reason: jobs.ReasonExportOwnedByOther}
}

func leaving(inst *v1alpha1.Installation) { fixture.Leaving(inst) }

func TestWhomAnEventOfAnInstallationWakes(t *testing.T) {
	inst := tied("changed", "in", "out")
	consumer, further := tied("consumer", "out", "2"), tied("further", "2", "3")
	producer, rival := with(tied("producer", "x", "in"), leaving), with(tied("rival", "x", "out"), lost)
	there := []*v1alpha1.Installation{consumer, further, producer, rival, tied("stranger", "a", "b"), tied("staying", "y", "in")}
	update := func(change ...func(*v1alpha1.Installation)) func(*post) {
		return func(p *post) {
			changed := inst.DeepCopy()
			for _, c := range change {
				c(changed)
			}
			p.becomes(inst, changed)
		}
	}
	created := func(isInitial bool) func(*post) {
		return func(p *post) {
			p.events.Create(t.Context(), event.CreateEvent{Object: inst, IsInInitialList: isInitial}, p.queue)
		}
	}
	deleted := func(p *post) { p.events.Delete(t.Context(), event.DeleteEvent{Object: inst}, p.queue) }
	anew := func(inst *v1alpha1.Installation) { inst.UID = "new" }
	waiting := []string{"consumer", "further", "producer"}
	for name, tc := range map[string]struct {
		happens func(*post)
		woken   []string
	}{
		"it is idle":                {update(), waiting},
		"it is at work":             {update(busy), nil},
		"it is being deleted":       {update(busy, leaving), waiting},
		"it has another spec":       {update(busy, otherSpec), append(waiting, "rival")},
		"it is another one":         {update(busy, anew), append(waiting, "rival")},
		"it has another parent":     {update(busy, fixture.Nest), append(waiting, "rival")},
		"it is gone":                {deleted, append(waiting, "rival")},
		"it is new":                 {created(false), waiting},
		"it was there at the start": {created(true), nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPost(t, there...)
			tc.happens(p)
			assert.ElementsMatch(t, tc.woken, p.work())
		})
	}
}

func TestEventsOfInstallationsAreLeftToAWorkerOfTheirNamespace(t *testing.T) {
	const roots = 8
	var there []*v1alpha1.Installation
	for i := range roots {
		there = append(there, tied(fmt.Sprintf("root-%d", i), "same", "same"))
	}
	p := newPost(t, there...)
	for range 3 {
		for _, inst := range there {
			p.becomes(inst, with(inst, func(inst *v1alpha1.Installation) { inst.Annotations = map[string]string{"a": "b"} }))
		}
	}
	assert.Zero(t, p.reads, "events of all namespaces wait for each other")
	require.Equal(t, 1, p.queue.Len())
	request, _ := p.queue.Get()
	assert.Equal(t, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "n"}}, request)
	_, err := p.worker.Reconcile(t.Context(), request)
	require.NoError(t, err)
	assert.Equal(t, 2+roots, p.reads, "each key is listed once in each direction, and each root read once, for all events together")
	p.queue.Done(request)
	assert.Len(t, p.work(), roots)
}

func TestEventsThatConcernNoSiblingCostNothing(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Installation){
		"no imports and exports": func(inst *v1alpha1.Installation) { inst.Spec = v1alpha1.InstallationSpec{} },
		"at work":                busy,
	} {
		t.Run(name, func(t *testing.T) {
			p, inst := newPost(t), with(tied("a", "1", "2"), change)
			p.becomes(inst, inst)
			assert.Zero(t, p.queue.Len())
			assert.Empty(t, p.events.siblings.changes)
		})
	}
}

func TestNothingIsKeptOfEventsThatAreAnswered(t *testing.T) {
	p := newPost(t)
	p.becomes(tied("a", "1", "2"), with(tied("a", "1", "2"), otherSpec))
	require.Len(t, p.events.siblings.changes, 1)
	p.work()
	assert.Empty(t, p.events.siblings.changes)
}

func TestFormerSpecsFillNoMemory(t *testing.T) {
	p := newPost(t, tied("a", "1", "2"), tied("b", "3", "4"), tied("c", "5", "6"))
	long := strings.Repeat("x", maxFormer/4)
	for i := range 10 {
		inst := tied("a", "1", fmt.Sprintf("#%s%d", long, i))
		p.becomes(inst, with(inst, otherSpec))
	}
	kept := 0
	for _, ties := range p.events.siblings.changes["n"].former {
		for _, key := range ties.Exports {
			kept += len(key)
		}
	}
	assert.LessOrEqual(t, kept, maxFormer)
	assert.ElementsMatch(t, []string{"a", "b", "c"}, p.work(), "everybody is woken instead")
}
