// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

const operation = "Sync"

// Reasons of failures.
const (
	reasonSeveral = "SeveralTargetSyncs"
	reasonSpec    = "InvalidSpec"
)

// all is the expression that selects every name.
const all = "*"

// checkAlone fails while the namespace has another TargetSync: what both have made carries the same label, so each would delete what the
// other made.
func (r *Reconciler) checkAlone(ctx context.Context, s *scope) error {
	others, err := others(ctx, r.Client, s.sync)
	if err != nil || len(others) == 0 {
		return err
	}
	r.sources.leave(client.ObjectKeyFromObject(s.sync))
	named := strings.Join(others[:min(len(others), maxShown)], ", ")
	if len(others) > maxShown {
		named += " and more" // how many would be another message for all of them whenever one comes or goes
	}
	return protocol.Stall(operation, reasonSeveral, "namespace %s has other TargetSyncs: %s; none of them syncs until all but one are deleted",
		s.sync.Namespace, named)
}

// others returns the names of the other TargetSyncs of the namespace that are not in deletion, in order.
func others(ctx context.Context, reader client.Reader, sync *v1alpha1.TargetSync) ([]string, error) {
	list := &v1alpha1.TargetSyncList{}
	if err := reader.List(ctx, list, client.InNamespace(sync.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		if other := &list.Items[i]; other.UID != sync.UID && other.DeletionTimestamp.IsZero() {
			names = append(names, other.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// checkSuspended stops a suspended TargetSync. Its Ready condition stays.
func (r *Reconciler) checkSuspended(_ context.Context, s *scope) error {
	if !s.sync.Spec.Suspend {
		return nil
	}
	r.leave(client.ObjectKeyFromObject(s.sync))
	return protocol.ErrStop
}

// checkSpec reads the expressions of the spec.
func checkSpec(_ context.Context, s *scope) (err error) {
	s.pattern, err = patternOf(&s.sync.Spec)
	return err
}

func patternOf(spec *v1alpha1.TargetSyncSpec) (*regexp.Regexp, error) {
	field, expression := "spec.secretNameExpression", spec.SecretNameExpression
	switch {
	case spec.SourceNamespace == "":
		return nil, protocol.Stall(operation, reasonSpec, "spec.sourceNamespace is empty; set it to a namespace of the source cluster")
	case spec.SecretRef.Name == "":
		return nil, protocol.Stall(operation, reasonSpec, "spec.secretRef.name is empty; set it to the Secret with the kubeconfig of the source cluster")
	case spec.SecretNameExpression != "" && spec.ShootNameExpression != "":
		return nil, protocol.Stall(operation, reasonSpec, "spec.secretNameExpression and spec.shootNameExpression are both set; remove one of them")
	case spec.ShootNameExpression != "":
		field, expression = "spec.shootNameExpression", spec.ShootNameExpression
	}
	if expression == "" {
		return nil, nil
	}
	if expression == all {
		expression = ""
	}
	if err := foreign.CheckPattern(expression); err != nil {
		return nil, protocol.Stall(operation, reasonSpec, "%s %w, or use * for all names", field, err)
	}
	return regexp.MustCompile(expression), nil
}

// protect sets the finalizer before the first Target is made.
func (r *Reconciler) protect(ctx context.Context, s *scope) error {
	return patchMetadata(ctx, r.Client, s.sync, protocol.MetadataChange{AddFinalizer: v1alpha1.Finalizer})
}

// patchMetadata changes metadata and keeps the status of the object in memory.
func patchMetadata(ctx context.Context, c client.Client, sync *v1alpha1.TargetSync, change protocol.MetadataChange) error {
	ahead := sync.Status.DeepCopy()
	err := protocol.PatchMetadata(ctx, c, sync, change)
	sync.Status = *ahead
	return err
}

func (s *scope) fail(format string, args ...any) {
	s.problems = append(s.problems, fmt.Errorf(format, args...))
}

// maxShown is how many problems and names are shown.
const maxShown = 10

// settle is the only place that turns the end of a sync into status, events and requeue.
func (r *Reconciler) settle(ctx context.Context, s *scope, err error) (ctrl.Result, error) {
	key := client.ObjectKeyFromObject(s.sync)
	if !s.sync.DeletionTimestamp.IsZero() && err == nil {
		r.leave(key)
		return ctrl.Result{}, nil
	}
	r.announceChanges(s)
	if protocol.IsTransient(err) {
		return r.Backoff.Later(ctx, key, err), nil
	}
	if err != nil {
		s.problems = append(s.problems, err)
	}
	failure := s.failure()
	s.observe(failure)
	if err := r.record(ctx, s); err != nil {
		return r.Backoff.Later(ctx, key, err), nil
	}
	if failure == nil || failure.Kind == protocol.Stalled {
		r.Backoff.Forget(key)
		return ctrl.Result{RequeueAfter: s.requeue}, nil
	}
	if failure.Kind == protocol.Waiting {
		return ctrl.Result{RequeueAfter: s.requeue}, nil
	}
	s.wakeIn(r.Backoff.After(key, failure))
	return ctrl.Result{RequeueAfter: s.requeue}, nil
}

// failure joins the problems of the sync.
func (s *scope) failure() *protocol.Failure {
	problems := s.problems
	switch len(problems) {
	case 0:
		return nil
	case 1:
		return protocol.AsOwnFailure(operation, problems[0])
	}
	return &protocol.Failure{
		Kind: protocol.Retry, Operation: operation, Reason: "SyncFailed",
		Err: fmt.Errorf("%d problems, the first is: %w", len(problems), problems[0]),
	}
}

// observe puts the end of the sync into the status.
func (s *scope) observe(failure *protocol.Failure) {
	sync := s.sync
	sync.Status.ObservedGeneration = sync.Generation
	if requested, ok := meta.ReconcileAnnotationValue(sync.Annotations); ok {
		sync.Status.LastHandledReconcileAt = requested
	}
	if sync.Spec.Suspend {
		return
	}
	sync.Status.LastErrors = s.lastErrors()
	switch {
	case failure == nil:
		conditions.Delete(sync, meta.ReconcilingCondition)
		conditions.Delete(sync, meta.StalledCondition)
		conditions.MarkTrue(sync, meta.ReadyCondition, meta.SucceededReason, "%s", protocol.Message(s.summary()))
	case failure.Kind == protocol.Stalled:
		reason, message := protocol.Reason(failure.Reason), protocol.Message(failure.Error())
		conditions.MarkStalled(sync, reason, "%s", message)
		conditions.MarkFalse(sync, meta.ReadyCondition, reason, "%s", message)
	default:
		reason, message := protocol.Reason(failure.Reason), protocol.Message(failure.Error())
		conditions.MarkReconciling(sync, meta.ProgressingWithRetryReason, "%s", message)
		conditions.MarkFalse(sync, meta.ReadyCondition, reason, "%s", message)
	}
}

// summary says what is synced.
func (s *scope) summary() string {
	text := fmt.Sprintf("%d Targets lead to clusters that namespace %q of the source cluster knows", len(s.wanted), s.sync.Spec.SourceNamespace)
	if s.unusable == 0 {
		return text
	}
	text += fmt.Sprintf("; %d Secrets match and have no key %s: %s", s.unusable, kubeconfigKey, strings.Join(s.unusableNames, ", "))
	if more := s.unusable - len(s.unusableNames); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (s *scope) noteUnusable(name string) {
	s.unusable++
	if len(s.unusableNames) < maxShown {
		s.unusableNames = append(s.unusableNames, name)
	}
}

func (s *scope) lastErrors() []string {
	var texts []string
	for _, problem := range s.problems {
		texts = append(texts, protocol.Message(problem.Error()))
	}
	if len(texts) > maxShown {
		texts = append(texts[:maxShown], fmt.Sprintf("and %d more", len(texts)-maxShown))
	}
	return texts
}

// record writes the status, and then forgets the requests that the sync has answered.
func (r *Reconciler) record(ctx context.Context, s *scope) error {
	before, ready := apimeta.FindStatusCondition(s.persisted.Conditions, meta.ReadyCondition), conditions.Get(s.sync, meta.ReadyCondition)
	if err := r.writeStatus(ctx, s); err != nil {
		return err
	}
	isNew := before == nil || before.Status != metav1.ConditionFalse || ready != nil && before.Reason != ready.Reason
	if ready != nil && ready.Status == metav1.ConditionFalse && isNew {
		r.Recorder.AnnotatedEventf(s.sync, notify.Once(notify.Since(ready)), corev1.EventTypeWarning, ready.Reason, "%s", ready.Message)
	}
	return r.answer(ctx, s)
}

// announceChanges tells of what a sync has changed, whatever becomes of its status: another sync finds nothing to change.
func (r *Reconciler) announceChanges(s *scope) {
	if c := s.changes; c.any() {
		r.Recorder.AnnotatedEventf(s.sync, notify.Once(c.token()), corev1.EventTypeNormal, meta.SucceededReason,
			"objects created: %d, updated: %d, deleted: %d", c.created, c.updated, c.deleted)
	}
}

// writeStatus writes the status unless nothing but its time would change.
func (r *Reconciler) writeStatus(ctx context.Context, s *scope) error {
	if equality.Semantic.DeepEqual(s.persisted, &s.sync.Status) {
		return nil
	}
	s.sync.Status.LastUpdateTime = metav1.Time{Time: s.now}
	if err := r.Status().Update(ctx, s.sync); err != nil {
		return err
	}
	s.persisted = s.sync.Status.DeepCopy()
	return nil
}

// answer removes the annotations whose request is answered. Those that Flux applies stay: it would put them back at every sync.
func (r *Reconciler) answer(ctx context.Context, s *scope) error {
	change := protocol.MetadataChange{Annotations: map[string]*string{}}
	for _, name := range s.answered() {
		applied, err := protocol.IsAppliedByFlux(ctx, r.Live, s.sync, "TargetSync", name)
		if err != nil {
			return err
		}
		if !applied {
			change.Annotations[name] = nil
		}
	}
	if len(change.Annotations) == 0 {
		return nil
	}
	return patchMetadata(ctx, r.Client, s.sync, change)
}

func (s *scope) answered() []string {
	var names []string
	if s.sync.Annotations[v1alpha1.OperationAnnotation] == v1alpha1.OperationReconcile && !s.sync.Spec.Suspend {
		names = append(names, v1alpha1.OperationAnnotation)
	}
	if asked := s.sync.Annotations[v1alpha1.RotateTokenAnnotation]; asked != "" && asked == s.sync.Status.LastHandledTokenRotation {
		names = append(names, v1alpha1.RotateTokenAnnotation)
	}
	return names
}
