// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package sidecar

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/flux-landscaper/flux-landscaper/deployers/container/layout"
)

// awaitMain returns how the user's program ended. It watches the Pod, and looks again when the watch breaks.
func (w *waiter) awaitMain(ctx context.Context) (*corev1.ContainerStateTerminated, error) {
	for {
		ended, version, err := w.look(ctx)
		if err != nil || ended != nil {
			return ended, err
		}
		if ended, err = w.watch(ctx, version); err != nil || ended != nil {
			return ended, err
		}
	}
}

func (w *waiter) look(ctx context.Context) (*corev1.ContainerStateTerminated, string, error) {
	var pod *corev1.Pod
	err := retry(ctx, func() (err error) {
		pod, err = w.client.CoreV1().Pods(w.namespace).Get(ctx, w.pod, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return nil, "", fmt.Errorf("read the own Pod: %w", err)
	}
	ended, err := w.end(pod)
	return ended, pod.ResourceVersion, err
}

// watch returns nothing when the watch ends before the program does.
func (w *waiter) watch(ctx context.Context, version string) (*corev1.ContainerStateTerminated, error) {
	var watcher watch.Interface
	err := retry(ctx, func() (err error) {
		watcher, err = w.client.CoreV1().Pods(w.namespace).Watch(ctx, metav1.ListOptions{
			FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, w.pod).String(), ResourceVersion: version,
		})
		if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
			watcher, err = nil, nil
		}
		return err
	})
	if err != nil || watcher == nil {
		return nil, err
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		pod, isPod := event.Object.(*corev1.Pod)
		if event.Type == watch.Error || !isPod {
			return nil, nil
		}
		if event.Type == watch.Deleted {
			return nil, errReplaced
		}
		if ended, err := w.end(pod); err != nil || ended != nil {
			return ended, err
		}
	}
	return nil, ctx.Err()
}

var errReplaced = errors.New("the own Pod is gone; nothing is stored")

func (w *waiter) end(pod *corev1.Pod) (*corev1.ContainerStateTerminated, error) {
	if string(pod.UID) != w.uid {
		return nil, errReplaced
	}
	for i := range pod.Status.ContainerStatuses {
		if status := &pod.Status.ContainerStatuses[i]; status.Name == layout.MainContainer && status.State.Terminated != nil {
			return status.State.Terminated, nil
		}
	}
	return nil, nil
}

// retry repeats a request that the API server could not answer now.
func retry(ctx context.Context, request func() error) error {
	backoff := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 12, Cap: 30 * time.Second}
	var last error
	err := wait.ExponentialBackoffWithContext(ctx, backoff, func(context.Context) (bool, error) {
		last = request()
		switch status := apierrors.APIStatus(nil); {
		case last == nil:
			return true, nil
		case apierrors.IsTooManyRequests(last), apierrors.IsInternalError(last), apierrors.IsServerTimeout(last), apierrors.IsTimeout(last),
			apierrors.IsServiceUnavailable(last), apierrors.IsConflict(last), !errors.As(last, &status):
			return false, nil
		}
		return false, last
	})
	if wait.Interrupted(err) && last != nil {
		return last
	}
	return err
}
