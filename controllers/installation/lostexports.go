// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// exportPace is the least time between the end of a job and the next one for an export that somebody has deleted.
const exportPace = 10 * time.Second

// lostExport returns an export that the last job of an idle Installation published for its present spec and that is gone; empty where all are
// there. The cache may be behind, so that what it does not show is looked for.
func (r *Reconciler) lostExport(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	if inst.Status.Phase != v1alpha1.PhaseSucceeded || inst.Status.ObservedGeneration != inst.Generation {
		return "", nil
	}
	for _, export := range relations.ExportsOf(inst) {
		kind, name, _ := strings.Cut(export, "/")
		key, object := client.ObjectKey{Namespace: inst.Namespace, Name: name}, client.Object(&v1alpha1.DataObject{})
		if kind == "Target" {
			object = &v1alpha1.Target{}
		}
		err := r.Get(ctx, key, object)
		if apierrors.IsNotFound(err) {
			err = r.Live.Get(ctx, key, object)
		}
		if apierrors.IsNotFound(err) {
			return kind + " " + name, nil
		}
		if err != nil {
			return "", err
		}
	}
	return "", nil
}

// exportsAgain returns why a root has to export again: it has lost an export, or an Installation below it says so. That ends the wait of those who
// import it. A job for it comes at a pace, whoever deletes exports how often ever.
func (r *Reconciler) exportsAgain(ctx context.Context, s *scope) (string, error) {
	lost, err := r.lostExport(ctx, s.inst)
	if err != nil {
		return "", err
	}
	if below := jobs.LossOf(s.inst, s.execution, s.children); lost == "" && below != nil && below.Reason == kit.ReasonExportLost {
		lost = below.Message
	}
	times := s.inst.Status.TransitionTimes
	if lost == "" || times == nil || times.FinishedTime == nil || s.inst.Status.ObservedGeneration != s.inst.Generation {
		return "", nil
	}
	if due := times.FinishedTime.Add(exportPace); due.After(s.now) {
		s.Wake(due.Sub(s.now))
		return "", nil
	}
	return "an export is gone: " + lost, nil
}
