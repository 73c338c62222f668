// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// runLabel is on the items of a run.
const runLabel = "landscaper.gardener.cloud/conformance-run"

// bench is where the checks of a run work.
type bench struct {
	Options
	run     string
	client  client.WithWatch
	history *history

	mu    sync.Mutex
	items []*subject
}

// subject is an item that a check looks at.
type subject struct {
	*bench
	name string
	// created is when the API server made the item, at its clock; at is the same moment here.
	created, at time.Time
}

// item makes an item as an Execution does: with finalizer, without job.
func (b *bench) item(ctx context.Context, name, kind string, change ...func(*v1alpha1.DeployItem)) (*subject, error) {
	name = "conformance-" + b.run + "-" + name
	item := &v1alpha1.DeployItem{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: b.Namespace, Name: name, Finalizers: []string{v1alpha1.Finalizer}, Labels: map[string]string{runLabel: b.run},
		},
		Spec: v1alpha1.DeployItemSpec{Type: b.Type, Configuration: b.Configurations.of(kind, b.Namespace, name)},
	}
	if b.Target != "" {
		item.Spec.Target = &v1alpha1.DeployItemTarget{Name: b.Target}
	}
	for _, c := range change {
		c(item)
	}
	if err := b.client.Create(ctx, item); err != nil {
		return nil, fmt.Errorf("cannot make a DeployItem: %w", err)
	}
	b.history.wrote(item)
	s := &subject{bench: b, name: name, created: item.CreationTimestamp.Time, at: time.Now()}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, s)
	return s, nil
}

// now is the time at the clock of the API server, late by a second at most, so that a clock here that is wrong spoils no check.
func (s *subject) now() *metav1.Time {
	return &metav1.Time{Time: s.created.Add(time.Since(s.at))}
}

func (s *subject) key() client.ObjectKey {
	return client.ObjectKey{Namespace: s.Namespace, Name: s.name}
}

// errVoid says that the state of an item makes a change void.
var errVoid = errors.New("the change is void")

// write changes an item, whatever else happens to it, and returns the version that it wrote. The change may return errVoid.
func (s *subject) write(ctx context.Context, change func(*v1alpha1.DeployItem) error, update func(*v1alpha1.DeployItem) error) (*v1alpha1.DeployItem, error) {
	item := &v1alpha1.DeployItem{}
	err := retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error {
		if err := s.client.Get(ctx, s.key(), item); err != nil {
			return err
		}
		if err := change(item); err != nil {
			return err
		}
		return update(item)
	})
	if err != nil {
		return nil, err
	}
	s.history.wrote(item)
	return item, nil
}

// edit changes spec and metadata.
func (s *subject) edit(ctx context.Context, change func(*v1alpha1.DeployItem)) (*v1alpha1.DeployItem, error) {
	return s.write(ctx, func(item *v1alpha1.DeployItem) error { change(item); return nil },
		func(item *v1alpha1.DeployItem) error { return s.client.Update(ctx, item) })
}

// editStatus changes the status.
func (s *subject) editStatus(ctx context.Context, change func(*v1alpha1.DeployItem) error) (*v1alpha1.DeployItem, error) {
	return s.write(ctx, change, func(item *v1alpha1.DeployItem) error { return s.client.Status().Update(ctx, item) })
}

// handOver hands a new job to the item and returns the version with it.
func (s *subject) handOver(ctx context.Context) (*v1alpha1.DeployItem, error) {
	job := uuid.NewString()
	return s.editStatus(ctx, func(item *v1alpha1.DeployItem) error {
		item.Status.JobID, item.Status.JobIDGenerationTime = job, s.now()
		return nil
	})
}

// start hands a new job to the item and returns its ID.
func (s *subject) start(ctx context.Context) (string, error) {
	item, err := s.handOver(ctx)
	if err != nil {
		return "", err
	}
	return item.Status.JobID, nil
}

// interrupt ends the job from outside, unless it has ended.
func (s *subject) interrupt(ctx context.Context, job string) (*v1alpha1.DeployItem, error) {
	return s.editStatus(ctx, func(item *v1alpha1.DeployItem) error {
		if item.Status.JobIDFinished == job {
			return errVoid
		}
		item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, job
		return nil
	})
}

