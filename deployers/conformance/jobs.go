// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

func pickUp(ctx context.Context, b *bench) error {
	s, err := b.item(ctx, "pick-up", Good)
	if err != nil {
		return err
	}
	job, err := s.start(ctx)
	if err != nil {
		return err
	}
	item, err := s.pickedUp(ctx, job)
	if err != nil {
		return err
	}
	if item.Status.JobIDFinished == job {
		return fmt.Errorf("the first version with lastReconcileTime is the end of the job: %s", describe(item))
	}
	if d := item.Status.Deployer; d == nil || d.Identity == "" || d.Name == "" || d.Version == "" {
		return fmt.Errorf("the version that begins the job has deployer %+v", d)
	}
	_, err = s.finished(ctx, job)
	return err
}

func finalPhase(ctx context.Context, b *bench) error {
	s, item, err := b.succeeded(ctx, "final-phase")
	if s == nil {
		return err
	}
	if item == nil {
		return errors.Join(s.inOneWrite(s.lastJob()), err)
	}
	return s.inOneWrite(item.Status.JobID)
}

// lastJob returns the job in the newest version.
func (s *subject) lastJob() string {
	versions, _, _, _ := s.history.of(s.name)
	if item := last(versions); item != nil {
		return item.Status.JobID
	}
	return ""
}

func failure(ctx context.Context, b *bench) error {
	s, err := b.item(ctx, "failure", Bad)
	if err != nil {
		return err
	}
	return s.fails(ctx, 0)
}

// fails starts a job that has to fail, not before some time, and leave the item alone.
func (s *subject) fails(ctx context.Context, earliest time.Duration) error {
	begun := time.Now()
	job, err := s.start(ctx)
	if err != nil {
		return err
	}
	item, err := s.finished(ctx, job)
	took := time.Since(begun)
	switch {
	case err != nil:
		return err
	case item.Status.Phase != v1alpha1.PhaseFailed:
		return fmt.Errorf("the job ended: %s", describe(item))
	case item.Status.LastError == nil || item.Status.LastError.Message == "":
		return fmt.Errorf("the job ended without lastError.message: %s", describe(item))
	case took < earliest:
		return fmt.Errorf("the job failed after %s, before the timeout of %s; is the configuration slow?", took, earliest)
	}
	if err := s.inOneWrite(job); err != nil {
		return err
	}
	return s.quiet(ctx, item)
}

func observedGeneration(ctx context.Context, b *bench) error {
	s, item, err := b.succeeded(ctx, "generation")
	if err != nil {
		return err
	}
	if item.Status.ObservedGeneration != item.Generation {
		return fmt.Errorf("after the first job the item is %s", describe(item))
	}
	changed, err := s.edit(ctx, func(item *v1alpha1.DeployItem) {
		if b.Configurations[Changed] != nil {
			item.Spec.Configuration = b.Configurations.of(Changed, b.Namespace, s.name)
			return
		}
		item.Spec.Timeout = &v1alpha1.Duration{Duration: time.Hour}
	})
	if err != nil {
		return err
	}
	if err := s.quiet(ctx, changed); err != nil {
		return err
	}
	if item, err = s.succeeds(ctx); err == nil && item.Status.ObservedGeneration != item.Generation {
		return fmt.Errorf("after the job for the new generation the item is %s", describe(item))
	}
	return err
}

func idle(ctx context.Context, b *bench) error {
	s, err := b.item(ctx, "idle", Good)
	if err != nil {
		return err
	}
	fresh, err := s.seen(ctx, "the new item", func(*v1alpha1.DeployItem) bool { return true })
	if err != nil {
		return err
	}
	if err := s.quiet(ctx, fresh); err != nil {
		return err
	}
	item, err := s.succeeds(ctx)
	if err != nil {
		return err
	}
	return s.quiet(ctx, item)
}

func once(ctx context.Context, b *bench) error {
	s, _, err := b.succeeded(ctx, "once")
	if err != nil {
		return err
	}
	touched, err := s.edit(ctx, func(item *v1alpha1.DeployItem) { item.Labels["conformance"] = "touched" })
	if err != nil {
		return err
	}
	return s.quiet(ctx, touched)
}

func secondJob(ctx context.Context, b *bench) error {
	s, _, err := b.succeeded(ctx, "second")
	if err != nil {
		return err
	}
	item, err := s.succeeds(ctx)
	if err != nil {
		return err
	}
	if !item.IsPickedUp() {
		return fmt.Errorf("the second job ended with lastReconcileTime %v, before jobIDGenerationTime %v", item.Status.LastReconcileTime, item.Status.JobIDGenerationTime)
	}
	return s.inOneWrite(item.Status.JobID)
}

func exports(ctx context.Context, b *bench) error {
	_, item, err := b.succeeded(ctx, "exports")
	if err != nil {
		return err
	}
	ref := item.Status.ExportReference
	if ref == nil {
		return skip("the configuration \"good\" exports nothing")
	}
	if ref.Namespace != item.Namespace {
		return fmt.Errorf("exportRef names the namespace %q, the item is in %q", ref.Namespace, item.Namespace)
	}
	secret := &corev1.Secret{}
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
		return fmt.Errorf("when the job has ended: %w", err)
	}
	var values map[string]any
	if err := foreign.Unmarshal(secret.Data["config"], &values); err != nil || values == nil {
		return fmt.Errorf("key config of Secret %q holds no map of exports", ref.Name)
	}
	return nil
}

