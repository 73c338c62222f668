// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/queue"
	deploytarget "github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// asked answers checks as a test says.
type asked struct {
	mu     sync.Mutex
	answer func(target *v1alpha1.Target) (deploytarget.Health, error)
	checks int
}

func (a *asked) CheckHealth(_ context.Context, _ client.Reader, target *v1alpha1.Target) (deploytarget.Health, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.checks++
	return a.answer(target)
}

func well(*v1alpha1.Target) (deploytarget.Health, error) {
	return deploytarget.Health{User: "me", Version: "v1.36.3"}, nil
}

// ward is one Target with spec.healthCheck that is checked with an API server in memory, and a clock that the test sets.
type ward struct {
	t        *testing.T
	r        *HealthReconciler
	clusters *asked
	events   *record.FakeRecorder
	writes   int
	now      time.Time
	key      ctrl.Request
}

func newWard(t *testing.T, change ...func(*v1alpha1.Target)) *ward {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	target := &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "t", UID: "uid", Generation: 1}}
	target.Spec.Type = v1alpha1.KubernetesClusterTargetType
	target.Spec.HealthCheck = &v1alpha1.TargetHealthCheck{Interval: metav1.Duration{Duration: 5 * time.Minute}}
	for _, c := range change {
		c(target)
	}
	w := &ward{t: t, clusters: &asked{answer: well}, events: record.NewFakeRecorder(100), now: time.Now().Truncate(time.Second)}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(target).WithStatusSubresource(target).WithInterceptorFuncs(interceptor.Funcs{
		SubResourceUpdate: func(ctx context.Context, c client.Client, _ string, object client.Object, options ...client.SubResourceUpdateOption) error {
			w.writes++
			return c.Status().Update(ctx, object, options...)
		},
	}).Build()
	w.key = ctrl.Request{NamespacedName: client.ObjectKeyFromObject(target)}
	w.r = &HealthReconciler{
		Client: api, Live: api, metadata: api, Recorder: w.events, Clusters: w.clusters,
		Backoff: queue.NewBackoff(time.Millisecond, time.Second), Now: func() time.Time { return w.now },
	}
	return w
}

// settle lets the controller see the Target, and returns when it looks again.
func (w *ward) settle() time.Duration {
	w.t.Helper()
	result, err := w.r.Reconcile(w.t.Context(), w.key)
	require.NoError(w.t, err)
	return result.RequeueAfter
}

func (a *asked) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.checks
}

func (w *ward) target() *v1alpha1.Target {
	w.t.Helper()
	target := &v1alpha1.Target{}
	require.NoError(w.t, w.r.Get(w.t.Context(), w.key.NamespacedName, target))
	return target
}

func (w *ward) change(change func(*v1alpha1.Target)) {
	w.t.Helper()
	target := w.target()
	change(target)
	require.NoError(w.t, w.r.Update(w.t.Context(), target))
}

// after moves the clock and settles.
func (w *ward) after(passed time.Duration) time.Duration {
	w.t.Helper()
	w.now = w.now.Add(passed)
	return w.settle()
}

func (w *ward) told() []string {
	var all []string
	for len(w.events.Events) > 0 {
		all = append(all, <-w.events.Events)
	}
	return all
}

func problem(reason string, codes ...v1alpha1.ErrorCode) func(*v1alpha1.Target) (deploytarget.Health, error) {
	return func(*v1alpha1.Target) (deploytarget.Health, error) {
		return deploytarget.Health{}, &deploytarget.Error{Reason: reason, Codes: codes}
	}
}

