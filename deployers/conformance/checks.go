// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// check looks at one rule of the contract.
type check struct {
	name string
	// contract is the rule.
	contract string
	// needs lists the configurations without which the check is skipped.
	needs []string
	run   func(context.Context, *bench)
}

// checks in the order in which they are reported.
var checks = []check{
	{"pick-up", "A deployer begins a job by one write with lastReconcileTime not before jobIDGenerationTime, and with deployer.identity, .name and .version.",
		[]string{Good}, pickUp},
	{"final-phase", "A job ends in one write: the final phase, and jobIDFinished equal to jobID. No version has one of them only.",
		[]string{Good}, finalPhase},
	{"failure", "A job that cannot succeed ends in phase Failed with lastError and jobIDFinished, in one write; then nothing is written.",
		[]string{Bad}, failure},
	{"observed-generation", "A new generation without a job starts nothing; the next job writes it into observedGeneration.",
		[]string{Good}, observedGeneration},
	{"idle", "Nothing is written on an item without a job, nor on one whose job has ended.",
		[]string{Good}, idle},
	{"once", "A job that has ended is not carried out again, also when something else on the item changes.",
		[]string{Good}, once},
	{"second-job", "Another jobID is another job, also when nothing else has changed.",
		[]string{Good}, secondJob},
	{"exports", "Exports are in a Secret with the key config in the namespace of the item, named in exportRef when the job ends.",
		[]string{Good}, exports},
	{"garbage-status", "Whatever a status holds, the job ends, and other items are carried out.",
		[]string{Good}, garbageStatus},
	{"crash", "A job that a process of the deployer had begun before it died is carried out to its end by the one that comes after it.",
		[]string{Good}, crash},
	{"stale-news", "A result never overwrites what somebody else has written meanwhile, as the end of the job by an interrupt.",
		[]string{Good}, staleNews},
	{"timeout", "A job that takes longer than spec.timeout ends in phase Failed with lastError.",
		[]string{Slow}, timeout},
	{"interrupt", "A job that somebody else has ended, with phase Failed and jobIDFinished, stops; nothing more is written for it.",
		[]string{Slow}, interrupt},
	{"test-reconcile", "The annotation landscaper.gardener.cloud/operation: test-reconcile is removed and gives the item one new job.",
		[]string{Good}, testReconcile},
	{"delete", "An item in deletion stays until it gets a job. That job uninstalls and removes the finalizer.",
		[]string{Good}, deletion},
	{"delete-without-uninstall", "With landscaper.gardener.cloud/delete-without-uninstall: \"true\" the job removes only the finalizer, also when the Target is missing.",
		[]string{Good}, deleteWithoutUninstall},
	{"other-types", "Items of other types belong to other deployers.",
		nil, otherTypes},
}

func pickUp(ctx context.Context, b *bench) {
	s := b.item(ctx, "pick-up", Good)
	job := s.start(ctx)
	item := s.pickedUp(ctx, job)
	if item.Status.JobIDFinished == job {
		failed("the first version with lastReconcileTime is the end of the job: %s", describe(item))
	}
	if d := item.Status.Deployer; d == nil || d.Identity == "" || d.Name == "" || d.Version == "" {
		failed("the version that begins the job has deployer %+v", d)
	}
	s.finished(ctx, job)
}

func finalPhase(ctx context.Context, b *bench) {
	s := b.item(ctx, "final-phase", Good)
	job := s.start(ctx)
	ended := attempt("", func() { s.finished(ctx, job) })
	s.inOneWrite(job)
	must(ended)
	if item := s.finished(ctx, job); item.Status.Phase != v1alpha1.PhaseSucceeded {
		failed("the job ended: %s", describe(item))
	}
}

func failure(ctx context.Context, b *bench) { b.item(ctx, "failure", Bad).fails(ctx, 0) }

// fails starts a job that has to fail, not before some time, and leave the item alone.
func (s *subject) fails(ctx context.Context, earliest time.Duration) {
	begun := time.Now()
	job := s.start(ctx)
	item := s.finished(ctx, job)
	took := time.Since(begun)
	switch {
	case item.Status.Phase != v1alpha1.PhaseFailed:
		failed("the job ended: %s", describe(item))
	case item.Status.LastError == nil || item.Status.LastError.Message == "":
		failed("the job ended without lastError.message: %s", describe(item))
	case took < earliest:
		failed("the job failed after %s, before the timeout of %s; is the configuration slow?", took, earliest)
	}
	s.inOneWrite(job)
	s.quiet(ctx, item)
}

func observedGeneration(ctx context.Context, b *bench) {
	s, item := b.succeeded(ctx, "generation")
	if item.Status.ObservedGeneration != item.Generation {
		failed("after the first job the item is %s", describe(item))
	}
	s.quiet(ctx, s.edit(ctx, func(item *v1alpha1.DeployItem) {
		if b.Configurations[Changed] != nil {
			item.Spec.Configuration = b.Configurations.of(Changed, b.Namespace, s.name)
			return
		}
		item.Spec.Timeout = &v1alpha1.Duration{Duration: time.Hour}
	}))
	if item = s.succeeds(ctx); item.Status.ObservedGeneration != item.Generation {
		failed("after the job for the new generation the item is %s", describe(item))
	}
}