func garbageStatus(ctx context.Context, b *bench) error {
	s, err := b.item(ctx, "garbage", Good)
	if err != nil {
		return err
	}
	_, err = s.editStatus(ctx, func(item *v1alpha1.DeployItem) error {
		item.Status.Phase, item.Status.DeployItemPhase = "Nonsense", "Nonsense"
		item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"apiVersion":7,"kind":["x"],"managedResources":"none","y":{"z":[null]}}`)}
		return nil
	})
	if err != nil {
		return err
	}
	job, err := s.start(ctx)
	if err != nil {
		return err
	}
	if _, err = s.finished(ctx, job); err != nil {
		return err
	}
	if _, _, err = b.succeeded(ctx, "beside-garbage"); err != nil {
		return fmt.Errorf("another item: %w", err)
	}
	_, err = s.editStatus(ctx, func(item *v1alpha1.DeployItem) error { // so that the item can be deleted
		item.Status.ProviderStatus = nil
		return nil
	})
	return err
}

// rounds is how often staleNews races with the deployer, until landings interrupts have come in time.
const (
	rounds   = 30
	landings = 2
)

// staleNews ends jobs while the deployer works on them: in the request after the one that hands them over, and when they are begun. Of a job that was
// ended before it began the deployer learns twice, and whoever begins it by the first of these news overwrites its end.
func staleNews(ctx context.Context, b *bench) error {
	s, err := b.item(ctx, "stale-news", Good)
	if err != nil {
		return err
	}
	unbegun, err := s.race(ctx, s.interruptUnbegun)
	if err != nil {
		return fmt.Errorf("a job that was ended before it was begun: %w", err)
	}
	if b.Configurations[Slow] != nil {
		if s, err = b.item(ctx, "stale-news-begun", Slow); err != nil {
			return err
		}
	}
	begun, err := s.race(ctx, s.interruptBegun)
	switch {
	case err != nil:
		return fmt.Errorf("a job that was ended when it was begun: %w", err)
	case unbegun == 0:
		return skip("the deployer always began the job before the interrupt")
	case begun == 0:
		return skip("the deployer always ended the job before the interrupt; a configuration \"slow\" makes it slower")
	}
	return nil
}

// race interrupts jobs, and returns how often that came in time. After that nothing may be written.
func (s *subject) race(ctx context.Context, interrupt func(context.Context) (*v1alpha1.DeployItem, error)) (landed int, err error) {
	for round := 0; round < rounds && landed < landings; round++ {
		ended, err := interrupt(ctx)
		if errors.Is(err, errVoid) {
			continue
		}
		if err != nil {
			return landed, err
		}
		landed++
		if err := s.quiet(ctx, ended); err != nil {
			return landed, err
		}
	}
	return landed, nil
}

// interruptUnbegun hands a job over and ends it in the next request, which only comes in time if nobody has written in between.
func (s *subject) interruptUnbegun(ctx context.Context) (*v1alpha1.DeployItem, error) {
	item, err := s.handOver(ctx)
	if err != nil {
		return nil, err
	}
	job := item.Status.JobID
	item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, job
	err = s.client.Status().Update(ctx, item)
	if err == nil {
		s.history.wrote(item)
		return item, nil
	}
	if !apierrors.IsConflict(err) {
		return nil, err
	}
	if _, err = s.finished(ctx, job); err == nil {
		err = errVoid
	}
	return nil, err
}

// interruptBegun ends a job that the deployer has begun.
func (s *subject) interruptBegun(ctx context.Context) (*v1alpha1.DeployItem, error) {
	job, err := s.start(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.pickedUp(ctx, job); err != nil {
		return nil, err
	}
	return s.interrupt(ctx, job)
}

func timeout(ctx context.Context, b *bench) error {
	limit := 2 * time.Second
	s, err := b.item(ctx, "timeout", Slow, func(item *v1alpha1.DeployItem) { item.Spec.Timeout = &v1alpha1.Duration{Duration: limit} })
	if err != nil {
		return err
	}
	failed := s.fails(ctx, limit)
	_, err = s.edit(ctx, func(item *v1alpha1.DeployItem) { item.Spec.Timeout = nil }) // the uninstall may take longer
	return errors.Join(failed, err)
}

func interrupt(ctx context.Context, b *bench) error {
	s, err := b.item(ctx, "interrupt", Slow)
	if err != nil {
		return err
	}
	job, err := s.start(ctx)
	if err != nil {
		return err
	}
	if _, err := s.pickedUp(ctx, job); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	item, err := s.interrupt(ctx, job)
	if errors.Is(err, errVoid) {
		return skip("the configuration \"slow\" ended before the interrupt")
	}
	if err != nil {
		return err
	}
	return s.quiet(ctx, item)
}

func testReconcile(ctx context.Context, b *bench) error {
	s, before, err := b.succeeded(ctx, "test-reconcile")
	if err != nil {
		return err
	}
	_, err = s.edit(ctx, func(item *v1alpha1.DeployItem) {
		item.Annotations = map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationTestReconcile}
	})
	if err != nil {
		return err
	}
	item, err := s.seen(ctx, "the end of a new job without the annotation", func(item *v1alpha1.DeployItem) bool {
		status := item.Status
		return status.JobID != before.Status.JobID && status.IsIdle() && status.Phase.IsFinal() && item.Annotations[v1alpha1.OperationAnnotation] == ""
	})
	if err != nil {
		return err
	}
	return s.quiet(ctx, item)
}