func TestReadySaysWhatACheckFound(t *testing.T) {
	for name, tc := range map[string]struct {
		answer                       func(*v1alpha1.Target) (deploytarget.Health, error)
		ready                        metav1.ConditionStatus
		reason                       string
		reconciling, stalled, silent bool
		identity, version            string
	}{
		"well":           {answer: well, ready: metav1.ConditionTrue, reason: meta.SucceededReason, identity: "me", version: "v1.36.3"},
		"unreachable":    {answer: problem(deploytarget.ReasonUnreachable), ready: metav1.ConditionFalse, reason: deploytarget.ReasonUnreachable, reconciling: true},
		"secret missing": {answer: problem(deploytarget.ReasonContentMissing), ready: metav1.ConditionFalse, reason: deploytarget.ReasonContentMissing, reconciling: true},
		"broken content": {answer: problem(deploytarget.ReasonInvalid, v1alpha1.ErrorConfigurationProblem), ready: metav1.ConditionFalse, reason: deploytarget.ReasonInvalid, stalled: true},
		"needs tokens":   {answer: problem(deploytarget.ReasonNoTokens, v1alpha1.ErrorConfigurationProblem), ready: metav1.ConditionUnknown, reason: deploytarget.ReasonNoTokens},
		"own side is deaf": {answer: func(*v1alpha1.Target) (deploytarget.Health, error) {
			return deploytarget.Health{}, errors.New("no Secret read")
		}, silent: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t)
			w.clusters.answer = tc.answer
			assert.Positive(t, w.settle())
			target := w.target()
			if tc.silent {
				assert.Empty(t, target.Status)
				return
			}
			ready := conditions.Get(target, meta.ReadyCondition)
			require.NotNil(t, ready)
			assert.Equal(t, tc.ready, ready.Status)
			assert.Equal(t, tc.reason, ready.Reason)
			assert.Equal(t, tc.reconciling, conditions.IsReconciling(target))
			assert.Equal(t, tc.stalled, conditions.IsStalled(target))
			assert.Equal(t, []string{tc.identity, tc.version}, []string{target.Status.Identity, target.Status.Version})
			assert.Equal(t, target.Generation, target.Status.ObservedGeneration)
			assert.Equal(t, w.now.Unix(), target.Status.LastChecked.Unix())
		})
	}
}

func TestAnUncheckableTypeIsStalledWithoutACheck(t *testing.T) {
	w := newWard(t, func(target *v1alpha1.Target) { target.Spec.Type = "example.com/other" })
	assert.Zero(t, w.settle(), "nothing can change before the Target does")
	assert.Zero(t, w.clusters.count())
	assert.True(t, conditions.IsStalled(w.target()))
	assert.Contains(t, conditions.GetMessage(w.target(), meta.ReadyCondition), "remove spec.healthCheck")
}

func TestACheckThatFindsTheSameWritesNothing(t *testing.T) {
	for name, answer := range map[string]func(*v1alpha1.Target) (deploytarget.Health, error){
		"well": well, "unreachable": problem(deploytarget.ReasonUnreachable),
		"broken content": problem(deploytarget.ReasonInvalid, v1alpha1.ErrorConfigurationProblem),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWard(t)
			w.clusters.answer = answer
			w.settle()
			shown := w.target()
			for range 3 {
				w.after(time.Hour)
			}
			assert.Equal(t, 4, w.clusters.count())
			assert.Equal(t, 1, w.writes)
			assert.Equal(t, shown.ResourceVersion, w.target().ResourceVersion)
			assert.Len(t, w.told(), 1)
		})
	}
}

func TestEventsTellWhenReadyChanges(t *testing.T) {
	w := newWard(t)
	w.settle()
	token := notify.Since(conditions.Get(w.target(), meta.ReadyCondition))
	assert.Equal(t, []string{"Normal Succeeded " + healthyMessage + " map[landscaper.gardener.cloud/token:" + token + "]"}, w.told())
	w.clusters.answer = problem(deploytarget.ReasonTimeout)
	w.after(5 * time.Minute)
	assert.Len(t, w.told(), 1)
	w.clusters.answer = problem(deploytarget.ReasonUnreachable)
	w.after(5 * time.Minute)
	assert.Empty(t, w.told(), "it is not Ready for another reason now")
	assert.Equal(t, deploytarget.ReasonUnreachable, conditions.GetReason(w.target(), meta.ReadyCondition))
	w.clusters.answer = well
	w.after(10 * time.Minute)
	assert.Len(t, w.told(), 1)
}

