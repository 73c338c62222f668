// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

func TestContinuousReconcileIn(t *testing.T) {
	for config, want := range map[string]string{
		`{"continuousReconcile":{"every":"1h"}}`:                     "",
		`{"continuousReconcile":{"cron":"@daily"}}`:                  "",
		`{"continuousReconcile":null}`:                               "",
		`{"other":1}`:                                                "",
		`{"continuousReconcile":{}}`:                                 "continuousReconcile: set exactly one of cron and every",
		`{"continuousReconcile":{"every":"1h","cron":"@daily"}}`:     "continuousReconcile: set exactly one of cron and every",
		`{"continuousReconcile":{"every":"-1h"}}`:                    "continuousReconcile.every: must be greater than zero",
		`{"continuousReconcile":{"every":"none"}}`:                   "continuousReconcile.every: must be greater than zero",
		`{"continuousReconcile":{"every":"soon"}}`:                   `continuousReconcile.every: "soon" is not a duration`,
		`{"continuousReconcile":{"every":5}}`:                        "continuousReconcile.every: is a JSON number",
		`{"continuousReconcile":"1h"}`:                               "continuousReconcile: is a JSON string",
		`{"continuousReconcile":{"cron":"whenever"}}`:                "continuousReconcile.cron: not a cron expression of five fields",
		`{"continuousReconcile":{"cron":"0 0 30 2 *"}}`:              "continuousReconcile.cron: names no instant",
		`{"a":{"continuousReconcile":5},"continuousReconcile":null}`: "",
	} {
		t.Run(config, func(t *testing.T) {
			_, err := ContinuousReconcileIn(&runtime.RawExtension{Raw: []byte(config)})
			if want == "" {
				assert.NoError(t, err)
				return
			}
			assert.ErrorContains(t, err, want)
		})
	}
	none, err := ContinuousReconcileIn(nil)
	assert.NoError(t, err)
	assert.Nil(t, none)
}

// FuzzContinuousReconcileIn feeds arbitrary configurations: each is refused, or names instants that never come at once.
func FuzzContinuousReconcileIn(f *testing.F) {
	f.Add([]byte(`{"continuousReconcile":{"every":"1h"}}`))
	f.Add([]byte(`{"continuousReconcile":{"cron":"CRON_TZ=UTC"}}`))
	f.Add([]byte(`{"continuousReconcile":{"cron":"@every 1s"}}`))
	f.Fuzz(func(t *testing.T, config []byte) {
		spec, err := ContinuousReconcileIn(&runtime.RawExtension{Raw: config})
		if err != nil || spec == nil {
			return
		}
		item := &v1alpha1.DeployItem{}
		began := time.Unix(1_800_000_000, 0)
		item.Status.LastReconcileTime = &metav1.Time{Time: began}
		if due, found := (&clock{jitter: 99}).due(item, spec); found {
			require.True(t, due.After(began))
		}
	})
}

// repeating is a scripted deployer whose items may ask for jobs by the clock.
type repeating struct{ *scripted }

func (repeating) ContinuousReconcile(item *v1alpha1.DeployItem) (*managedresource.ContinuousReconcileSpec, error) {
	return ContinuousReconcileIn(item.Spec.Configuration)
}

// brisk makes the clock go on soon after a job.
var brisk = Options{MinContinuousInterval: 50 * time.Millisecond}

func newRepeatingStage(t *testing.T, deployer *scripted) *stage {
	t.Helper()
	return newStageOf(t, deployer, repeating{deployer}, brisk)
}

func continuous(spec string) func(*v1alpha1.DeployItem) {
	return func(item *v1alpha1.DeployItem) {
		item.Spec.Configuration = &runtime.RawExtension{Raw: []byte(`{"continuousReconcile":` + spec + `}`)}
	}
}

// awaitRepetition waits for the end of a job that the clock has started after the last one that the item shows.
func (s *stage) awaitRepetition(item *v1alpha1.DeployItem) {
	s.t.Helper()
	last := item.Status.JobIDFinished
	require.NoError(s.t, s.p.Await(s.context(), item, func() bool { return item.Status.JobIDFinished != last && item.Job().IsIdle() }))
	require.True(s.t, strings.HasPrefix(item.Status.JobID, v1alpha1.ContinuousJobPrefix), item.Status.JobID)
}

func TestClockStartsJobs(t *testing.T) {
	for _, spec := range []string{`{"every":"1s"}`, `{"cron":"@every 1s"}`} {
		t.Run(spec, func(t *testing.T) {
			s := newRepeatingStage(t, &scripted{})
			item := s.create("item", continuous(spec))
			s.trigger(item)
			s.finished(item)
			since, began := time.Now(), item.Status.LastReconcileTime.Time
			s.awaitRepetition(item)
			assert.False(t, item.Status.LastReconcileTime.Time.Before(began.Add(time.Second)), "never early")
			assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
			assert.Equal(t, []string{"update deployitems/status", "update deployitems/status"}, s.requests(since)[:2], "two writes a job")
			s.awaitRepetition(item)
		})
	}
}

