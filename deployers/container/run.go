// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// run is one call for one item.
type run struct {
	host
	deployer  *Deployer
	item      *contract.Item
	operation containerv1alpha1.OperationType
	config    *containerv1alpha1.ProviderConfiguration
	recorded  *containerv1alpha1.ProviderStatus
}

// job is the ID of the job.
func (r *run) job() string { return r.item.DeployItem.Status.JobID }

// run brings the job on: without Pod it starts one, and with one it waits for its end. A job that ends while this works leaves a Pod to the
// cleanup.
func (r *run) run(ctx context.Context) (contract.Outcome, error) {
	r.deployer.cleanup.track(r.names.item)
	defer func() {
		if ctx.Err() != nil {
			r.deployer.cleanup.look(r.names.item)
		}
	}()
	pod, err := r.pod(ctx)
	if err == nil && pod != nil && !r.isOurs(pod) {
		if err = r.endPod(ctx, pod); err == nil {
			pod, err = r.pod(ctx) // one that no kubelet knows is gone at once
		}
	}
	switch {
	case err != nil:
		return contract.Outcome{}, err
	case pod == nil:
		return r.start(ctx)
	}
	r.deployer.cleanup.places.hold(r.names.item)
	if !r.isOurs(pod) {
		return r.waiting(fmt.Sprintf("waiting for the end of Pod %s/%s of an earlier job", pod.Namespace, pod.Name)), nil
	}
	return r.follow(ctx, pod)
}

// isOurs reports whether a Pod of the item belongs to this job.
func (r *run) isOurs(pod *corev1.Pod) bool {
	return pod.Annotations[sidecar.Job] == r.job() && pod.Annotations[sidecar.OperationAnnotation] == string(r.operation)
}

// start creates the Pod, as soon as there is a place for it.
func (r *run) start(ctx context.Context) (contract.Outcome, error) {
	known := r.deployer.cleanup
	if err := known.count(ctx); err != nil {
		return contract.Outcome{}, err
	}
	if !known.places.take(r.names.item, r.item.Wake) {
		return contract.Outcome{Waiting: fmt.Sprintf("waiting for the end of another container of namespace %s, which has %d (--max-pods-per-namespace)",
			r.names.item.Namespace, r.options.MaxPods)}, nil
	}
	outcome, err := r.create(ctx)
	if err != nil || len(outcome.Watch) == 0 || outcome.Watch[0].Kind != "Pod" {
		known.places.leave(r.names.item) // it waits for something else
	}
	return outcome, err
}

// create creates the Pod with everything it needs, or waits for its source.
func (r *run) create(ctx context.Context) (contract.Outcome, error) {
	supplied, err := r.prepare(ctx)
	if outcome, waits := r.options.AwaitSource(err); waits {
		return outcome, nil
	}
	if err != nil {
		return contract.Outcome{}, err
	}
	var last state
	var pieces int64
	have, others, err := r.stored(ctx)
	if err == nil {
		last, err = r.settle(ctx, have)
	}
	if err == nil {
		pieces, err = r.share(int64(len(supplied.content)), others, last)
	}
	if err == nil {
		err = r.identify(ctx)
	}
	if err != nil {
		return contract.Outcome{}, err
	}
	pod := blueprintOfPod{
		run: r, hasTarget: supplied.target != nil, hasLogins: supplied.logins != nil, content: r.contentNames(supplied, have),
		keptContent: supplied.keepContent, sources: supplied.sources, last: last, statePieces: pieces, now: time.Now(),
	}.pod()
	if err = r.store(ctx, supplied, have); err == nil {
		err = r.authorize(ctx)
	}
	if err != nil {
		return contract.Outcome{}, err
	}
	if err = r.options.Host.Client.Create(ctx, pod); apierrors.IsAlreadyExists(err) { // it may be that of an earlier call whose answer was lost
		var own *corev1.Pod
		if own, err = r.pod(ctx); err == nil && own == nil {
			err = r.foreign(apierrors.NewAlreadyExists(corev1.Resource("pods"), pod.Name), "Pod", pod.Name)
		}
	}
	if err != nil {
		return contract.Outcome{}, r.refusalOf(err)
	}
	return r.waiting(fmt.Sprintf("waiting for Pod %s/%s to start", pod.Namespace, pod.Name)), nil
}

// refusalOf says why the host cluster has not created a Pod.
func (r *run) refusalOf(err error) error {
	switch {
	case protocol.IsRefusedForGood(err):
		return protocol.Stall(operationReconcile, "InvalidPod", "spec.config makes no valid Pod: %w; correct it", err)
	case apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return protocol.Again(operationReconcile, "PodForbidden", "the host cluster refuses the Pod: %w", err)
	}
	return r.problem("create", "Pod", r.names.base, err)
}

// waiting waits for the next change of the Pod.
func (r *run) waiting(message string) contract.Outcome {
	return contract.Outcome{Waiting: message, Watch: []contract.Watched{{
		Cluster: r.options.Host, APIVersion: "v1", Kind: "Pod", Namespace: r.options.Namespace, Name: r.names.base,
	}}}
}