func idle(ctx context.Context, b *bench) {
	s := b.item(ctx, "idle", Good)
	s.quiet(ctx, s.seen(ctx, "the new item", func(*v1alpha1.DeployItem) bool { return true }))
	s.quiet(ctx, s.succeeds(ctx))
}

func once(ctx context.Context, b *bench) {
	s, _ := b.succeeded(ctx, "once")
	s.quiet(ctx, s.edit(ctx, func(item *v1alpha1.DeployItem) { item.Labels["conformance"] = "touched" }))
}

func secondJob(ctx context.Context, b *bench) {
	s, _ := b.succeeded(ctx, "second")
	item := s.succeeds(ctx)
	if !item.IsPickedUp() {
		failed("the second job ended with lastReconcileTime %v, before jobIDGenerationTime %v", item.Status.LastReconcileTime, item.Status.JobIDGenerationTime)
	}
	s.inOneWrite(item.Status.JobID)
}

func exports(ctx context.Context, b *bench) {
	_, item := b.succeeded(ctx, "exports")
	ref := item.Status.ExportReference
	if ref == nil {
		must(skip("the configuration \"good\" exports nothing"))
	}
	if ref.Namespace != item.Namespace {
		failed("exportRef names the namespace %q, the item is in %q", ref.Namespace, item.Namespace)
	}
	secret := &corev1.Secret{}
	if err := b.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, secret); err != nil {
		failed("when the job has ended: %w", err)
	}
	var values map[string]any
	if err := foreign.Unmarshal(secret.Data["config"], &values); err != nil || values == nil {
		failed("key config of Secret %q holds no map of exports", ref.Name)
	}
}

func garbageStatus(ctx context.Context, b *bench) {
	s := b.item(ctx, "garbage", Good)
	s.editStatus(ctx, func(item *v1alpha1.DeployItem) {
		item.Status.Phase, item.Status.DeployItemPhase = "Nonsense", "Nonsense"
		item.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte(`{"apiVersion":7,"kind":["x"],"managedResources":"none","y":{"z":[null]}}`)}
	})
	s.finished(ctx, s.start(ctx))
	must(attempt("another item: ", func() { b.succeeded(ctx, "beside-garbage") }))
	s.editStatus(ctx, func(item *v1alpha1.DeployItem) { item.Status.ProviderStatus = nil }) // so that the item can be deleted
}

// crash leaves jobs in the state in which a process of the deployer leaves them that dies right after it has begun them: one that deploys, and one that
// uninstalls.
func crash(ctx context.Context, b *bench) {
	s, _ := b.succeeded(ctx, "crash")
	job := s.abandon(ctx, v1alpha1.PhaseProgressing)
	if item := s.finished(ctx, job); item.Status.Phase != v1alpha1.PhaseSucceeded {
		failed("the job ended: %s", describe(item))
	}
	s.inOneWrite(job)
	s.delete(ctx)
	job = s.abandon(ctx, v1alpha1.PhaseDeleting)
	must(attempt("in the deletion: ", func() { s.isGone(ctx) }))
	s.inOneWrite(job)
}

// abandon writes a new job of which the status says that the deployer has begun it, and returns its ID. Identity and name of the deployer are those of the
// job before.
func (s *subject) abandon(ctx context.Context, phase v1alpha1.Phase) string {
	job := uuid.NewString()
	s.editStatus(ctx, func(item *v1alpha1.DeployItem) {
		status, now := &item.Status, s.now()
		status.JobID, status.JobIDGenerationTime, status.LastReconcileTime = job, now, now
		status.Phase, status.ObservedGeneration = phase, item.Generation
		if status.TransitionTimes != nil {
			status.TransitionTimes.InitTime, status.TransitionTimes.FinishedTime = now, nil
		}
	})
	return job
}

// rounds is how often staleNews races with the deployer, until landings interrupts have come in time.
const (
	rounds   = 30
	landings = 2
)

// staleNews ends jobs while the deployer works on them: in the request after the one that hands them over, and when they are begun. Of a job that was
// ended before it began the deployer learns twice, and whoever begins it by the first of these news overwrites its end.
func staleNews(ctx context.Context, b *bench) {
	s := b.item(ctx, "stale-news", Good)
	unbegun := s.race(ctx, "a job that was ended before it was begun: ", s.interruptUnbegun)
	if b.Configurations[Slow] != nil {
		s = b.item(ctx, "stale-news-begun", Slow)
	}
	begun := s.race(ctx, "a job that was ended when it was begun: ", func(ctx context.Context) *v1alpha1.DeployItem {
		job := s.start(ctx)
		s.pickedUp(ctx, job)
		return s.interrupt(ctx, job)
	})
	switch {
	case unbegun == 0:
		must(skip("the deployer always began the job before the interrupt"))
	case begun == 0:
		must(skip("the deployer always ended the job before the interrupt; a configuration \"slow\" makes it slower"))
	}
}

