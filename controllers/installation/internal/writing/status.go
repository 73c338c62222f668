// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package writing writes an Installation: its status, and of its metadata what is ours, also while others edit it. It decides nothing about jobs but
// which one follows the one that ends, because that is the same write. It promises nothing to others.
package writing

import (
	"context"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/record"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// Writer writes Installations.
type Writer struct {
	client.Client
	// Live reads from the API server.
	Live     client.Reader
	Recorder record.EventRecorder
	Related  *relations.Finder
	// Written learns of the writes.
	Written *kit.Consistency
	// Restored says how often finalizers are put back.
	Restored *flowcontrol.Backoff
}

// Draft is an Installation on the way from the state that the API server has to the one that a reconciliation gives it.
type Draft struct {
	*jobs.Alarm
	Inst *v1alpha1.Installation
	// Persisted is the status that the API server has.
	Persisted *v1alpha1.InstallationStatus
	// Started is the status right after a job was started in this reconciliation.
	Started *v1alpha1.InstallationStatus
	// Outcome is set when the running job ended in this reconciliation.
	Outcome *Outcome
	Now     time.Time
}

// Outcome is how a job ended in a reconciliation.
type Outcome struct {
	// Failure is nil where the job has succeeded; Message says then what it has deployed.
	Failure *kit.Failure
	Message string
	// Took is for how long the job has run.
	Took time.Duration
}

// Settle writes the status, with the job that follows, and then what metadata has to say about the operation that started the job.
func (w *Writer) Settle(ctx context.Context, d *Draft) error {
	if err := w.recordStart(ctx, d); err != nil {
		return err
	}
	if err := w.queueNext(ctx, d); err != nil {
		return err
	}
	jobs.CloseOperation(d.Inst)
	before := d.Persisted
	if err := w.WriteStatus(ctx, d); err != nil {
		return err
	}
	if d.Persisted != before {
		w.announce(ctx, d)
	}
	return w.Mend(ctx, d)
}

// Begin makes a new job durable before anything is created for it: first its ID, then the finalizer and that no operation is left.
func (w *Writer) Begin(ctx context.Context, d *Draft) error {
	if err := w.WriteStatus(ctx, d); err != nil {
		return err
	}
	return w.PatchMetadata(ctx, d, d.answer(kit.MetadataChange{AddFinalizer: v1alpha1.Finalizer}))
}

// recordStart writes that the job of an operation has started, in status and then in metadata, where it ends in the reconciliation that started
// it: no version may show the end while nothing but the annotations tells whether the operation is the one that the job answers.
func (w *Writer) recordStart(ctx context.Context, d *Draft) error {
	if d.Started == nil || !jobs.OperationAnswered(d.Inst) || d.Inst.Status.JobIDFinished != d.Inst.Status.OperationJobID {
		return nil
	}
	end := d.Inst.Status.DeepCopy()
	d.Inst.Status = *d.Started
	if err := w.WriteStatus(ctx, d); err != nil {
		return err
	}
	if err := w.Mend(ctx, d); err != nil {
		return err
	}
	d.Inst.Status = *end
	return nil
}

// WriteStatus writes the status if it changed.
func (w *Writer) WriteStatus(ctx context.Context, d *Draft) (err error) {
	d.Persisted, err = kit.WriteStatus(ctx, w.Client, d.Inst, &d.Inst.Status, d.Persisted, w.Written)
	if apierrors.IsConflict(err) {
		return w.statusBeside(ctx, d, err)
	}
	return err
}

// queueNext requests the job that has to follow in the same write that ends one, so that nobody sees an idle Installation in between.
func (w *Writer) queueNext(ctx context.Context, d *Draft) error {
	if d.Outcome == nil {
		return nil
	}
	parent, err := w.Related.Parent(ctx, d.Inst)
	if err != nil {
		return err
	}
	if job, message := jobs.NextJob(d.Inst, parent); job != "" {
		d.Inst.Status.JobID = job
		kit.Progress(d.Inst, meta.ProgressingReason, message)
	}
	return nil
}

// announce logs the end of a job and sends the event of it.
func (w *Writer) announce(ctx context.Context, d *Draft) {
	if d.Outcome == nil {
		return
	}
	kind, reason, message := corev1.EventTypeNormal, meta.ReconciliationSucceededReason, d.Outcome.Message
	if failure := d.Outcome.Failure; failure != nil {
		kind, reason, message = corev1.EventTypeWarning, failure.Reason, failure.Error()
		if reason == jobs.ReasonAnotherJob {
			kind = corev1.EventTypeNormal
		}
	}
	w.log(ctx, d, d.Inst.Status.JobIDFinished, string(d.Inst.Status.Phase), reason, d.Outcome.Took)
	w.event(d.Inst, kind, reason, message)
}

// reasonUninstalled says that nothing of an Installation is left.
const reasonUninstalled = "UninstallSucceeded"

// AnnounceRelease logs the end of a deletion that let an Installation go, and sends the event of it.
func (w *Writer) AnnounceRelease(ctx context.Context, d *Draft, took time.Duration) {
	message := "Uninstalled"
	if revision := d.Inst.Status.LastAppliedRevision; revision != "" {
		message += " " + jobs.ShortRevision(revision)
	}
	if jobs.KeepsDeployed(d.Inst) {
		message = "Deleted without uninstall"
	}
	if took > 0 {
		message += " in " + took.String()
	}
	w.log(ctx, d, d.Inst.Status.JobID, "Deleted", reasonUninstalled, took)
	w.event(d.Inst, corev1.EventTypeNormal, reasonUninstalled, message)
}

// log writes the line that each job of an Installation leaves.
func (w *Writer) log(ctx context.Context, d *Draft, job, result, reason string, took time.Duration) {
	root := d.Inst
	for range relations.MaxDepth {
		parent, err := w.Related.Parent(ctx, root)
		if err != nil || parent == nil {
			break
		}
		root = parent
	}
	ctrl.LoggerFrom(ctx).Info("job ended", "root", root.Name, "job", job, "revision", d.Inst.Status.LastAttemptedRevision,
		"duration", took.String(), "result", result, "reason", reason)
}

// event writes an event with what the job used.
func (w *Writer) event(inst *v1alpha1.Installation, kind, reason, message string) {
	w.Recorder.AnnotatedEventf(inst, jobs.EventMetadata(inst), kind, reason, "%s", message)
}
