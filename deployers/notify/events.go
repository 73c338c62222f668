// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package notify tells others what a process does: events for receivers such as notification-controller, panics in the CriticalProblems of its
// namespace, by its Lease that it is alive, and in an LsHealthCheck whether the Deployments of the system run.
package notify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/fluxcd/pkg/runtime/events"
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/sources/egress"
)

const (
	maxQueuedEvents     = 1000
	maxQueuedEventBytes = 16 << 20
	// eventAge is how long an event may wait. Alerts about what was long ago help nobody.
	eventAge      = 5 * time.Minute
	eventTimeout  = 5 * time.Second
	eventTries    = 4
	eventLastCall = 5 * time.Second
)

// Reasons for which an event is dropped.
const (
	dropQueueFull   = "queue_full"
	dropExpired     = "expired"
	dropUndelivered = "undelivered"
)

// Keys of the metadata of events, behind the API group and a slash, as notification-controller knows them.
const (
	// TokenKey tells events with the same message apart: of two with the same token the later one is dropped for some minutes.
	TokenKey = "token"
	// RevisionKey is shown, and forwarded to commit statuses.
	RevisionKey = "revision"
)

// Once returns the metadata of an event that receivers tell of although they have seen the same message about the object before: its token is that of
// the job, or of the moment, that it is about. An empty token is none. The map is the caller's.
func Once(token string) map[string]string {
	metadata := map[string]string{}
	if token != "" {
		metadata[v1alpha1.GroupName+"/"+TokenKey] = token
	}
	return metadata
}

// Since returns the token of an event about a condition that has just changed.
func Since(condition *metav1.Condition) string {
	if condition == nil {
		return ""
	}
	return string(condition.Status) + " since " + condition.LastTransitionTime.UTC().Format(time.RFC3339)
}

// NewRecorder returns a recorder of events for Kubernetes and, with an address, for a receiver such as notification-controller. The manager writes the
// former. The latter are posted beside the workers, one after the other, by a part that it adds to the manager; a slow receiver delays
// nobody. Where too many wait, further ones are dropped. What the receiver cannot take is dropped and counted in
// landscaper_events_dropped_total, which registry gets.
func NewRecorder(mgr ctrl.Manager, log logr.Logger, address, controller string, registry prometheus.Registerer) (*events.Recorder, error) {
	recorder, err := events.NewRecorder(mgr, log, address, controller)
	if err != nil || address == "" {
		return recorder, err
	}
	queue := newEventQueue(log)
	if err := queue.count(registry); err != nil {
		return nil, err
	}
	recorder.Client.HTTPClient.Transport = queue
	return recorder, mgr.Add(queue)
}

// eventQueue takes the posts of a recorder, as its transport, and sends them in the background, in order.
type eventQueue struct {
	log     logr.Logger
	dropped *prometheus.CounterVec
	sender  *http.Client
	// pause is the time before the second try; it doubles with each.
	pause time.Duration
	// lastCall is the time for what is left when the process ends.
	lastCall time.Duration
	now      func() time.Time

	// added has a value when something may wait.
	added chan struct{}
	mu    sync.Mutex
	posts []eventPost
	bytes int
	// ended says that nobody takes any more.
	ended bool
}

type eventPost struct {
	address string
	header  http.Header
	body    []byte
	at      time.Time
}

func newEventQueue(log logr.Logger) *eventQueue {
	return &eventQueue{
		log: log, added: make(chan struct{}, 1), pause: time.Second, lastCall: eventLastCall, now: time.Now,
		sender: &http.Client{Timeout: eventTimeout, Transport: egress.New(egress.Policy{})},
		dropped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "landscaper_events_dropped_total",
			Help: "Events that did not reach the receiver of --events-addr, by reason.",
		}, []string{"reason"}),
	}
}

// count shows what is dropped. Recorders of one process count together: the agent has one for each of its two clusters.
func (q *eventQueue) count(registry prometheus.Registerer) error {
	err := registry.Register(q.dropped)
	known := prometheus.AlreadyRegisteredError{}
	if !errors.As(err, &known) {
		return err
	}
	shared, isOurs := known.ExistingCollector.(*prometheus.CounterVec)
	if !isOurs {
		return err
	}
	q.dropped = shared
	return nil
}