// race interrupts jobs, and returns how often that came in time. After that nothing may be written.
func (s *subject) race(ctx context.Context, what string, interrupt func(context.Context) *v1alpha1.DeployItem) (landed int) {
	for round := 0; round < rounds && landed < landings; round++ {
		err := attempt(what, func() {
			ended := interrupt(ctx)
			landed++
			s.quiet(ctx, ended)
		})
		if !errors.Is(err, errVoid) {
			must(err)
		}
	}
	return landed
}

// interruptUnbegun hands a job over and ends it in the next request, which only comes in time if nobody has written in between.
func (s *subject) interruptUnbegun(ctx context.Context) *v1alpha1.DeployItem {
	item := s.handOver(ctx)
	job := item.Status.JobID
	item.Status.Phase, item.Status.JobIDFinished = v1alpha1.PhaseFailed, job
	err := s.client.Status().Update(ctx, item)
	if apierrors.IsConflict(err) {
		s.finished(ctx, job)
		err = errVoid
	}
	must(err)
	s.history.wrote(item)
	return item
}

func timeout(ctx context.Context, b *bench) {
	limit := 2 * time.Second
	s := b.item(ctx, "timeout", Slow, func(item *v1alpha1.DeployItem) { item.Spec.Timeout = &v1alpha1.Duration{Duration: limit} })
	err := attempt("", func() { s.fails(ctx, limit) })
	s.edit(ctx, func(item *v1alpha1.DeployItem) { item.Spec.Timeout = nil }) // the uninstall may take longer
	must(err)
}

func interrupt(ctx context.Context, b *bench) {
	s := b.item(ctx, "interrupt", Slow)
	job := s.start(ctx)
	s.pickedUp(ctx, job)
	s.settle(ctx)
	err := attempt("", func() { s.quiet(ctx, s.interrupt(ctx, job)) })
	if errors.Is(err, errVoid) {
		err = skip("the configuration \"slow\" ended before the interrupt")
	}
	must(err)
}

func testReconcile(ctx context.Context, b *bench) {
	s, before := b.succeeded(ctx, "test-reconcile")
	s.edit(ctx, func(item *v1alpha1.DeployItem) {
		item.Annotations = map[string]string{v1alpha1.OperationAnnotation: v1alpha1.OperationTestReconcile}
	})
	s.quiet(ctx, s.seen(ctx, "the end of a new job without the annotation", func(item *v1alpha1.DeployItem) bool {
		status := item.Status
		return status.JobID != before.Status.JobID && status.IsIdle() && status.Phase.IsFinal() && item.Annotations[v1alpha1.OperationAnnotation] == ""
	}))
}

func deletion(ctx context.Context, b *bench) {
	s, _ := b.succeeded(ctx, "delete")
	marked := s.delete(ctx)
	must(attempt("before there was a job: ", func() { s.quiet(ctx, marked) }))
	job := s.start(ctx)
	s.isGone(ctx)
	s.inOneWrite(job)
}

func deleteWithoutUninstall(ctx context.Context, b *bench) {
	s := b.item(ctx, "without-uninstall", Good, func(item *v1alpha1.DeployItem) {
		item.Annotations = map[string]string{v1alpha1.DeleteWithoutUninstallAnnotation: "true"}
		item.Spec.Target = &v1alpha1.DeployItemTarget{Name: item.Name}
	})
	s.delete(ctx)
	s.start(ctx)
	s.isGone(ctx)
}

func otherTypes(ctx context.Context, b *bench) {
	s := b.item(ctx, "other-type", Good, func(item *v1alpha1.DeployItem) { item.Spec.Type = "conformance.landscaper.gardener.cloud/" + b.run })
	job := s.start(ctx)
	s.quiet(ctx, s.seen(ctx, "the job that was handed over", func(item *v1alpha1.DeployItem) bool { return item.Status.JobID == job }))
}

// succeeded makes an item and lets it succeed.
func (b *bench) succeeded(ctx context.Context, name string) (*subject, *v1alpha1.DeployItem) {
	s := b.item(ctx, name, Good)
	return s, s.succeeds(ctx)
}

// inOneWrite checks that no version up to the end of a job has half of the end. The phase of the job before stays until the job begins.
func (s *subject) inOneWrite(job string) {
	versions, _, _, err := s.history.of(s.name)
	must(err)
	begun := false
	for _, item := range versions {
		if item.Status.JobID != job {
			continue
		}
		ended := item.Status.JobIDFinished == job
		begun = begun || !item.Status.Phase.IsFinal()
		if ended && !item.Status.Phase.IsFinal() {
			failed("a version has jobIDFinished without a final phase: %s", describe(item))
		}
		if begun && !ended && item.Status.Phase.IsFinal() {
			failed("a version has a final phase without jobIDFinished: %s", describe(item))
		}
	}
}