func TestPausesBetweenChecks(t *testing.T) {
	for name, tc := range map[string]struct {
		interval time.Duration
		failures int
		want     time.Duration
	}{
		"none failed":          {5 * time.Minute, 0, 5 * time.Minute},
		"the first failure":    {5 * time.Minute, 1, 5 * time.Minute},
		"the second":           {5 * time.Minute, 2, 10 * time.Minute},
		"the third":            {5 * time.Minute, 3, 20 * time.Minute},
		"the fourth":           {5 * time.Minute, 4, 40 * time.Minute},
		"many":                 {5 * time.Minute, 1000, 40 * time.Minute},
		"never below a minute": {time.Second, 0, time.Minute},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, pauseAfter(tc.interval, tc.failures)) })
	}
}

func TestAFailedClusterIsAskedMoreRarelyUntilItAnswers(t *testing.T) {
	w := newWard(t)
	w.clusters.answer = problem(deploytarget.ReasonUnreachable)
	assert.Equal(t, 5*time.Minute, w.settle())
	assert.Equal(t, 10*time.Minute, w.after(5*time.Minute))
	w.clusters.answer = well
	assert.Equal(t, 5*time.Minute, w.after(10*time.Minute))
	assert.Equal(t, 3, w.clusters.count())
}

func TestChangesAreCheckedAtOnceButNotMoreOftenThanThat(t *testing.T) {
	ask := func(target *v1alpha1.Target) {
		target.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
	}
	w := newWard(t)
	w.settle()
	w.change(ask)
	assert.Equal(t, restTime, w.settle(), "the last check has just ended")
	w.after(restTime)
	assert.Equal(t, 2, w.clusters.count())
	assert.Equal(t, "now", w.target().Status.LastHandledReconcileAt)
	assert.Equal(t, 5*time.Minute-time.Second, w.after(time.Second))
}

func TestAProcessThatStartsSpreadsItsChecks(t *testing.T) {
	w := newWard(t)
	w.settle()
	w.r.visits.Clear()
	wait := w.after(time.Second)
	assert.Greater(t, wait, time.Duration(0))
	assert.LessOrEqual(t, wait, 5*time.Minute)
	assert.Equal(t, 1, w.clusters.count())
	w.after(wait)
	assert.Equal(t, 2, w.clusters.count())
	assert.Equal(t, 1, w.writes)
}

func TestWithoutHealthCheckTheStatusIsEmpty(t *testing.T) {
	w := newWard(t)
	w.settle()
	w.change(func(target *v1alpha1.Target) { target.Spec.HealthCheck = nil })
	assert.Zero(t, w.settle())
	assert.Empty(t, w.target().Status)
	w.settle()
	assert.Equal(t, 2, w.writes)
	assert.Equal(t, 1, w.clusters.count())
}

func TestALostWriteIsRepeatedWithoutAnotherCheck(t *testing.T) {
	w := newWard(t)
	api := w.r.Client
	w.r.Client = interceptor.NewClient(api.(client.WithWatch), interceptor.Funcs{
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return errors.New("refused")
		},
	})
	again, err := w.r.Reconcile(t.Context(), w.key)
	require.NoError(t, err)
	require.NotZero(t, again.RequeueAfter)
	w.r.Client = api
	assert.Equal(t, 5*time.Minute, w.settle())
	assert.True(t, conditions.IsReady(w.target()))
	assert.Equal(t, 1, w.clusters.count())
}

func TestAClusterWhoseAnswerPanicsIsAskedAgain(t *testing.T) {
	w := newWard(t)
	handlers := slices.Clone(utilruntime.PanicHandlers)
	t.Cleanup(func() { utilruntime.PanicHandlers = handlers })
	told := 0
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(context.Context, any) { told++ })
	w.clusters.answer = func(*v1alpha1.Target) (deploytarget.Health, error) { panic("broken") }
	wait := w.settle()
	assert.Positive(t, wait)
	assert.LessOrEqual(t, wait, time.Second, "as after any trouble of our own")
	assert.Equal(t, 1, told)
	assert.Empty(t, w.target().Status)
	w.clusters.answer = well
	w.after(wait)
	assert.True(t, conditions.IsReady(w.target()))
}
