// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/runtime/events"
	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/record"
)

// receiver is a server for events that answers as answer says, given how many it has seen.
type receiver struct {
	*httptest.Server
	mu   sync.Mutex
	seen []eventv1.Event
}

func newReceiver(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, seen int)) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		var event eventv1.Event
		_ = json.NewDecoder(request.Body).Decode(&event)
		r.mu.Lock()
		r.seen = append(r.seen, event)
		seen := len(r.seen)
		r.mu.Unlock()
		answer(w, request, seen)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) events() []eventv1.Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]eventv1.Event(nil), r.seen...)
}

func accept(http.ResponseWriter, *http.Request, int) {}

func recorderFor(t *testing.T, r *receiver) (*events.Recorder, *eventQueue) {
	t.Helper()
	recorder, err := events.NewRecorderForScheme(clientgoscheme.Scheme, record.NewFakeRecorder(10_000), funcr.New(func(string, string) {}, funcr.Options{}), r.URL, "landscaper-test")
	require.NoError(t, err)
	queue := newEventQueue(funcr.New(func(string, string) {}, funcr.Options{}))
	queue.pause = time.Millisecond
	recorder.Client.HTTPClient.Transport = queue
	return recorder, queue
}

func serve(t *testing.T, queue *eventQueue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- queue.Start(ctx) }()
	return func() {
		cancel()
		require.NoError(t, <-ended)
	}
}

var subject = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "x", Annotations: map[string]string{eventv1.Group + "/app": "shop"}}}

func (q *eventQueue) droppedFor(reason string) float64 {
	return testutil.ToFloat64(q.dropped.WithLabelValues(reason))
}

func TestT10EventsReachTheReceiver(t *testing.T) {
	r := newReceiver(t, accept)
	recorder, queue := recorderFor(t, r)
	recorder.AnnotatedEventf(subject, map[string]string{eventv1.Group + "/revision": "v1"}, corev1.EventTypeWarning, "Broken", "it is %s", "broken")
	recorder.Event(subject, corev1.EventTypeNormal, "Well", "fine")
	recorder.Event(subject, eventv1.EventTypeTrace, "Detail", "not for the receiver")
	serve(t, queue)()
	seen := r.events()
	require.Len(t, seen, 2, "what is left is sent before the end")
	assert.Equal(t, "error", seen[0].Severity)
	assert.Equal(t, "it is broken", seen[0].Message)
	assert.Equal(t, map[string]string{eventv1.Group + "/revision": "v1", eventv1.Group + "/app": "shop"}, seen[0].Metadata)
	assert.Equal(t, "landscaper-test", seen[0].ReportingController)
	assert.Equal(t, "x", seen[0].InvolvedObject.Name)
	assert.Equal(t, "info", seen[1].Severity)
}

func TestTokensTellEventsApart(t *testing.T) {
	const key = "landscaper.gardener.cloud/token"
	assert.Equal(t, map[string]string{key: "a"}, Once("a"))
	assert.Empty(t, Once(""), "without a job")
	assert.NotNil(t, Once(""), "others add to it")
	began := metav1.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	well := &metav1.Condition{Status: metav1.ConditionTrue, LastTransitionTime: began}
	again := &metav1.Condition{Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(began.Add(time.Second))}
	gone := &metav1.Condition{Status: metav1.ConditionFalse, LastTransitionTime: began}
	assert.NotEqual(t, Since(well), Since(again))
	assert.NotEqual(t, Since(well), Since(gone), "a change within the second")
	assert.Empty(t, Since(nil))
}

func TestT10SilentReceiverBlocksNobody(t *testing.T) {
	r := newReceiver(t, func(_ http.ResponseWriter, request *http.Request, _ int) { <-request.Context().Done() })
	recorder, queue := recorderFor(t, r)
	queue.sender.Timeout, queue.lastCall = time.Hour, 10*time.Millisecond
	stop := serve(t, queue)
	for range maxQueuedEvents + 100 {
		recorder.Event(subject, corev1.EventTypeNormal, "Well", "fine")
	}
	assert.GreaterOrEqual(t, queue.droppedFor(dropQueueFull), 99.0)
	assert.LessOrEqual(t, len(queue.posts), maxQueuedEvents)
	stop()
}