// TestForWhomTheClockStrikes looks at several items while it strikes twice for one.
func TestForWhomTheClockStrikes(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]int{}
	s := newRepeatingStage(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		calls[item.DeployItem.Name]++
		return Outcome{Done: true}, nil
	}})
	every := continuous(`{"every":"1s"}`)
	never := s.create("never", every)
	off := s.create("off", every, func(item *v1alpha1.DeployItem) {
		item.Annotations = map[string]string{v1alpha1.ContinuousReconcileActiveAnnotation: "false"}
	})
	changed := s.create("changed", every)
	unchanged := s.create("unchanged", every, func(item *v1alpha1.DeployItem) { item.Spec.UpdateOnChangeOnly = true })
	for _, item := range []*v1alpha1.DeployItem{off, changed, unchanged} {
		s.trigger(item)
		s.finished(item)
		if item == changed {
			s.patch(changed, continuous(`{"every":"1001ms"}`))
		}
	}
	version := off.ResourceVersion
	s.awaitRepetition(unchanged)
	s.awaitRepetition(unchanged)

	for _, item := range []*v1alpha1.DeployItem{never, off, changed} {
		require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	}
	assert.Empty(t, never.Status.JobID, "it has had no job yet")
	require.Equal(t, version, off.ResourceVersion, "the annotation switches it off")
	assert.NotEqual(t, changed.Generation, changed.Status.ObservedGeneration, "its place in the order of the Execution counts")
	mu.Lock()
	assert.Greater(t, calls["unchanged"], 1, "the clock counts for updateOnChangeOnly, too")
	mu.Unlock()
	off.Annotations = nil
	require.NoError(t, s.client().Update(t.Context(), off))
	s.trigger(changed)
	s.finished(changed)
	s.awaitRepetition(off)
	s.awaitRepetition(changed)
}

func TestClockTriesAFailedItemAgain(t *testing.T) {
	var mu sync.Mutex
	broken := true
	s := newRepeatingStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		if broken {
			return Outcome{}, protocol.Stall("Work", "Broken", "it is broken")
		}
		return Outcome{Done: true}, nil
	}})
	item := s.create("item", continuous(`{"every":"1s"}`))
	s.trigger(item)
	s.finished(item)
	require.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	s.awaitRepetition(item)
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	mu.Lock()
	broken = false
	mu.Unlock()
	require.NoError(t, s.p.Await(s.context(), item, func() bool { return item.Status.Phase == v1alpha1.PhaseSucceeded }))
	assert.Nil(t, item.Status.LastError)
}

func TestClockLeavesAJobInProgressAlone(t *testing.T) {
	release := make(chan struct{})
	s := newRepeatingStage(t, &scripted{ensure: func(ctx context.Context, _ *Item) (Outcome, error) {
		select {
		case <-release:
			return Outcome{Done: true}, nil
		case <-ctx.Done():
			return Outcome{}, ctx.Err()
		}
	}})
	item := s.create("item", continuous(`{"every":"100ms"}`))
	s.trigger(item)
	job := item.Status.JobID
	other := s.create("other", timeout(3*time.Second))
	s.trigger(other)
	s.finished(other)
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	assert.Equal(t, job, item.Status.JobID)
	ensured, _ := s.deployer.calls()
	assert.Equal(t, 2, ensured, "one call for each item")
	close(release)
	s.finished(item)
	s.awaitRepetition(item)
}

func TestClockSurvivesARestart(t *testing.T) {
	s := newRepeatingStage(t, &scripted{})
	item := s.create("item", continuous(`{"every":"3s"}`))
	s.trigger(item)
	s.finished(item)
	began := item.Status.LastReconcileTime.Time
	s.stop()
	s.start(brisk)
	s.awaitRepetition(item)
	assert.False(t, item.Status.LastReconcileTime.Time.Before(began.Add(3*time.Second)), "a restart starts no job")
}

// TestWhatWasDueWhileNoProcessRanIsDoneAtOnce has a clock that would strike an hour from now if it began anew.
func TestWhatWasDueWhileNoProcessRanIsDoneAtOnce(t *testing.T) {
	s := newRepeatingStage(t, &scripted{})
	item := s.create("item", continuous(`{"every":"1h"}`))
	s.trigger(item)
	s.finished(item)
	s.stop()
	s.change(item, func() { item.Status.LastReconcileTime = &metav1.Time{Time: time.Now().Add(-2 * time.Hour)} })
	s.start(brisk)
	s.awaitRepetition(item)
}

