// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/pace"
)

func failing(err error) *scripted {
	return &scripted{ensure: func(context.Context, *Item) (Outcome, error) { return Outcome{}, err }}
}

func TestWhatDeployersReturnTellsWhetherItIsTriedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		err   error
		codes []v1alpha1.ErrorCode
	}{
		"Stall ends the job":       {Stall("Login", "WrongPassword", "user %s", "jane"), []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}},
		"Again is tried once more": {Again("Login", "WrongPassword", "user %s", "jane"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.codes, protocol.CodesOf(test.err))
			assert.EqualError(t, test.err, "user jane")
			var failure *protocol.Failure
			require.ErrorAs(t, test.err, &failure)
			assert.Equal(t, "Login", failure.Operation)
			assert.Equal(t, "WrongPassword", failure.Reason)
		})
	}
}

func TestUnrecoverableErrorFailsAtOnce(t *testing.T) {
	s := newStage(t, failing(fmt.Errorf("log in: %w", protocol.Coded(errors.New("wrong password"), v1alpha1.ErrorUnauthorized))), Options{})
	item := s.create("item")
	since := s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	require.NotNil(t, item.Status.LastError)
	assert.Equal(t, "log in: wrong password", item.Status.LastError.Message)
	assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorUnauthorized}, item.Status.LastError.Codes)
	assert.Equal(t, item.Status.LastError, item.Status.FirstError)
	assert.True(t, conditions.IsStalled(item))
	assert.True(t, conditions.IsFalse(item, meta.ReadyCondition))
	assert.Len(t, s.requests(since), 2)
}

func TestOtherErrorsAreTriedAgain(t *testing.T) {
	calls := 0
	s := newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		if calls++; calls <= 3 {
			return Outcome{}, fmt.Errorf("attempt %d", min(calls, 2))
		}
		return Outcome{Done: true}, nil
	}}, Options{})
	item := s.create("item")
	since := s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	assert.Nil(t, item.Status.LastError)
	assert.Equal(t, "attempt 1", item.Status.FirstError.Message)
	assert.Len(t, item.Status.LastErrors, 2, "a repeated message is recorded once")
	assert.Len(t, s.requests(since), 4, "pick-up, two messages, final")
}

func TestNewJobForgetsOldErrors(t *testing.T) {
	err := protocol.Stall("Render", "Broken", "broken")
	s := newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) { return Outcome{Done: err == nil}, err }}, Options{})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	require.Eventually(t, func() bool {
		var events corev1.EventList
		require.NoError(t, s.client().List(t.Context(), &events, client.InNamespace(s.namespace)))
		return len(events.Items) == 1 && events.Items[0].Reason == "Broken" && events.Items[0].Message == "broken" &&
			events.Items[0].Type == corev1.EventTypeWarning
	}, patience, 20*time.Millisecond)
	err = nil
	s.trigger(item)
	s.finished(item)
	assert.Nil(t, item.Status.LastError)
	assert.Nil(t, item.Status.FirstError)
	assert.Empty(t, item.Status.LastErrors)
}

func TestT04OperatorsMaximumEndsAJobWithoutTimeout(t *testing.T) {
	s := newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		return Outcome{}, errors.New("the quota is used up")
	}}, Options{MaxTimeout: time.Second})
	item := s.create("item", timeout(0))
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, "ProgressingTimeout", item.Status.LastError.Reason)
}

func TestTimeoutNamesTheRootCause(t *testing.T) {
	s := newStage(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		if err := item.Checkpoint("start apply files"); err != nil {
			return Outcome{}, err
		}
		return Outcome{}, errors.New("the quota is used up")
	}}, Options{})
	item := s.create("item", timeout(time.Hour))
	began := s.trigger(item)
	s.underWay(item, func() bool { return item.Status.LastError != nil })
	assert.True(t, conditions.IsReconciling(item))
	assert.Equal(t, meta.ProgressingWithRetryReason, conditions.GetReason(item, meta.ReconcilingCondition))
	assert.Equal(t, "the quota is used up", conditions.GetMessage(item, meta.ReadyCondition))
	s.patch(item, timeout(time.Second))
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
	assert.Equal(t, `timeout at: "start apply files": the quota is used up`, item.Status.LastError.Message)
	assert.Equal(t, "ProgressingTimeout", item.Status.LastError.Reason)
	assert.Equal(t, []v1alpha1.ErrorCode{v1alpha1.ErrorTimeout}, item.Status.LastError.Codes)
	assert.WithinDuration(t, began.Add(time.Second), time.Now(), pace.Within(time.Second))
}

func TestTimeoutEndsTheCall(t *testing.T) {
	s := newStage(t, &scripted{ensure: func(ctx context.Context, _ *Item) (Outcome, error) {
		<-ctx.Done()
		return Outcome{}, ctx.Err()
	}}, Options{})
	item := s.create("item", timeout(5*time.Second)) // the pick-up is written before the call, and may take long
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, `timeout at: "start reconcile": context deadline exceeded`, item.Status.LastError.Message)
}

func TestTimeoutOfAWaitNamesWhatItWaitsFor(t *testing.T) {
	s := newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) {
		return Outcome{Waiting: "Deployment web has 1 of 2 replicas", ProviderStatus: &runtime.RawExtension{Raw: []byte(`{"seen":true}`)}}, nil
	}}, Options{})
	item := s.create("item", timeout(time.Hour))
	since := s.trigger(item)
	s.busy(1)
	s.patch(item, timeout(time.Second))
	s.finished(item)
	assert.Equal(t, `timeout at: "start reconcile": Deployment web has 1 of 2 replicas`, item.Status.LastError.Message)
	assert.JSONEq(t, `{"seen":true}`, string(item.Status.ProviderStatus.Raw))
	s.requireWrites(since, 2)
}

