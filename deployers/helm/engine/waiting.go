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

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/internal/records"
)

// waitingKey is the key of contexts for OnWait.
type waitingKey struct{}

// OnWait returns a context whose operations call waits each time they begin to wait for objects or hooks. The function has to return at once.
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

// ErrRecordsBusy says that an operation could not read the records of its release, because other calls have large ones in memory. It helps to try again.
var ErrRecordsBusy = records.ErrBusy

// sessionKey is the key of contexts for Session.
type sessionKey struct{}

// Session returns a context for one call for a DeployItem of a tenant, and the function that ends it. What the operations of the call read of records
// counts for the tenant from the first read to the end: while he has as much in memory as he may, they wait for other calls of his, and fail with
// ErrRecordsBusy after ten seconds.
func (e *Engine) Session(ctx context.Context, tenant string) (context.Context, func()) {
	claim := e.room.Claim(tenant)
	return context.WithValue(ctx, sessionKey{}, claim), claim.End
}

// boundIn returns what bounds the records that an operation reads.
func boundIn(ctx context.Context) records.Bound {
	claim, _ := ctx.Value(sessionKey{}).(*records.Claim)
	return records.Bound{Context: ctx, Claim: claim, Waits: func() { waits(ctx) }}
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