func TestBadFieldFailsTheJob(t *testing.T) {
	s := newRepeatingStage(t, &scripted{})
	item := s.create("item", continuous(`{"every":"0s"}`))
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	assert.Equal(t, "spec.config: continuousReconcile.every: must be greater than zero", item.Status.LastError.Message)
	version := item.ResourceVersion
	other := s.create("other", continuous(`{"every":"1s"}`))
	s.trigger(other)
	s.finished(other)
	s.awaitRepetition(other)
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	assert.Equal(t, version, item.ResourceVersion, "it stands still")
	require.NoError(t, s.client().Delete(t.Context(), item))
	s.trigger(item)
	require.NoError(t, s.p.AwaitGone(s.context(), item), "a deletion needs no clock")
}

func TestJobOfTheClockSurvivesARestart(t *testing.T) {
	release := make(chan struct{})
	s := newRepeatingStage(t, &scripted{ensure: func(ctx context.Context, item *Item) (Outcome, error) {
		if !strings.HasPrefix(item.DeployItem.Status.JobID, v1alpha1.ContinuousJobPrefix) {
			return Outcome{Done: true}, nil
		}
		select {
		case <-release:
			return Outcome{Done: true}, nil
		case <-ctx.Done():
			return Outcome{}, ctx.Err()
		}
	}})
	item := s.create("item", continuous(`{"every":"1s"}`))
	s.trigger(item)
	s.finished(item)
	s.underWay(item, func() bool { return !item.Job().IsIdle() })
	job := item.Status.JobID
	s.stop()
	close(release)
	s.start(Options{MinContinuousInterval: time.Hour})
	s.finished(item)
	assert.Equal(t, job, item.Status.JobIDFinished, "the same job goes on")
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
}

func TestNobodyWaitsForTheClockOfOthers(t *testing.T) {
	const busy = 20
	var mu sync.Mutex
	var called []string
	var holding atomic.Bool
	held, release := make(chan struct{}), make(chan struct{})
	deployer := &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		mu.Lock()
		called = append(called, item.DeployItem.Name)
		mu.Unlock()
		if holding.CompareAndSwap(true, false) {
			close(held)
			<-release
		}
		<-time.After(100 * time.Millisecond) // the work takes longer than the interval of all items together
		return Outcome{Done: true}, nil
	}}
	s := newStageOf(t, deployer, repeating{deployer}, Options{MinContinuousInterval: brisk.MinContinuousInterval, Concurrency: 1})
	for i := range busy {
		s.trigger(s.create(fmt.Sprintf("busy-%d", i), continuous(`{"every":"1s"}`)))
	}
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		return len(called)
	}
	require.Eventually(t, func() bool { return count() > 2*busy }, pace.Within(patience), time.Millisecond)
	urgent := s.create("urgent")
	holding.Store(true)
	<-held
	before := count()
	s.trigger(urgent)
	known := &v1alpha1.DeployItem{}
	require.Eventually(t, func() bool {
		return s.seen.Get(t.Context(), keyOfItem(urgent), known) == nil && known.Status.JobID == urgent.Status.JobID
	}, patience, time.Millisecond)
	close(release)
	s.finished(urgent)
	mu.Lock()
	defer mu.Unlock()
	assert.Less(t, slices.Index(called, "urgent")-before, busy/3, "the job of somebody else waits for the clock of %d items", busy)
}

// owned puts an item below an Execution and that below an Installation.
func (s *stage) owned() (*v1alpha1.Installation, *v1alpha1.Execution, func(*v1alpha1.DeployItem)) {
	s.t.Helper()
	inst := &v1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "root"}}
	inst.Spec.Blueprint.Inline = &v1alpha1.InlineBlueprint{Filesystem: v1alpha1.NewAnyJSON([]byte(`{}`))}
	require.NoError(s.t, s.client().Create(s.t.Context(), inst))
	execution := &v1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: "root", OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(inst, v1alpha1.GroupVersion.WithKind("Installation"))},
	}}
	require.NoError(s.t, s.client().Create(s.t.Context(), execution))
	return inst, execution, func(item *v1alpha1.DeployItem) {
		item.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(execution, v1alpha1.GroupVersion.WithKind("Execution"))}
	}
}

// awaitLook waits until the deployer has read the owners twice, and checks that the item stands still meanwhile.
func (s *stage) awaitLook(item *v1alpha1.DeployItem) {
	s.t.Helper()
	since, version := time.Now(), item.ResourceVersion
	require.Eventually(s.t, func() bool { return len(s.requestsOf(since, "executions")) > 1 }, patience, 10*time.Millisecond)
	require.NoError(s.t, s.client().Get(s.t.Context(), keyOfItem(item), item))
	require.Equal(s.t, version, item.ResourceVersion)
}

