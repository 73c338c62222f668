// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// waitingKey is the key of contexts for OnWait.
type waitingKey struct{}

// OnWait returns a context whose operations call waits each time they begin to wait for objects, hooks or room. The function has to return at once.
func OnWait(ctx context.Context, waits func()) context.Context {
	if waits == nil {
		return ctx
	}
	return context.WithValue(ctx, waitingKey{}, waits)
}

// waits says that an operation begins to wait.
func waits(ctx context.Context) {
	if tell, ok := ctx.Value(waitingKey{}).(func()); ok {
		tell()
	}
}

// trusting calls what takes for granted that an API server has filled in the defaults of objects. It runs in a goroutine of Helm, whose panics nobody else
// can catch.
func trusting(call func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the cluster answers with objects in which fields are missing that every API server sets; see what serves them")
		}
	}()
	return call()
}

// hookPart is how long Helm waits for a hook at a stretch. No context ends that: what an operation leaves behind that was ended goes away with its part.
const hookPart = time.Minute

// inParts waits for timeout, one part after the other, unless ctx ends. Wait ends each with an error of wait.Interrupted where its time was too short.
func inParts(ctx context.Context, timeout, part time.Duration, waitFor func(time.Duration) error) error {
	end := time.Now().Add(timeout)
	for {
		left := time.Until(end)
		err := waitFor(max(min(left, part), time.Millisecond)) // zero has no end
		if !wait.Interrupted(err) || left <= part || ctx.Err() != nil {
			return err
		}
	}
}

// Wait waits until objects are ready.
func (s *sparing) Wait(resources kube.ResourceList, timeout time.Duration) error {
	waits(s.ctx)
	return trusting(func() error { return s.Client.Wait(resources, timeout) })
}

// WaitWithJobs waits until objects are ready and Jobs are complete.
func (s *sparing) WaitWithJobs(resources kube.ResourceList, timeout time.Duration) error {
	waits(s.ctx)
	return trusting(func() error { return s.Client.WaitWithJobs(resources, timeout) })
}

// WaitAndGetCompletedPodPhase waits until a Pod has ended.
func (s *sparing) WaitAndGetCompletedPodPhase(name string, timeout time.Duration) (corev1.PodPhase, error) {
	waits(s.ctx)
	return s.Client.WaitAndGetCompletedPodPhase(name, timeout)
}
