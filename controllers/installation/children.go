// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/blueprints/model"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/inputs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// all returns the sub-installations by name, and then the Execution, as far as they are there.
func (s *scope) all() (all []protocol.JobObject) {
	for _, name := range slices.Sorted(maps.Keys(s.children)) {
		all = append(all, s.children[name])
	}
	if s.execution != nil {
		all = append(all, s.execution)
	}
	return all
}

func (s *scope) some(is func(child protocol.JobObject) bool) bool {
	return slices.ContainsFunc(s.all(), is)
}

// childrenRun reports whether the Execution or a sub-installation is at work. The deletion of a sub-installation is none: it ends with that of
// this one, which deletes who holds it up.
func (s *scope) childrenRun() bool {
	return s.some(func(child protocol.JobObject) bool {
		_, isExecution := child.(*v1alpha1.Execution)
		return !child.Job().IsIdle() && (isExecution || !child.Job().Phase.IsDeletion())
	})
}

// someFailed reports whether the last job of a child has failed and no other runs.
func (s *scope) someFailed() bool {
	return s.some(func(child protocol.JobObject) bool { return child.Job().IsIdle() && child.Job().Phase.IsFailed() })
}

// childrenInDeletion reports whether the deletion has reached the children, from where there is no way back. What the garbage collector has deleted
// still waits for leave.
func (s *scope) childrenInDeletion() bool {
	return s.some(func(child protocol.JobObject) bool {
		return !child.GetDeletionTimestamp().IsZero() && !protocol.IsHeldBack(child, s.inst)
	})
}

// hasJob reports whether a child has been given the running job. It may be at work or done with it, so one job never writes it twice.
func (s *scope) hasJob(child protocol.JobObject) bool { return jobs.Given(child, s.inst.Status.JobID) }

// someChildHasJob reports whether a sub-installation has been given the running job.
func (s *scope) someChildHasJob() bool {
	return s.some(func(child protocol.JobObject) bool {
		_, isExecution := child.(*v1alpha1.Execution)
		return !isExecution && s.hasJob(child)
	})
}

// written knows what was written to objects of a kind.
func (r *Reconciler) written(object client.Object) *protocol.Consistency {
	switch object.(type) {
	case *v1alpha1.Target:
		return &r.targets
	case *v1alpha1.DataObject:
		return &r.dataObjects
	case *v1alpha1.Execution:
		return &r.executions
	}
	return &r.installations
}

// patch changes metadata, and remembers the write if there is one.
func (r *Reconciler) patch(ctx context.Context, object client.Object, change protocol.MetadataChange) error {
	before := object.GetResourceVersion()
	err := protocol.PatchMetadata(ctx, r.Client, object, change)
	if err == nil && object.GetResourceVersion() != before {
		r.written(object).Wrote(object)
	}
	return err
}

// moveShard brings the Execution and the sub-installations into the shard of the Installation, also while no job runs: the controllers of the
// shard that they were in may not be there any more.
func (r *Reconciler) moveShard(ctx context.Context, s *scope) error {
	for _, child := range s.all() {
		if err := r.patch(ctx, child, protocol.FollowShard(s.inst, child)); err != nil {
			return err
		}
	}
	return nil
}

// findPrepared finds out whether all children have the specs of the running job. It ends a job of a root that would give them specs of two generations:
// children of two specs may wait for each other until the job times out, one for an object that the other gives up only in the newer spec. That job
// ends once the children that have it have ended it: of siblings one may wait for what another does in the same job. Those that get nowhere are
// interrupted. The next job follows in the same write.
func (r *Reconciler) findPrepared(ctx context.Context, s *scope) error {
	inst := s.inst
	if s.prepared = jobs.Prepared(inst, s.execution, s.children); s.prepared {
		return nil
	}
	if !inst.IsRoot() || inst.Spec.Suspend || inst.Generation == inst.Status.ObservedGeneration || !s.some(s.hasJob) {
		return nil
	}
	isAtWork := func(child protocol.JobObject) bool {
		return s.hasJob(child) && child.GetDeletionTimestamp().IsZero() && child.Job().JobIDFinished != inst.Status.JobID
	}
	if !s.some(isAtWork) {
		return &protocol.Failure{Kind: protocol.Stalled, Operation: jobs.Operation, Reason: jobs.ReasonAnotherJob, Err: errors.New(jobs.ChangedMessage)}
	}
	if err := r.interruptChildren(ctx, s, jobs.IsStuck); err != nil {
		return err
	}
	return s.await()
}