func TestClockWaitsForTheOwners(t *testing.T) {
	s := newRepeatingStage(t, &scripted{})
	inst, execution, owned := s.owned()
	inst.Spec.Suspend = true
	require.NoError(t, s.client().Update(t.Context(), inst))
	item := s.create("item", continuous(`{"every":"1s"}`), owned)
	s.trigger(item)
	s.finished(item)
	s.awaitLook(item)

	execution.Status.JobID = "running"
	execution.Status.Phase = v1alpha1.PhaseProgressing
	require.NoError(t, s.client().Status().Update(t.Context(), execution))
	inst.Spec.Suspend = false
	require.NoError(t, s.client().Update(t.Context(), inst))
	s.awaitLook(item)

	execution.Status.JobIDFinished = "running"
	require.NoError(t, s.client().Status().Update(t.Context(), execution))
	since := time.Now()
	s.awaitRepetition(item)
	assert.Contains(t, s.requests(since), "get installations")

	require.NoError(t, s.client().Delete(t.Context(), execution))
	version := item.ResourceVersion
	since = time.Now()
	require.Eventually(t, func() bool { return len(s.requestsOf(since, "executions")) > 1 }, patience, 10*time.Millisecond)
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	assert.Equal(t, version, item.ResourceVersion, "it goes with its Execution")
}

func TestJobOfTheExecutionReplacesThatOfTheClock(t *testing.T) {
	interrupted := make(chan struct{}, 1)
	s := newRepeatingStage(t, &scripted{ensure: func(ctx context.Context, item *Item) (Outcome, error) {
		if !strings.HasPrefix(item.DeployItem.Status.JobID, v1alpha1.ContinuousJobPrefix) {
			return Outcome{Done: true}, nil
		}
		<-ctx.Done()
		interrupted <- struct{}{}
		return Outcome{}, ctx.Err()
	}})
	item := s.create("item", continuous(`{"every":"1s"}`))
	s.trigger(item)
	s.finished(item)
	s.underWay(item, func() bool { return strings.HasPrefix(item.Status.JobID, v1alpha1.ContinuousJobPrefix) })
	item.Spec.Configuration.Raw = []byte(`{"continuousReconcile":{"every":"1h"}}`)
	require.NoError(t, s.client().Update(t.Context(), item))
	s.change(item, func() {
		item.Status.JobID, item.Status.Phase = uuid.NewString(), ""
		item.Status.JobIDGenerationTime = &metav1.Time{Time: time.Now()}
	})
	<-interrupted
	s.finished(item)
	assert.Equal(t, item.Generation, item.Status.ObservedGeneration)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
}

func TestManyIdleItemsCostNoRequests(t *testing.T) {
	const items = 100
	var idle atomic.Int32
	s := newRepeatingStage(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		if item.DeployItem.Name != "due" {
			idle.Add(1)
		}
		return Outcome{Done: true}, nil
	}})
	s.stop()
	now := metav1.Now()
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := worker; i < items; i += 8 {
				item := s.create(fmt.Sprintf("item-%d", i), continuous(`{"every":"1h"}`))
				item.Status = v1alpha1.DeployItemStatus{ObservedGeneration: item.Generation, LastReconcileTime: &now}
				item.Status.JobID, item.Status.JobIDFinished, item.Status.Phase = "job", "job", v1alpha1.PhaseSucceeded
				assert.NoError(t, s.client().Status().Update(t.Context(), item))
			}
		})
	}
	group.Wait()
	since := time.Now()
	s.start(Options{JitterPercentage: 5, MinContinuousInterval: brisk.MinContinuousInterval})
	due := s.create("due", continuous(`{"every":"1s"}`))
	s.trigger(due)
	s.finished(due)
	for range 2 {
		last := due.Status.JobIDFinished
		require.NoError(t, s.p.Await(s.context(), due, func() bool { return due.Status.JobIDFinished != last && due.Job().IsIdle() }))
	}
	requests, err := s.p.Requests(t.Context(), since)
	require.NoError(t, err)
	var others []string
	for _, request := range requests {
		if request.User == s.namespace && request.Namespace == s.namespace && request.Name != "due" && request.Resource != "events" {
			others = append(others, request.Verb+" "+request.Path)
		}
	}
	assert.Empty(t, others, "%d idle items cost requests", items)
	assert.Zero(t, idle.Load(), "they are not worked on")
	var left corev1.EventList
	require.NoError(t, s.client().List(t.Context(), &left, client.InNamespace(s.namespace)))
	assert.Empty(t, left.Items)
}
