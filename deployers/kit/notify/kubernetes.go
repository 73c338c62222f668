// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
)

// As of the recorder of client-go: how often it tries to write an event, and how long it waits in between.
const (
	writeTries = 12
	writePause = 10 * time.Second
	// writeTimeout bounds one try.
	writeTimeout = 30 * time.Second
)

// eventWriter is the part of the client for events that is needed.
type eventWriter interface {
	CreateWithEventNamespaceWithContext(ctx context.Context, event *corev1.Event) (*corev1.Event, error)
	PatchWithEventNamespaceWithContext(ctx context.Context, event *corev1.Event, data []byte) (*corev1.Event, error)
}

// kubernetes records events in the cluster as the recorder of client-go does, beside the workers and within a bound. Events
// that say the same are put together by client-go.
type kubernetes struct {
	scheme     *runtime.Scheme
	component  string
	writer     eventWriter
	correlator *record.EventCorrelator
	log        logr.Logger
	waiting    *waiting[*corev1.Event]
	// pause is the time between two tries, lastCall that for what is left when the process ends.
	pause, lastCall time.Duration
}

var _ record.EventRecorder = (*kubernetes)(nil)

func newKubernetes(scheme *runtime.Scheme, writer eventWriter, log logr.Logger, component string) *kubernetes {
	return &kubernetes{
		scheme: scheme, component: component, writer: writer, log: log, correlator: record.NewEventCorrelatorWithOptions(record.CorrelatorOptions{}),
		waiting: newWaiting[*corev1.Event](), pause: writePause, lastCall: eventLastCall,
	}
}

// Event implements record.EventRecorder.
func (k *kubernetes) Event(object runtime.Object, kind, reason, message string) {
	k.AnnotatedEventf(object, nil, kind, reason, "%s", message)
}

// Eventf implements record.EventRecorder.
func (k *kubernetes) Eventf(object runtime.Object, kind, reason, message string, args ...any) {
	k.AnnotatedEventf(object, nil, kind, reason, message, args...)
}

// AnnotatedEventf implements record.EventRecorder. It waits for nothing, except at the end of the process, when it writes the event itself.
func (k *kubernetes) AnnotatedEventf(object runtime.Object, annotations map[string]string, kind, reason, message string, args ...any) {
	about, err := reference.GetReference(k.scheme, object)
	if err != nil || !util.ValidateEventType(kind) {
		k.log.Error(err, "unable to record an event", "type", kind, "reason", reason)
		return
	}
	event := k.event(about, annotations, kind, reason, fmt.Sprintf(message, args...))
	k.log.V(1).Info(event.Message, "type", kind, "object", event.InvolvedObject, "reason", reason)
	isDropped, ok := k.waiting.put(event, event.Size())
	if isDropped {
		k.log.V(1).Info("too many events wait to be written; this one is dropped")
	}
	if !ok {
		ctx, cancel := context.WithTimeout(context.Background(), k.lastCall)
		defer cancel()
		k.write(ctx, event)
	}
}

func (k *kubernetes) event(about *corev1.ObjectReference, annotations map[string]string, kind, reason, message string) *corev1.Event {
	now := metav1.Now()
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: util.GenerateEventName(about.Name, now.UnixNano()), Annotations: annotations},
		InvolvedObject: *about, Type: kind, Reason: reason, Message: message, FirstTimestamp: now, LastTimestamp: now, Count: 1,
		Source: corev1.EventSource{Component: k.component}, ReportingController: k.component,
	}
}

// NeedLeaderElection returns false: who does not lead records nothing, and the last events of a leader are still written.
func (k *kubernetes) NeedLeaderElection() bool { return false }

// Start writes events until ctx ends, and then for some seconds what is left.
func (k *kubernetes) Start(ctx context.Context) error {
	k.waiting.serve(ctx, k.lastCall, k.write)
	return nil
}

// write writes an event, or what it changes in one that says the same. Trouble of the API server is bridged by some tries.
func (k *kubernetes) write(ctx context.Context, event *corev1.Event) {
	found, err := k.correlator.EventCorrelate(event)
	if err != nil {
		k.log.Error(err, "unable to compare an event with others")
	}
	if found == nil || found.Skip {
		return
	}
	for try := 1; ; try++ {
		again, err := k.try(ctx, found)
		if err == nil {
			return
		}
		if !again || try == writeTries || ctx.Err() != nil {
			k.log.Error(err, "unable to write an event", "object", event.InvolvedObject, "reason", event.Reason)
			return
		}
		timer := time.NewTimer(k.pause)
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// try writes an event once. It reports whether another try can help. When ctx ends, there are still some seconds for what was sent.
func (k *kubernetes) try(ctx context.Context, found *record.EventCorrelateResult) (again bool, err error) {
	longer, cancel := outlasting(ctx, k.lastCall)
	defer cancel()
	within, cancel := context.WithTimeout(longer, writeTimeout)
	defer cancel()
	written, err := k.store(within, found)
	if err == nil {
		k.correlator.UpdateState(written)
		return false, nil
	}
	if apierrors.IsAlreadyExists(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return false, nil
	}
	_, isRefused := errors.AsType[*apierrors.StatusError](err)
	_, isMalformed := errors.AsType[*rest.RequestConstructionError](err)
	return !isRefused && !isMalformed, err
}

func (k *kubernetes) store(ctx context.Context, found *record.EventCorrelateResult) (*corev1.Event, error) {
	if found.Event.Count > 1 {
		written, err := k.writer.PatchWithEventNamespaceWithContext(ctx, found.Event, found.Patch)
		if !util.IsKeyNotFoundError(err) {
			return written, err
		}
	}
	found.Event.ResourceVersion = ""
	return k.writer.CreateWithEventNamespaceWithContext(ctx, found.Event)
}
