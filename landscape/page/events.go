// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// Event is one of the answer of /api/events: what happened to an object, or to one below it.
type Event struct {
	landscape.ID
	Seen    metav1.Time `json:"seen"`
	Warning bool        `json:"warning,omitempty"`
	Reason  string      `json:"reason"`
	Message string      `json:"message"`
	Count   int32       `json:"count,omitempty"`
}

// Bounds of events.
const (
	// freshness is how long the events of a namespace are good for all viewers.
	freshness = 5 * time.Second
	// mostEvents are shown of an object, the newest ones.
	mostEvents = 100
)

// events are those of namespaces, listed at most once within freshness however many viewers ask.
type events struct {
	reader client.Reader
	mu     sync.Mutex
	read   map[string]*reading
}

// reading is one list of the events of a namespace.
type reading struct {
	mu   sync.Mutex
	at   time.Time
	list corev1.EventList
	err  error
}

func (e *events) in(ctx context.Context, namespace string) (*corev1.EventList, error) {
	e.mu.Lock()
	if e.read == nil {
		e.read = map[string]*reading{}
	}
	one := e.read[namespace]
	if one == nil {
		one = &reading{}
		e.read[namespace] = one
	}
	e.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if time.Since(one.at) > freshness {
		one.list = corev1.EventList{}
		one.err = e.reader.List(ctx, &one.list, client.InNamespace(namespace))
		if ctx.Err() == nil { // who has gone has no answer for others
			one.at = time.Now()
		}
	}
	list := one.list
	return &list, one.err
}

// of returns the events of objects, the newest first.
func (e *events) of(ctx context.Context, objects []client.Object) ([]Event, error) {
	ids, namespaces := map[types.UID]landscape.ID{}, []string{}
	for _, object := range objects {
		ids[object.GetUID()] = landscape.IDOf(object)
		if !slices.Contains(namespaces, object.GetNamespace()) {
			namespaces = append(namespaces, object.GetNamespace())
		}
	}
	found := []Event{}
	for _, namespace := range namespaces {
		list, err := e.in(ctx, namespace)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			event := &list.Items[i]
			if id, ours := ids[event.InvolvedObject.UID]; ours {
				found = append(found, eventOf(event, id))
			}
		}
	}
	slices.SortStableFunc(found, func(a, b Event) int { return cmp.Or(b.Seen.Compare(a.Seen.Time), cmp.Compare(a.Message, b.Message)) })
	return found[:min(len(found), mostEvents)], nil
}

func eventOf(event *corev1.Event, id landscape.ID) Event {
	seen := slices.MaxFunc([]time.Time{event.LastTimestamp.Time, event.EventTime.Time, event.CreationTimestamp.Time}, time.Time.Compare)
	count := event.Count
	if event.Series != nil {
		seen, count = event.Series.LastObservedTime.Time, event.Series.Count
	}
	return Event{
		ID: id, Seen: metav1.NewTime(seen), Warning: event.Type == corev1.EventTypeWarning, Reason: event.Reason,
		Message: landscape.Short(event.Message), Count: count,
	}
}
