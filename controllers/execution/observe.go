// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

const (
	succeededMessage = "all deploy items succeeded"
	workingMessage   = "deploy items are processed"
	deletingMessage  = "deploy items are being deleted"
)

// verdict is what became of a job.
type verdict int

const (
	unfinished verdict = iota
	allSucceeded
	someFailed
)

// judge returns what became of a job on the items of the templates, and the first item that failed. A failed one decides only when none
// is running any more.
func judge(templates []v1alpha1.DeployItemTemplate, items map[string]*v1alpha1.DeployItem, job string) (verdict, *v1alpha1.DeployItem) {
	var failed *v1alpha1.DeployItem
	done, running := 0, 0
	for i := range templates {
		item := items[templates[i].Name]
		switch {
		case succeeded(item, job):
			done++
		case ended(item, job) && failed == nil:
			failed = item
		case item != nil && item.Status.JobID == job && !item.Status.IsIdle():
			running++
		}
	}
	switch {
	case failed != nil && running == 0:
		return someFailed, failed
	case done == len(templates):
		return allSucceeded, nil
	}
	return unfinished, nil
}

// observeItems ends the job when all items have succeeded, or when one has failed and none is running. Otherwise the next
// event of an item comes back here.
func (r *Reconciler) observeItems(ctx context.Context, s *scope) error {
	result, failed := judge(s.templates, s.items, s.execution.Status.JobID)
	switch result {
	case someFailed:
		s.fail(itemFailure(failed))
	case allSucceeded:
		if err := (exporter{r.Client, r.Live}).collect(ctx, s); err != nil {
			return err
		}
		protocol.Succeed(s.execution, succeededMessage, s.now)
	default:
		s.showCause(s.inOrder(), workingMessage)
		return r.letGoUnpicked(ctx, s)
	}
	return nil
}

// inOrder returns the items of the templates in the order of the spec.
func (s *scope) inOrder() []*v1alpha1.DeployItem {
	var items []*v1alpha1.DeployItem
	for i := range s.templates {
		if item := s.items[s.templates[i].Name]; item != nil {
			items = append(items, item)
		}
	}
	return items
}

// showCause shows what the running job waits for.
func (s *scope) showCause(items []*v1alpha1.DeployItem, otherwise string) {
	protocol.ShowCause(s.execution, s.causeAt(items), otherwise)
}

// causeAt returns why the running job is not done: why an item is tried again, that no deployer begins one, or what one waits for. What an item shows
// before its deployer has picked the job up belongs to the job before, unless the controller says it.
func (s *scope) causeAt(items []*v1alpha1.DeployItem) protocol.Cause {
	running := slices.DeleteFunc(slices.Clone(items), func(item *v1alpha1.DeployItem) bool {
		return item.Status.JobID != s.execution.Status.JobID || item.Status.IsIdle()
	})
	for _, item := range running {
		if status := &item.Status; status.Phase != "" && !status.Phase.IsFinal() && status.LastError != nil {
			return protocol.Cause{Reason: meta.ProgressingWithRetryReason, Message: itemFailure(item).Error()}
		}
	}
	if late, _ := s.late(running, unattended); len(late) > 0 {
		return unpicked(late[0])
	}
	for _, item := range running {
		if cause := protocol.CauseOf(item); cause.Message != "" {
			return cause.Below(wayTo(item))
		}
	}
	return protocol.Cause{}
}

// wayTo names an item as its Execution shows it.
func wayTo(item *v1alpha1.DeployItem) string {
	return fmt.Sprintf("deploy item %s (%s)", templateOf(item), item.Name)
}

// itemFailure passes the cause of a failed item on, with its name.
func itemFailure(item *v1alpha1.DeployItem) *protocol.Failure {
	failure := &protocol.Failure{Kind: protocol.Stalled, Operation: operation, Reason: "DeployItemFailed"}
	last := item.Status.LastError
	if last == nil {
		failure.Err = fmt.Errorf("%s is %s", wayTo(item), item.Status.Phase)
		return failure
	}
	failure.Codes = last.Codes
	if last.Reason != "" {
		failure.Reason = last.Reason
	}
	failure.Err = fmt.Errorf("%s: %s", wayTo(item), last.Message)
	return failure
}

// showDrift shows which items are not as they were deployed, also while no job runs.
func showDrift(_ context.Context, s *scope) error {
	var drifted []string
	for _, item := range s.all {
		if conditions.IsTrue(item, v1alpha1.DriftedCondition) {
			drifted = append(drifted, "deploy item "+cmp.Or(item.Labels[v1alpha1.ExecutionManagedNameLabel], item.Name))
		}
	}
	protocol.ShowDrift(s.execution, drifted)
	return nil
}

