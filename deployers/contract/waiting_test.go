// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

// lengthy is a deployer whose calls for items called slow… last until they are released or their context ends.
type lengthy struct {
	*scripted
	// says makes the calls say that they wait.
	says    bool
	began   chan string
	release chan struct{}
	ended   chan error
	overlap atomic.Int32
	most    atomic.Int32
}

func newLengthy(says bool) *lengthy {
	l := &lengthy{says: says, began: make(chan string, 100), release: make(chan struct{}), ended: make(chan error, 100)}
	l.scripted = &scripted{ensure: l.wait}
	return l
}

func (l *lengthy) wait(ctx context.Context, item *Item) (Outcome, error) {
	if !strings.HasPrefix(item.DeployItem.Name, "slow") {
		return Outcome{Done: true}, nil
	}
	l.most.Store(max(l.most.Load(), l.overlap.Add(1)))
	defer l.overlap.Add(-1)
	l.began <- item.DeployItem.Name
	if l.says {
		item.Waits()
	}
	select {
	case <-ctx.Done():
		l.ended <- context.Cause(ctx)
		return Outcome{}, ctx.Err()
	case <-l.release:
		return Outcome{Done: true}, nil
	}
}

// slow starts a job whose call waits.
func (s *stage) slow(l *lengthy, name string) *v1alpha1.DeployItem {
	s.t.Helper()
	item := s.create(name)
	s.trigger(item)
	assert.Equal(s.t, name, <-l.began)
	return item
}

func TestCallsThatWaitDelayNoOther(t *testing.T) {
	for name, says := range map[string]bool{"those that say so": true, "those that take long": false} {
		t.Run(name, func(t *testing.T) {
			l := newLengthy(says)
			s := newStage(t, l.scripted, Options{Concurrency: 1})
			var waiting []*v1alpha1.DeployItem
			for _, name := range []string{"slow-a", "slow-b", "slow-c"} {
				waiting = append(waiting, s.slow(l, name))
			}
			other := s.create("other")
			s.trigger(other)
			s.finished(other)
			close(l.release)
			for _, item := range waiting {
				s.finished(item)
				assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
			}
			ensured, _ := s.deployer.calls()
			assert.Equal(t, 4, ensured, "each answer is used")
		})
	}
}

func TestACallThatWaitsWritesNothing(t *testing.T) {
	l := newLengthy(true)
	s := newStage(t, l.scripted, Options{Concurrency: 1})
	item := s.create("slow")
	since := s.trigger(item)
	<-l.began
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	item.Labels = map[string]string{"touched": "yes"}
	require.NoError(t, s.client().Update(t.Context(), item))
	other := s.create("other")
	s.trigger(other)
	s.finished(other)
	close(l.release)
	s.finished(item)
	const write = "update deployitems/status"
	assert.Equal(t, []string{write, write, write, write, "get deployitems", write}, s.requests(since), "each item is picked up and finished once, beside one conflict")
}

func TestAnInterruptEndsACallThatWaits(t *testing.T) {
	l := newLengthy(true)
	s := newStage(t, l.scripted, Options{Concurrency: 1})
	item := s.slow(l, "slow")
	began := time.Now()
	s.change(item, func() { item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, item.Status.JobID })
	version := item.ResourceVersion
	require.ErrorIs(t, <-l.ended, errInterrupted)
	assert.Less(t, time.Since(began), pace.Within(2*time.Second))
	other := s.create("other")
	s.trigger(other)
	s.finished(other)
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	assert.Equal(t, version, item.ResourceVersion, "the answer is dropped")
}

func TestAnItemThatIsToBeIgnoredEndsACallThatWaits(t *testing.T) {
	l := newLengthy(true)
	s := newStage(t, l.scripted, Options{})
	item := s.slow(l, "slow")
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	item.Annotations = map[string]string{v1alpha1.IgnoreAnnotation: "true"}
	require.NoError(t, s.client().Update(t.Context(), item))
	require.ErrorIs(t, <-l.ended, errInterrupted)
}

func TestANewJobAwaitsTheEndOfTheOldCall(t *testing.T) {
	l := newLengthy(true)
	s := newStage(t, l.scripted, Options{})
	item := s.slow(l, "slow")
	s.trigger(item)
	require.ErrorIs(t, <-l.ended, errInterrupted)
	<-l.began
	close(l.release)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	assert.EqualValues(t, 1, l.most.Load(), "calls for one item never overlap")
}

func TestTheTimeOfACallThatWaitsIsLimited(t *testing.T) {
	l := newLengthy(true)
	s := newStage(t, l.scripted, Options{})
	item := s.create("slow", timeout(time.Second))
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	require.NotNil(t, item.Status.LastError)
	assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorTimeout}, item.Status.LastError.Codes)
}

func TestCallsThatWaitEndWithTheProcess(t *testing.T) {
	l := newLengthy(true)
	s := newStage(t, l.scripted, Options{})
	item := s.slow(l, "slow")
	s.stop()
	require.ErrorIs(t, <-l.ended, context.Canceled)
	close(l.release)
	s.start(Options{})
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
}

func TestAPanicOfACallThatWaitsIsTriedAgain(t *testing.T) {
	calls := 0
	s := newStage(t, &scripted{ensure: func(ctx context.Context, item *Item) (Outcome, error) {
		if calls++; calls == 1 {
			<-time.After(longCall + 100*time.Millisecond)
			panic("broken")
		}
		return Outcome{Done: true}, nil
	}}, Options{})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
}

