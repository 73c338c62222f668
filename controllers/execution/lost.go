// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// What becomes of a DeployItem that gets lost.
const (
	wasDeleted = "was deleted, and what it had deployed may be gone or left behind"
	wasWiped   = "has lost its status, which records what it has deployed"
)

// lostItem returns the name of the first template whose DeployItem is gone, in deletion or without its status, and what became of it; "" when there
// is none. Only what the last job of an idle Execution applied, and applied well, can get lost.
func lostItem(execution *v1alpha1.Execution, templates []v1alpha1.DeployItemTemplate, items []*v1alpha1.DeployItem) (name, loss string) {
	status := &execution.Status
	if !status.IsIdle() || status.Phase != v1alpha1.PhaseSucceeded || execution.Generation != status.ObservedGeneration {
		return "", ""
	}
	known, present := namesOf(execution, templates), make(map[string]*v1alpha1.DeployItem, len(items))
	for _, item := range items {
		if name := known.madeFrom(item); item.DeletionTimestamp.IsZero() && present[name] == nil {
			present[name] = item
		}
	}
	for i := range templates {
		item := present[templates[i].Name]
		if item == nil {
			return templates[i].Name, wasDeleted
		}
		if hasLost(item) {
			return templates[i].Name, wasWiped
		}
	}
	return "", ""
}

// isWiped reports whether nothing in the status of an item says that it has ever had a job.
func isWiped(item *v1alpha1.DeployItem) bool {
	return item.Status.JobID == "" && protocol.IsUntouched(item)
}

// hasLost reports whether an item of which it is known that it had a job has no status of that and no job since.
func hasLost(item *v1alpha1.DeployItem) bool {
	return item.Status.JobID == "" && (protocol.IsUntouched(item) || conditions.IsTrue(item, v1alpha1.RecordLostCondition))
}

// provesJobs reports whether the status of an Execution proves that each of its items has had a job: its last one has succeeded, or it has lost its
// status too, since a job is recorded before it makes an item. While a job runs, and after one that has failed, items may still wait for their first;
// a deletion keeps what was proved when it began.
func provesJobs(execution *v1alpha1.Execution) bool {
	phase := execution.Status.Phase
	return phase == v1alpha1.PhaseSucceeded || phase == "" || phase.IsDeletion() && execution.Status.AllItemsBegan
}

// noteLost notes in the status of items that it was lost, before the next job of the Execution begins and nothing proves that any more.
func (r *Reconciler) noteLost(ctx context.Context, s *scope) error {
	if !provesJobs(s.execution) {
		return nil
	}
	for _, item := range s.all {
		if !isWiped(item) || !metav1.IsControlledBy(item, s.execution) {
			continue
		}
		protocol.MarkRecordLost(item)
		if err := protocol.WriteItemStatus(ctx, r.Client, item, s.now, &r.items); client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

// showLoss shows that a DeployItem, or its status, was deleted since the last job, or takes that back.
func (r *Reconciler) showLoss(ctx context.Context, s *scope) (lost bool, err error) {
	ready := conditions.Get(s.execution, meta.ReadyCondition)
	before := ready != nil && ready.Reason == protocol.ReasonChildLost
	if readTemplates(ctx, s) != nil {
		return false, nil // the last job says so, or the next one will
	}
	name, loss := lostItem(s.execution, s.templates, s.all)
	if name != "" && !before {
		there, err := r.isThere(ctx, s.execution, name)
		if err != nil || there {
			return false, err
		}
	}
	switch {
	case name != "":
		protocol.ShowFailure(s.execution, &protocol.Failure{Kind: protocol.Stalled, Operation: operation, Reason: protocol.ReasonChildLost, Err: fmt.Errorf(
			"deploy item %s of execution %s %s: annotate the root %s=reconcile to deploy it again", name, s.execution.Name, loss, v1alpha1.OperationAnnotation)})
	case before:
		conditions.Delete(s.execution, meta.StalledCondition)
		conditions.MarkTrue(s.execution, meta.ReadyCondition, meta.ReconciliationSucceededReason, "%s", succeededMessage)
	}
	return name != "", nil
}

// mostNamesakes is how many items with the labels of one template are looked at: there is one, and more only where somebody has copied labels.
const mostNamesakes = 20

// isThere asks the API server whether a template has a DeployItem that nobody has deleted, with a status: the cache may be behind. One with another name than
// we give was taken over. Everybody may write labels, so only metadata is listed; where more have them than are looked at, nothing is known to be lost.
func (r *Reconciler) isThere(ctx context.Context, execution *v1alpha1.Execution, template string) (bool, error) {
	own := storage.ChildName(execution.Name, template)
	if there, err := isKept(ctx, r.Live, execution, template, own); there || err != nil {
		return there, err
	}
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("DeployItemList"))
	err := r.Live.List(ctx, list, client.InNamespace(execution.Namespace), client.Limit(mostNamesakes), client.MatchingLabels{
		v1alpha1.ExecutionManagedByLabel: execution.Name, v1alpha1.ExecutionManagedNameLabel: template,
	})
	if err != nil {
		return false, err
	}
	for i := range list.Items {
		item := &list.Items[i]
		if item.Name == own || !metav1.IsControlledBy(item, execution) || !item.DeletionTimestamp.IsZero() {
			continue
		}
		if there, err := isKept(ctx, r.Live, execution, template, item.Name); there || err != nil {
			return there, err
		}
	}
	return list.Continue != "", nil
}

// isKept asks the API server whether the item of a name belongs to a template, nobody has deleted it, and it has a status.
func isKept(ctx context.Context, live client.Reader, execution *v1alpha1.Execution, template, name string) (bool, error) {
	item := &v1alpha1.DeployItem{}
	if err := live.Get(ctx, client.ObjectKey{Namespace: execution.Namespace, Name: name}, item); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return cmp.Or(templateOf(item), template) == template && metav1.IsControlledBy(item, execution) && item.DeletionTimestamp.IsZero() && !hasLost(item), nil
}