// unattended is how long a job waits for its deployer before that is shown. It is long, because deployers that are only busy must not cost
// writes.
const unattended = time.Minute

// grace is how long a job that a deletion waits for waits for its deployer.
const grace = 10 * time.Second

// letGoUnpicked ends the job of an Execution whose Installation is being deleted when all that it waits for are items that no deployer has ever
// begun, nor begins this time.
func (r *Reconciler) letGoUnpicked(ctx context.Context, s *scope) error {
	late, running := s.late(s.inOrder(), grace)
	isAwaited := func(item *v1alpha1.DeployItem) bool {
		return !slices.Contains(late, item) || !protocol.IsUntouched(item)
	}
	if len(late) == 0 || slices.ContainsFunc(running, isAwaited) {
		return nil
	}
	parent, err := parentOf(ctx, r.Client, s.execution)
	if err != nil || parent == nil || parent.DeletionTimestamp.IsZero() {
		return err
	}
	s.fail(&protocol.Failure{Kind: protocol.Stalled, Operation: operation, Reason: "NotPickedUp", Err: errors.New(unpicked(late[0]).Message)})
	return nil
}

// late returns which of the items that run the job no deployer has begun for a time. It notes when to look again.
func (s *scope) late(items []*v1alpha1.DeployItem, after time.Duration) (late, running []*v1alpha1.DeployItem) {
	for _, item := range items {
		if item.Status.JobID != s.execution.Status.JobID || item.Status.IsIdle() {
			continue
		}
		running = append(running, item)
		requested := item.Status.JobIDGenerationTime
		if requested == nil || item.IsPickedUp() {
			continue
		}
		left := requested.Add(after).Sub(s.now)
		switch {
		case left <= 0, protocol.IsAhead(requested.Time, s.now):
			late = append(late, item)
		case s.requeue == 0 || left < s.requeue:
			s.requeue = left
		}
	}
	return late, running
}

// unpicked says that no deployer has picked up the job of an item, and why where the controller has found that out.
func unpicked(item *v1alpha1.DeployItem) protocol.Cause {
	cause := protocol.CauseOf(item)
	if cause.Message == "" {
		cause = protocol.Cause{Reason: meta.ProgressingWithRetryReason, Message: fmt.Sprintf(
			"no deployer has picked up its job; run a deployer for type %s and its Target", item.Spec.Type)}
	}
	return cause.Below(wayTo(item))
}

// runsByClock reports whether an item runs a job that it gave itself by the clock. Nobody waits for such a job, and one of the Execution takes its
// place: it does the same, and more.
func runsByClock(item *v1alpha1.DeployItem) bool {
	return !item.Status.IsIdle() && isOfClock(item)
}

// isOfClock reports whether the clock gave an item its last job.
func isOfClock(item *v1alpha1.DeployItem) bool {
	return strings.HasPrefix(item.Status.JobID, v1alpha1.ContinuousJobPrefix)
}

// showClock shows on an Execution that has succeeded when an item has failed since in a job by the clock, and takes that back once it has succeeded.
// The phase stays that of the last job. The clock tries again, so nobody has to act yet. While the item works, what is shown stays.
func (s *scope) showClock() {
	if !s.execution.Status.IsIdle() || s.execution.Status.Phase != v1alpha1.PhaseSucceeded {
		return
	}
	own := slices.DeleteFunc(slices.Clone(s.all), func(item *v1alpha1.DeployItem) bool {
		return !metav1.IsControlledBy(item, s.execution) || !isOfClock(item)
	})
	slices.SortFunc(own, func(a, b *v1alpha1.DeployItem) int { return strings.Compare(a.Name, b.Name) })
	failed := slices.IndexFunc(own, func(item *v1alpha1.DeployItem) bool { return item.Status.IsIdle() && item.Status.Phase.IsFailed() })
	shown := conditions.GetReason(s.execution, meta.ReadyCondition) == protocol.ReasonContinuousFailed
	switch {
	case failed >= 0:
		failure := itemFailure(own[failed])
		failure.Reason, failure.Heals = protocol.ReasonContinuousFailed, true
		failure.Err = fmt.Errorf("since the last job %w", failure.Err)
		protocol.ShowFailure(s.execution, failure)
	case shown && !slices.ContainsFunc(own, runsByClock):
		conditions.Delete(s.execution, meta.ReconcilingCondition)
		conditions.MarkTrue(s.execution, meta.ReadyCondition, meta.ReconciliationSucceededReason, "%s", succeededMessage)
	}
}

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
	known, present := templatesOf(templates), make(map[string]*v1alpha1.DeployItem, len(items))
	for _, item := range items {
		if name := madeFrom(item, execution.Name, maps.Keys(known)); item.DeletionTimestamp.IsZero() && present[name] == nil {
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