// seen waits for a version of the item.
func (s *subject) seen(ctx context.Context, what string, wanted func(*v1alpha1.DeployItem) bool) (found *v1alpha1.DeployItem, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.JobTimeout)
	defer cancel()
	var last *v1alpha1.DeployItem
	err = s.history.await(ctx, s.name, func(versions []*v1alpha1.DeployItem, _ bool) bool {
		for _, version := range versions {
			if last = version; wanted(version) {
				found = version
				return true
			}
		}
		return false
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%s was not seen within %s; the item is %s", what, s.JobTimeout, describe(last))
	}
	return found, err
}

// finished waits for the end of a job and returns the version with it.
func (s *subject) finished(ctx context.Context, job string) (*v1alpha1.DeployItem, error) {
	return s.seen(ctx, "the end of the job", func(item *v1alpha1.DeployItem) bool {
		return item.Status.JobIDFinished == job && item.Status.Phase.IsFinal()
	})
}

// succeeds starts a job, which has to succeed, and returns the last version.
func (s *subject) succeeds(ctx context.Context) (*v1alpha1.DeployItem, error) {
	job, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	item, err := s.finished(ctx, job)
	if err == nil && item.Status.Phase != v1alpha1.PhaseSucceeded {
		return nil, fmt.Errorf("the job ended: %s", describe(item))
	}
	return item, err
}

// pickedUp waits until the deployer has begun the job.
func (s *subject) pickedUp(ctx context.Context, job string) (*v1alpha1.DeployItem, error) {
	return s.seen(ctx, "lastReconcileTime of the job", func(item *v1alpha1.DeployItem) bool {
		return item.Status.JobID == job && item.IsPickedUp()
	})
}

// isGone waits until the item is deleted.
func (s *subject) isGone(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.JobTimeout)
	defer cancel()
	err := s.history.await(ctx, s.name, func(_ []*v1alpha1.DeployItem, gone bool) bool { return gone })
	if errors.Is(err, context.DeadlineExceeded) {
		versions, _, _, _ := s.history.of(s.name)
		return fmt.Errorf("the item is not gone after %s; it is %s", s.JobTimeout, describe(last(versions)))
	}
	return err
}

// quiet watches that nobody writes on the item after a version.
func (s *subject) quiet(ctx context.Context, after *v1alpha1.DeployItem) error {
	ctx, cancel := context.WithTimeout(ctx, s.Quiet)
	defer cancel()
	wentAway := false
	err := s.history.await(ctx, s.name, func(_ []*v1alpha1.DeployItem, gone bool) bool {
		wentAway = gone
		return gone || len(s.history.foreign(s.name, after.ResourceVersion)) > 0
	})
	if wentAway {
		return errors.New("the item went away")
	}
	if written := s.history.foreign(s.name, after.ResourceVersion); len(written) > 0 {
		return fmt.Errorf("the item was %s; then somebody wrote %s", describe(after), describe(written[0]))
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	return err
}

// settle waits until nothing has been written on the item for a while.
func (s *subject) settle(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.JobTimeout)
	defer cancel()
	for {
		versions, gone, _, err := s.history.of(s.name)
		if gone || err != nil {
			return errors.Join(err, errors.New("the item did not stay"))
		}
		if s.quiet(ctx, last(versions)) == nil {
			return nil
		}
	}
}

func last(versions []*v1alpha1.DeployItem) *v1alpha1.DeployItem {
	if len(versions) == 0 {
		return nil
	}
	return versions[len(versions)-1]
}

// describe says what the status of a version says about the job. Messages of errors may hold what a tenant keeps secret and are left out.
func describe(item *v1alpha1.DeployItem) string {
	if item == nil {
		return "not there"
	}
	status := item.Status
	text := fmt.Sprintf("phase %q, jobID %q, jobIDFinished %q, observedGeneration %d of %d, resourceVersion %s",
		status.Phase, status.JobID, status.JobIDFinished, status.ObservedGeneration, item.Generation, item.ResourceVersion)
	if status.LastError != nil {
		text += fmt.Sprintf(", lastError.reason %q", status.LastError.Reason)
	}
	return text
}
