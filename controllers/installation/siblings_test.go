// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// post is where events of Installations come in.
type post struct {
	finder watcher
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
	// seen are the objects that workers were told of at once.
	seen []string
}

func newPost(t *testing.T, objects ...client.Object) *post {
	t.Helper()
	p := &post{queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())}
	t.Cleanup(p.queue.ShutDown)
	reader := fixture.Cluster(t, registerIndexes, objects...)
	p.finder = watcher{
		Reader: reader, Related: &relations.Finder{Reader: reader, Live: reader},
		Seen: func(kind string, obj client.Object) { p.seen = append(p.seen, kind+"/"+obj.GetName()) },
	}
	return p
}

// woken returns the Installations that were woken.
func (p *post) woken() []string {
	var woken []string
	for p.queue.Len() > 0 {
		request, _ := p.queue.Get()
		p.queue.Done(request)
		woken = append(woken, request.Name)
	}
	return woken
}

// tied is an idle root that imports and exports data.
func tied(name, imported, exported string) *v1alpha1.Installation {
	inst := fixture.Working(name, name, "")
	inst.Generation = 1
	inst.Spec.Imports.Data = []v1alpha1.DataImport{{Name: "in", DataRef: imported}}
	inst.Spec.Exports.Data = []v1alpha1.DataExport{{Name: "out", DataRef: exported}}
	return inst
}

func withChange(inst *v1alpha1.Installation, change func(*v1alpha1.Installation)) *v1alpha1.Installation {
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
	producer, rival := withChange(tied("producer", "x", "in"), leaving), withChange(tied("rival", "x", "out"), lost)
	there := []client.Object{consumer, further, producer, rival, tied("stranger", "a", "b"), tied("staying", "y", "in")}
	update := func(change ...func(*v1alpha1.Installation)) func(*post) {
		return func(p *post) {
			changed := inst.DeepCopy()
			for _, c := range change {
				c(changed)
			}
			p.finder.siblingEvents().Update(t.Context(), event.UpdateEvent{ObjectOld: inst, ObjectNew: changed}, p.queue)
		}
	}
	created := func(isInitial bool) func(*post) {
		return func(p *post) {
			p.finder.siblingEvents().Create(t.Context(), event.CreateEvent{Object: inst, IsInInitialList: isInitial}, p.queue)
		}
	}
	deleted := func(p *post) { p.finder.siblingEvents().Delete(t.Context(), event.DeleteEvent{Object: inst}, p.queue) }
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
			assert.ElementsMatch(t, tc.woken, p.woken())
		})
	}
}

func TestEventsThatConcernNoSiblingWakeNobody(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Installation){
		"no imports and exports": func(inst *v1alpha1.Installation) { inst.Spec = v1alpha1.InstallationSpec{} },
		"at work":                busy,
	} {
		t.Run(name, func(t *testing.T) {
			p, inst := newPost(t), withChange(tied("a", "1", "2"), change)
			update(inst)(t, p.finder.siblingEvents(), p.queue)
			assert.Empty(t, p.woken())
		})
	}
}