// follow turns what the kubelet says about the Pod of the job into the outcome.
func (r *run) follow(ctx context.Context, pod *corev1.Pod) (contract.Outcome, error) {
	pod, err := r.withheld(ctx, pod)
	if err != nil {
		return contract.Outcome{}, err
	}
	found := judge(pod)
	outcome := contract.Outcome{}
	if !found.over {
		outcome = r.waiting(found.message)
	}
	recorded := statusOf(pod, r.operation, r.recorded)
	outcome.Conditions = []metav1.Condition{
		conditionOf(InitContainerCondition, recorded.PodStatus.InitContainerStatus), conditionOf(WaitContainerCondition, recorded.PodStatus.WaitContainerStatus),
	}
	if json.Unmarshal([]byte(pod.Annotations[sidecar.Sources]), &outcome.Sources) != nil {
		outcome.Sources = nil // it does not say
	}
	switch {
	case found.over && found.failed:
		err = &protocol.Failure{Kind: protocol.Stalled, Operation: operationReconcile, Reason: found.reason, Err: errors.New(found.message)}
	case found.over:
		if outcome.Exports, err = r.exports(ctx, pod); err == nil {
			outcome.Done, recorded.PodStatus.LastSuccessfulJobID = true, new(r.job())
		}
	}
	encoded, encodeErr := containerv1alpha1.EncodeStatus(recorded)
	if encodeErr != nil {
		return outcome, encodeErr
	}
	outcome.ProviderStatus = encoded
	return outcome, err
}

// endPod ends a Pod whose result nobody needs. Without our finalizer the kubelet, or the API server, removes it.
func (h host) endPod(ctx context.Context, pod *corev1.Pod) error {
	host := h.options.Host.Client
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds > quickly {
		err := host.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}, client.GracePeriodSeconds(quickly))
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // it is gone, and another one may have its name
		}
		if err != nil {
			return h.problem("end", "Pod", pod.Name, err)
		}
	}
	if !controllerutil.ContainsFinalizer(pod, sidecar.Finalizer) {
		return nil
	}
	uid := pod.UID
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := host.Get(ctx, client.ObjectKeyFromObject(pod), pod); err != nil || pod.UID != uid {
			return client.IgnoreNotFound(err)
		}
		base := pod.DeepCopy()
		if !controllerutil.RemoveFinalizer(pod, sidecar.Finalizer) {
			return nil
		}
		return client.IgnoreNotFound(host.Patch(ctx, pod, client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})))
	})
	return h.problem("release", "Pod", pod.Name, err)
}

// Delete runs the container of the item with OPERATION=DELETE and then removes everything that was made for it on the host cluster. An item
// whose container never ran, and one with the annotation that forces it, is only cleaned up.
func (d *Deployer) Delete(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	if err := item.Checkpoint("container deployer: start delete"); err != nil {
		return contract.Outcome{}, err
	}
	r := &run{
		host: d.options.hostFor(keyOf(item.DeployItem)), deployer: d, item: item, operation: containerv1alpha1.OperationDelete,
		config: &containerv1alpha1.ProviderConfiguration{}, recorded: &containerv1alpha1.ProviderStatus{},
	}
	d.cleanup.track(r.names.item)
	if isForced(item.DeployItem) {
		return r.clear(ctx)
	}
	hasRun, err := r.hasRun(ctx)
	if err != nil {
		return contract.Outcome{}, err
	}
	if !hasRun {
		return r.clear(ctx)
	}
	if r, err = d.begin(item, containerv1alpha1.OperationDelete); err != nil {
		return contract.Outcome{}, err
	}
	last := r.recorded.PodStatus
	if r.recorded.LastOperation == r.operation && last != nil && last.LastSuccessfulJobID != nil && *last.LastSuccessfulJobID == r.job() {
		return r.clear(ctx) // it has run for this job
	}
	outcome, err := r.run(ctx)
	if err != nil || !outcome.Done {
		return outcome, err
	}
	// Whoever goes on after this process died has to know that the container need not run again, although its Pod is gone.
	if err := item.Record(ctx, outcome.ProviderStatus); err != nil {
		return contract.Outcome{ProviderStatus: outcome.ProviderStatus}, err
	}
	return r.clear(ctx)
}

// hasRun reports whether a Pod of the item may ever have run: each one needs the RoleBinding, which is made right before and stays as long as the item.
func (r *run) hasRun(ctx context.Context) (bool, error) {
	if r.item.DeployItem.Status.ProviderStatus != nil {
		return true, nil
	}
	return r.find(ctx, "RoleBinding", r.names.base, &rbacv1.RoleBinding{})
}

// clear removes everything that was made for the item, the Pod first, because it may still write.
func (r *run) clear(ctx context.Context) (contract.Outcome, error) {
	pod, err := r.pod(ctx)
	if err != nil {
		return contract.Outcome{}, err
	}
	if pod != nil {
		if err := r.endPod(ctx, pod); err != nil {
			return contract.Outcome{}, err
		}
		if pod, err = r.pod(ctx); err != nil {
			return contract.Outcome{}, err
		}
	}
	if pod != nil {
		outcome := r.waiting(fmt.Sprintf("waiting for the end of Pod %s/%s", pod.Namespace, pod.Name))
		outcome.ProviderStatus, err = containerv1alpha1.EncodeStatus(r.recorded)
		return outcome, err
	}
	err = r.removeAll(ctx)
	return contract.Outcome{Done: err == nil}, err
}