func TestT10LargeEventsAreBoundedTogether(t *testing.T) {
	recorder, queue := recorderFor(t, newReceiver(t, accept))
	long := strings.Repeat("x", 1<<20)
	for range 20 {
		recorder.Event(subject, corev1.EventTypeNormal, "Well", long)
	}
	assert.LessOrEqual(t, queue.bytes, maxQueuedEventBytes)
	assert.Equal(t, 20.0, queue.droppedFor(dropQueueFull)+float64(len(queue.posts)))
	assert.Less(t, len(queue.posts), 17)
	serve(t, queue)()
	assert.Zero(t, queue.bytes)
}

func TestT10OldEventsAreDropped(t *testing.T) {
	r := newReceiver(t, accept)
	recorder, queue := recorderFor(t, r)
	recorder.Event(subject, corev1.EventTypeNormal, "Old", "fine")
	queue.now = func() time.Time { return time.Now().Add(eventAge + time.Second) }
	recorder.Event(subject, corev1.EventTypeNormal, "New", "fine")
	serve(t, queue)()
	require.Len(t, r.events(), 1)
	assert.Equal(t, "New", r.events()[0].Reason)
	assert.Equal(t, 1.0, queue.droppedFor(dropExpired))
}

func TestT10TriesOfTheReceiver(t *testing.T) {
	for name, c := range map[string]struct {
		code, tries int
		dropped     float64
	}{
		"accepted":  {http.StatusAccepted, 1, 0},
		"duplicate": {http.StatusTooManyRequests, 1, 0},
		"refused":   {http.StatusBadRequest, 1, 1},
		"broken":    {http.StatusInternalServerError, eventTries, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(c.code) })
			recorder, queue := recorderFor(t, r)
			recorder.Event(subject, corev1.EventTypeNormal, "Well", "fine")
			stop := serve(t, queue)
			require.Eventually(t, func() bool { return len(r.events()) == c.tries }, time.Minute, time.Millisecond) // the end cuts tries short
			stop()
			assert.Len(t, r.events(), c.tries)
			assert.Equal(t, c.dropped, queue.droppedFor(dropUndelivered))
		})
	}
}

func TestRecordersOfOneProcessCountTogether(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, second := newEventQueue(logr.Discard()), newEventQueue(logr.Discard())
	require.NoError(t, first.count(registry))
	require.NoError(t, second.count(registry))
	first.drop(dropExpired)
	second.drop(dropExpired)
	assert.InDelta(t, 2, testutil.ToFloat64(first.dropped.WithLabelValues(dropExpired)), 0)
}

func TestEventsOfWorkersThatEndLaterReachTheReceiver(t *testing.T) {
	r := newReceiver(t, accept)
	recorder, queue := recorderFor(t, r)
	serve(t, queue)()
	recorder.Event(subject, corev1.EventTypeNormal, "Well", "fine")
	assert.Len(t, r.events(), 1)
	assert.Zero(t, testutil.ToFloat64(queue.dropped.WithLabelValues(dropQueueFull)))
}

func TestAnEventThatIsBeingSentAtTheEndIsSent(t *testing.T) {
	begun, through := make(chan struct{}), make(chan struct{})
	r := newReceiver(t, func(http.ResponseWriter, *http.Request, int) { begun <- struct{}{}; <-through })
	recorder, queue := recorderFor(t, r)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- queue.Start(ctx) }()
	recorder.Event(subject, corev1.EventTypeNormal, "Well", "fine")
	<-begun
	end()
	close(through)
	require.NoError(t, <-ended)
	assert.Zero(t, testutil.ToFloat64(queue.dropped.WithLabelValues(dropUndelivered)))
}

func TestAReceiverThatRedirectsIsNotFollowed(t *testing.T) {
	other := newReceiver(t, accept)
	r := newReceiver(t, func(w http.ResponseWriter, request *http.Request, _ int) {
		http.Redirect(w, request, other.URL, http.StatusTemporaryRedirect)
	})
	recorder, queue := recorderFor(t, r)
	recorder.Event(subject, corev1.EventTypeNormal, "Well", "fine")
	serve(t, queue)()
	assert.Empty(t, other.events())
	assert.Equal(t, float64(1), queue.droppedFor(dropUndelivered))
}