// interruptChildren passes the operation on to the children that have to end their job.
func (r *Reconciler) interruptChildren(ctx context.Context, s *scope, has func(child protocol.JobObject) bool) error {
	value := v1alpha1.OperationInterrupt
	for _, child := range s.all() {
		if !has(child) {
			continue
		}
		if err := r.patch(ctx, child, protocol.MetadataChange{Annotations: map[string]*string{v1alpha1.OperationAnnotation: &value}}); err != nil {
			return err
		}
	}
	return nil
}

// awaitInterrupted waits while a child has not ended the job that it is to end by an interruption. A parent that is interrupted before all children
// have its job ends without them, and the interruption would end the next job in place of that one.
func awaitInterrupted(child protocol.JobObject, kind string) error {
	if child.Job().IsIdle() || child.GetAnnotations()[v1alpha1.OperationAnnotation] != v1alpha1.OperationInterrupt {
		return nil
	}
	return protocol.Wait(jobs.Operation, "ChildInterrupted", "waiting for %s %s to end its interrupted job", kind, child.GetName())
}

// handOver gives a child that keeps its spec the running job by its status: an annotation would change no generation, so that until the child
// takes the job up it would look as if it had ended it.
func (r *Reconciler) handOver(ctx context.Context, s *scope, child protocol.JobObject) error {
	protocol.KeepValidConditions(child)
	child.Job().JobID = s.inst.Status.JobID
	protocol.Progress(child, meta.ProgressingReason, "a job of the parent begins")
	if err := r.Status().Update(ctx, child); err != nil {
		return err
	}
	r.written(child).Wrote(child)
	return nil
}

// noteChange shows that what the children are made from has changed during the job.
func (s *scope) noteChange() {
	conditions.MarkTrue(s.inst, jobs.ChangedDuringJobCondition, jobs.ReasonAnotherJob, "%s", jobs.ChangedMessage)
}

// takeOverChange notes at the end of a job what sub-installations have noted during the same job: only roots start another.
func (s *scope) takeOverChange() {
	for _, child := range s.children {
		if child.Status.JobID == s.inst.Status.JobID && conditions.IsTrue(child, jobs.ChangedDuringJobCondition) {
			s.noteChange()
		}
	}
}

// listChildren records the sub-installations in the status that is written before the first of them is created: those of the plan, and
// those that are there without being planned. With sealed it records also which blueprints in place they get, as the verified blueprint of
// this job says. A sub-installation that has the job already keeps what was recorded for it.
func (s *scope) listChildren(templates []model.InstallationTemplate, sealed bool) error {
	before, ordered := s.inst.Status.SubInstCache, relations.ProducersFirst(templates)
	active, err := s.pairs(ordered)
	if err != nil {
		return err
	}
	for i := range active {
		if active[i].BlueprintDigest, err = s.seal(active[i].ObjectName, before, &ordered[i], sealed); err != nil {
			return err
		}
	}
	listed := &v1alpha1.SubInstCache{ActiveSubs: active}
	for _, orphan := range s.withoutTemplate(active) {
		listed.OrphanedSubs = append(listed.OrphanedSubs, orphan.Name)
	}
	s.inst.Status.SubInstCache = listed
	return nil
}

// seal returns the digest of the blueprint in place of a sub-installation; empty where there is none, or without sealed.
func (s *scope) seal(name string, before *v1alpha1.SubInstCache, template *model.InstallationTemplate, sealed bool) (string, error) {
	child, raw := s.children[name], template.Blueprint.Filesystem.RawMessage
	if own := s.inst.Spec.Blueprint.Inline; own != nil && template.Blueprint.Path != "" {
		raw = own.Filesystem.RawMessage // a folder of that of the parent
	}
	switch {
	case !sealed:
		return "", nil
	case child != nil && s.hasJob(child):
		return before.Find(name).BlueprintDigest, nil
	case len(raw) == 0:
		return "", nil
	}
	return inputs.InPlaceDigest(raw)
}