func TestPassedDeadlineSurvivesARestart(t *testing.T) {
	s := newStage(t, &scripted{ensure: func(context.Context, *Item) (Outcome, error) { return Outcome{}, nil }}, Options{})
	item := s.create("item", timeout(time.Minute))
	s.trigger(item)
	s.underWay(item, func() bool { return item.Status.Phase == v1alpha1.PhaseProgressing })
	s.stop()
	s.change(item, func() { item.Status.TransitionTimes.InitTime = &metav1.Time{Time: time.Now().Add(-2 * time.Minute)} })
	s.start(Options{})
	s.finished(item)
	assert.Equal(t, "ProgressingTimeout", item.Status.LastError.Reason)
}

func TestNoTimeout(t *testing.T) {
	deadline := make(chan time.Time, 1)
	s := newStage(t, &scripted{ensure: func(_ context.Context, item *Item) (Outcome, error) {
		deadline <- item.Deadline
		return Outcome{Done: true}, item.Checkpoint("anything")
	}}, Options{})
	item := s.create("item", timeout(0))
	s.trigger(item)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
	assert.True(t, (<-deadline).IsZero())
}

func TestATargetThatIsReplacedDuringAJobIsAwaited(t *testing.T) {
	deployer, isReady := &scripted{}, atomic.Bool{}
	deployer.ensure = func(context.Context, *Item) (Outcome, error) {
		if !isReady.Load() {
			return Outcome{}, errors.New("not yet")
		}
		return Outcome{Done: true}, nil
	}
	s := newStage(t, deployer, Options{})
	s.createTarget("cluster", nil)
	item := s.create("item", named("cluster"))
	s.trigger(item)
	shows := func(reason string) {
		s.underWay(item, func() bool { return item.Status.LastError != nil && item.Status.LastError.Reason == reason })
	}
	s.underWay(item, func() bool { return item.Status.LastError != nil && item.Status.LastError.Message == "not yet" })
	require.NoError(t, s.client().Delete(t.Context(), &v1alpha1.Target{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "cluster"}}))
	shows("NoTargetFound")
	assert.Equal(t, v1alpha1.PhaseProgressing, item.Status.Phase)
	assert.Contains(t, item.Status.LastError.Message, "create it")

	isReady.Store(true)
	s.createTarget("cluster", nil)
	s.finished(item)
	assert.Equal(t, v1alpha1.PhaseSucceeded, item.Status.Phase)
}

func TestWhatIsMissingOrBadFailsAtOnce(t *testing.T) {
	s := newStage(t, &scripted{}, Options{})
	require.NoError(t, s.client().Create(t.Context(), &v1alpha1.Target{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "bad"},
		Spec: v1alpha1.TargetSpec{
			Type:          v1alpha1.KubernetesClusterTargetType,
			Configuration: &v1alpha1.AnyJSON{RawMessage: []byte(`{"kubeconfig": {"users": [{"name": "u", "user": {"exec": {"command": "sh"}}}]}}`)},
		},
	}))
	failed := func(name string, change func(*v1alpha1.DeployItem)) *v1alpha1.Error {
		t.Helper()
		item := s.create(name, change)
		s.trigger(item)
		s.finished(item)
		assert.Equal(t, v1alpha1.PhaseFailed, item.Status.Phase)
		return item.Status.LastError
	}
	misconfigured := []v1alpha1.ErrorCode{v1alpha1.ErrorConfigurationProblem}
	assert.Equal(t, misconfigured, failed("no-configuration", func(item *v1alpha1.DeployItem) { item.Spec.Configuration = nil }).Codes)

	problem := failed("no-target", named("absent"))
	assert.Equal(t, "NoTargetFound", problem.Reason)
	assert.Contains(t, problem.Message, `Target "absent"`)

	problem = failed("bad-target", named("bad"))
	assert.Equal(t, misconfigured, problem.Codes)
	assert.Contains(t, problem.Message, "users[u].user.exec")
}

func TestOtherTargetTypesOnlyWhereAccepted(t *testing.T) {
	for accepted, phase := range map[bool]v1alpha1.Phase{true: v1alpha1.PhaseSucceeded, false: v1alpha1.PhaseFailed} {
		t.Run(fmt.Sprint(accepted), func(t *testing.T) {
			s := newStage(t, &scripted{}, Options{AnyTargetType: accepted})
			require.NoError(t, s.client().Create(t.Context(), &v1alpha1.Target{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "account"}, Spec: v1alpha1.TargetSpec{Type: "example.com/account"},
			}))
			item := s.create("item", named("account"))
			s.trigger(item)
			s.finished(item)
			assert.Equal(t, phase, item.Status.Phase)
		})
	}
}

func TestLongMessagesAreShortened(t *testing.T) {
	s := newStage(t, failing(protocol.Stall("", "not a word", "begin %s end", strings.Repeat("ö", protocol.MaxMessage))), Options{})
	item := s.create("item")
	s.trigger(item)
	s.finished(item)
	message := item.Status.LastError.Message
	assert.LessOrEqual(t, len(message), protocol.MaxMessage)
	assert.True(t, strings.HasPrefix(message, "begin ") && strings.HasSuffix(message, " end"))
	assert.Equal(t, "NotAWord", item.Status.LastError.Reason)
	assert.Equal(t, operationReconcile, item.Status.LastError.Operation)
}