// RoundTrip takes a post and answers at once.
func (q *eventQueue) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	q.put(eventPost{address: request.URL.String(), header: request.Header, body: body, at: q.now()})
	return &http.Response{
		Status: "202 Accepted", StatusCode: http.StatusAccepted, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: request,
	}, nil
}

// put adds a post to those that wait, or drops it where there is no room. At the end of the process it sends it.
func (q *eventQueue) put(post eventPost) {
	q.mu.Lock()
	ended := q.ended
	fits := len(q.posts) < maxQueuedEvents && q.bytes+len(post.body) <= maxQueuedEventBytes
	if !ended && fits {
		q.posts = append(q.posts, post)
		q.bytes += len(post.body)
	}
	q.mu.Unlock()
	switch {
	case ended:
		ctx, cancel := context.WithTimeout(context.Background(), q.lastCall)
		defer cancel()
		q.deliver(ctx, post)
	case !fits:
		q.drop(dropQueueFull)
	default:
		select {
		case q.added <- struct{}{}:
		default:
		}
	}
}

// take returns the next post, if any waits.
func (q *eventQueue) take() (post eventPost, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.posts) == 0 {
		return post, false
	}
	post, q.posts = q.posts[0], q.posts[1:]
	q.bytes -= len(post.body)
	return post, true
}

// end lets nobody put anything any more, if nothing waits or what waits is given up. It reports whether it did.
func (q *eventQueue) end(givenUp bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = givenUp || len(q.posts) == 0
	return q.ended
}

func (q *eventQueue) drop(reason string) { q.dropped.WithLabelValues(reason).Inc() }

// NeedLeaderElection returns false: who does not lead records nothing, and the last events of a leader are still sent.
func (q *eventQueue) NeedLeaderElection() bool { return false }

// Start sends events until ctx ends, and then for some seconds what is left.
func (q *eventQueue) Start(ctx context.Context) error {
	for ctx.Err() == nil {
		if post, ok := q.take(); ok {
			q.deliver(ctx, post)
			continue
		}
		select {
		case <-ctx.Done():
		case <-q.added:
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.lastCall)
	defer cancel()
	for !q.end(last.Err() != nil) {
		if post, ok := q.take(); ok {
			q.deliver(last, post)
		}
	}
	return nil
}

// deliver sends one event, or drops it.
func (q *eventQueue) deliver(ctx context.Context, post eventPost) {
	if q.now().Sub(post.at) > eventAge {
		q.drop(dropExpired)
		return
	}
	if err := q.send(ctx, post); err != nil {
		q.drop(dropUndelivered)
		q.log.Error(err, "unable to send an event")
	}
}

// send posts an event. Trouble of the receiver is bridged by a few tries.
func (q *eventQueue) send(ctx context.Context, post eventPost) error {
	for try := 1; ; try++ {
		again, err := q.try(ctx, post)
		if err == nil || !again || try == eventTries {
			return err
		}
		timer := time.NewTimer(q.pause << (try - 1))
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// try posts an event once. It reports whether another try can help. When ctx ends, there are still some seconds for what was sent.
func (q *eventQueue) try(parent context.Context, post eventPost) (again bool, err error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(parent))
	defer cancel()
	defer context.AfterFunc(parent, func() { time.AfterFunc(q.lastCall, cancel) })()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, post.address, bytes.NewReader(post.body))
	if err != nil {
		return false, err
	}
	request.Header = post.header.Clone()
	answer, err := q.sender.Do(request)
	if err != nil {
		return true, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 4<<10)) // so that the connection can be used again
	_ = answer.Body.Close()
	switch {
	case answer.StatusCode < 300 || answer.StatusCode == http.StatusTooManyRequests:
		return false, nil // notification-controller answers 429 to an event that it has already
	case answer.StatusCode >= 500:
		return true, fmt.Errorf("the receiver of events answers %d", answer.StatusCode)
	}
	return false, fmt.Errorf("the receiver of events answers %d", answer.StatusCode)
}