// sleeper is a deployer that says of each job that it waits for the same. The call that follows arm lasts until it is released, and the one after
// that ends the job.
type sleeper struct {
	*scripted
	armed   atomic.Bool
	working chan *Item
	release chan struct{}
	// afterwards counts the calls after the long one.
	afterwards atomic.Int32
	done       bool
}

func newSleeper(done bool) *sleeper {
	l := &sleeper{working: make(chan *Item), release: make(chan struct{}), done: done}
	isOver := false
	l.scripted = &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		switch {
		case isOver:
			l.afterwards.Add(1)
		case l.armed.Load():
			item.Waits()
			l.working <- item
			<-l.release
			isOver = true
			return sleeping(item, false), nil
		}
		return sleeping(item, isOver && l.done), nil
	}}
	return l
}

func sleeping(item *Item, done bool) Outcome {
	key := keyOfItem(item.DeployItem)
	watched := Watched{Cluster: item.Target, APIVersion: "v1", Kind: "ConfigMap", Namespace: key.Namespace, Name: key.Name}
	return Outcome{Done: done, Waiting: "x is missing", Watch: []Watched{watched}}
}

// asleep starts a job and has it called again once its status says what it waits for. It returns in the long call.
func (s *stage) asleep(l *sleeper) (*v1alpha1.DeployItem, *Item) {
	s.t.Helper()
	item := s.create("item", s.withTarget("cluster"), timeout(30*time.Second))
	s.trigger(item)
	s.underWay(item, func() bool { return conditions.GetMessage(item, meta.ReadyCondition) == "x is missing" })
	l.armed.Store(true)
	require.NoError(s.t, s.client().Create(s.t.Context(), s.configMap(item.Name)))
	return item, <-l.working
}

func TestAWakeUpDuringACallIsNotLost(t *testing.T) {
	for name, wake := range map[string]func(*stage, *Item){
		"by the deployer": func(_ *stage, item *Item) { item.Wake() },
		"by an object that is watched": func(s *stage, item *Item) {
			require.NoError(s.t, s.client().Delete(s.t.Context(), s.configMap(item.DeployItem.Name)))
			<-time.After(time.Second / 2) // what the watch shows comes during the call
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newSleeper(true)
			s := newStage(t, l.scripted, Options{})
			item, working := s.asleep(l)
			wake(s, working)
			close(l.release)
			s.finished(item)
			assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
		})
	}
}

func TestAWakeUpDuringACallMakesOneCall(t *testing.T) {
	l := newSleeper(false)
	s := newStage(t, l.scripted, Options{})
	_, working := s.asleep(l)
	working.Wake()
	since := time.Now()
	close(l.release)
	require.Eventually(t, func() bool { return l.afterwards.Load() > 0 }, patience, 10*time.Millisecond)
	assert.Never(t, func() bool { return l.afterwards.Load() > 1 }, time.Second, 50*time.Millisecond)
	assert.Empty(t, s.requests(since), "nothing else is known")
}

func TestDeletionIgnoresTheAnswerForAnItemThatIsGone(t *testing.T) {
	l := newLengthy(true)
	s := newStage(t, l.scripted, Options{})
	item := s.slow(l, "slow")
	require.NoError(t, s.client().Get(t.Context(), keyOfItem(item), item))
	item.Finalizers = nil
	require.NoError(t, s.client().Update(t.Context(), item))
	require.NoError(t, s.client().Delete(t.Context(), item))
	require.ErrorIs(t, <-l.ended, errInterrupted)
	again := s.create("slow")
	s.trigger(again)
	<-l.began
	close(l.release)
	s.finished(again)
	assert.Equal(t, v1alpha1.PhaseSucceeded, again.Status.Phase)
}

func TestWhatACallRecordsIsNotReadAgain(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	s.deployer.ensure = func(ctx context.Context, item *Item) (Outcome, error) {
		touched := item.DeployItem.DeepCopy()
		touched.Labels = map[string]string{"touched": "yes"}
		if err := s.client().Update(ctx, touched); err != nil {
			return Outcome{}, err
		}
		return Outcome{Done: true}, item.Record(ctx, &runtime.RawExtension{Raw: []byte(`{"a":1}`)})
	}
	item := s.create("item")
	since := s.trigger(item)
	s.finished(item)
	const write = "update deployitems/status"
	assert.Equal(t, []string{write, write, "get deployitems", write, write}, s.requests(since), "one conflict, of the record")
}

func TestNothingIsKeptOfAnItemThatIsGone(t *testing.T) {
	r := newReconciler(nil, nil, &scripted{}, Options{})
	item := &v1alpha1.DeployItem{}
	item.Namespace, item.Name = "n", "item"
	r.jobs.Claim(item, time.Now(), planOf(item, &runtime.RawExtension{Raw: []byte(planned)}))
	r.turns.Store(keyOfItem(item), "")
	(&itemHandler{reconciler: r}).Delete(t.Context(), event.DeleteEvent{Object: item}, nil)
	_, waits := r.turns.Load(keyOfItem(item))
	assert.False(t, waits)
	r.jobs.Void(item).TakeBack(item)
	assert.Equal(t, planned, recorded(item), "nothing is known of what was there before the plan")
}