// observeChildren waits until all sub-installations have ended the job, and names those that failed with their causes.
func (r *Reconciler) observeChildren(ctx context.Context, s *scope) error {
	if s.inst.Status.SubInstCache == nil {
		return nil
	}
	var failed []string
	for _, pair := range s.inst.Status.SubInstCache.ActiveSubs {
		child := s.children[pair.ObjectName]
		if child == nil {
			failed = append(failed, fmt.Sprintf("sub-installation %s is gone", pair.ObjectName))
			continue
		}
		if jobs.LeavesJob(child, s.inst.Status.JobID) {
			failed = append(failed, child.Name+": "+jobs.LeavesJobMessage)
			continue
		}
		if child.Status.JobIDFinished != s.inst.Status.JobID {
			return s.await()
		}
		if child.Status.Phase != v1alpha1.PhaseSucceeded {
			failed = append(failed, fmt.Sprintf("%s: %s", child.Name, jobs.LastMessage(child.Status.LastError)))
		}
	}
	if s.execution != nil && s.execution.Status.JobIDFinished != s.inst.Status.JobID || len(failed) == 0 {
		return nil
	}
	heals, err := r.healsBelow(ctx, s.inst)
	if err != nil {
		return err
	}
	return &protocol.Failure{
		Kind: protocol.Stalled, Operation: "buildErrorIfFailedChild", Reason: jobs.ReasonChildrenFailed,
		Err:   fmt.Errorf("children failed: %s", strings.Join(failed, "; ")),
		Heals: heals && jobs.JudgeExecution(s.execution, s.inst.Status.JobID) == nil,
	}
}

// observeExecution waits until the Execution has ended the job, and passes on why it failed.
func (r *Reconciler) observeExecution(_ context.Context, s *scope) error {
	err := jobs.JudgeExecution(s.execution, s.inst.Status.JobID)
	if errors.Is(err, protocol.ErrStop) {
		return s.await()
	}
	return err
}

// showDrift shows which deploy items, and which sub-installations, are not as they were deployed, also while no job runs.
func (r *Reconciler) showDrift(_ context.Context, s *scope) error {
	var drifted []string
	if s.execution != nil && protocol.DriftOf(s.execution) != "" {
		drifted = append(drifted, protocol.DriftOf(s.execution))
	}
	for name, child := range s.children {
		if conditions.IsTrue(child, v1alpha1.DriftedCondition) {
			drifted = append(drifted, "sub-installation "+name)
		}
	}
	protocol.ShowDrift(s.inst, drifted)
	return nil
}

const (
	// workingMessage says that the children are at work.
	workingMessage  = "sub-installations and deploy items are at work"
	deletingMessage = "sub-installations and deploy items are being deleted"
)

// await stops, and shows why the work of a child is tried again, or that none is. In a deletion it also shows which child has another job.
func (s *scope) await() error {
	otherwise, job := workingMessage, s.inst.Status.JobID
	cause := jobs.CauseBelow(job, s.execution, s.children)
	if !s.inst.DeletionTimestamp.IsZero() {
		otherwise = deletingMessage
		if first := jobs.EndsFirst(job, s.execution, s.children); cause.Message == "" && first != "" {
			cause = protocol.Cause{Reason: meta.ProgressingWithRetryReason, Message: first}
		}
	}
	protocol.ShowCause(s.inst, cause, otherwise)
	return protocol.ErrStop
}

// healsBelow reports whether an event of the cluster starts an Installation again whose sub-installations have failed.
func (r *Reconciler) healsBelow(ctx context.Context, inst *v1alpha1.Installation) (bool, error) {
	if !jobs.MayHeal(inst) || !jobs.FollowsChanges(inst) {
		return false, nil
	}
	below, err := r.causesBelow(ctx, inst)
	return err == nil && jobs.HealTogether(below), err
}

// causesBelow returns the sub-installations at any depth but for those that have failed because of one below them.
func (r *Reconciler) causesBelow(ctx context.Context, inst *v1alpha1.Installation) ([]*v1alpha1.Installation, error) {
	var causes []*v1alpha1.Installation
	err := r.below(ctx, inst, func(child *v1alpha1.Installation) (bool, error) {
		further := jobs.FailedBelow(child)
		if !further {
			causes = append(causes, child)
		}
		return further, nil
	})
	return causes, err
}

// below visits the sub-installations at any depth. What visit returns says whether it goes on with those of the visited one.
func (r *Reconciler) below(ctx context.Context, inst *v1alpha1.Installation, visit func(*v1alpha1.Installation) (further bool, err error)) error {
	seen := map[types.UID]bool{inst.UID: true}
	for queue := []*v1alpha1.Installation{inst}; len(queue) > 0; queue = queue[1:] {
		children := &v1alpha1.InstallationList{}
		below := client.MatchingFields{relations.ParentIndex: queue[0].Name}
		if err := r.List(ctx, children, client.InNamespace(inst.Namespace), below, client.UnsafeDisableDeepCopy); err != nil {
			return err
		}
		for i := range children.Items {
			child := &children.Items[i]
			if seen[child.UID] || relations.IsListed(queue[0], child) != nil {
				continue
			}
			seen[child.UID] = true
			further, err := visit(child)
			if err != nil {
				return err
			}
			if further {
				queue = append(queue, child)
			}
		}
	}
	return nil
}
