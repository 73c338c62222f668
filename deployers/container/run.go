// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	api "github.com/flux-landscaper/flux-landscaper/api/deployers/container"
	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// run is one call for one item.
type run struct {
	deployer  *Deployer
	item      *contract.Item
	operation containerv1alpha1.OperationType
	config    *containerv1alpha1.ProviderConfiguration
	recorded  *containerv1alpha1.ProviderStatus
	names     names
}

// job is the ID of the job.
func (r *run) job() string { return r.item.DeployItem.Status.JobID }

func (r *run) podKey() types.NamespacedName {
	return types.NamespacedName{Namespace: r.deployer.options.Namespace, Name: r.names.base}
}

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
		if err = endPod(ctx, r.deployer.options.Host.Client, pod); err == nil {
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

// pod reads the Pod of the item; nil when there is none.
func (r *run) pod(ctx context.Context) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	err := r.deployer.options.Host.Client.Get(ctx, r.podKey(), pod)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", describeHost(r.podKey().Namespace, "Pod", r.podKey().Name), err)
	}
	if !r.names.owns(pod) {
		return nil, r.foreign(apierrors.NewAlreadyExists(corev1.Resource("pods"), pod.Name), "Pod", pod.Name)
	}
	return pod, nil
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
			r.names.item.Namespace, r.deployer.options.MaxPods)}, nil
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
	if outcome, waits := r.deployer.options.AwaitSource(err); waits {
		return outcome, nil
	}
	if err != nil {
		return contract.Outcome{}, err
	}
	have, others, err := r.stored(ctx)
	if err != nil {
		return contract.Outcome{}, err
	}
	last, err := settle(ctx, r.deployer.options.Host.Client, have)
	if err != nil {
		return contract.Outcome{}, err
	}
	pieces, err := r.share(int64(len(supplied.content)), others, last)
	if err != nil {
		return contract.Outcome{}, err
	}
	if err := r.identify(ctx); err != nil {
		return contract.Outcome{}, err
	}
	pod := blueprintOfPod{
		run: r, hasTarget: supplied.target != nil, hasLogins: supplied.logins != nil, content: r.contentNames(supplied, have),
		keptContent: supplied.keepContent, sources: supplied.sources, last: last, statePieces: pieces, now: time.Now(),
	}.pod()
	if err := r.store(ctx, supplied, have); err != nil {
		return contract.Outcome{}, err
	}
	if err := r.authorize(ctx); err != nil {
		return contract.Outcome{}, err
	}
	err = r.deployer.options.Host.Client.Create(ctx, pod)
	if err != nil && !apierrors.IsAlreadyExists(err) { // the one of an earlier call whose answer was lost is brought by the watch
		return contract.Outcome{}, refusalOf(pod, err)
	}
	return r.waiting(fmt.Sprintf("waiting for Pod %s/%s to start", pod.Namespace, pod.Name)), nil
}

// refusalOf says why the host cluster has not created a Pod.
func refusalOf(pod *corev1.Pod, err error) error {
	switch {
	case protocol.IsRefusedForGood(err):
		return protocol.Stall(operationReconcile, "InvalidPod", "spec.config makes no valid Pod: %w; correct it", err)
	case apierrors.IsForbidden(err) && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return protocol.Again(operationReconcile, "PodForbidden", "the host cluster refuses the Pod: %w", err)
	}
	return fmt.Errorf("create %s: %w", describeHost(pod.Namespace, "Pod", pod.Name), err)
}

// waiting waits for the next change of the Pod.
func (r *run) waiting(message string) contract.Outcome {
	return contract.Outcome{Waiting: message, Watch: []contract.Watched{{
		Cluster: r.deployer.options.Host, APIVersion: "v1", Kind: "Pod", Namespace: r.podKey().Namespace, Name: r.podKey().Name,
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
	outcome.Conditions, outcome.Sources = conditionsOf(pod), sourcesOf(pod)
	switch {
	case found.over && found.failed:
		err = &protocol.Failure{Kind: protocol.Stalled, Operation: operationReconcile, Reason: found.reason, Err: errors.New(found.message)}
	case found.over:
		if outcome.Exports, err = r.exports(ctx, pod); err == nil {
			outcome.Done = true
			job := r.job()
			recorded.PodStatus.LastSuccessfulJobID = &job
		}
	}
	encoded, encodeErr := api.EncodeStatus(recorded)
	if encodeErr != nil {
		return outcome, encodeErr
	}
	outcome.ProviderStatus = encoded
	return outcome, err
}

// endPod ends a Pod whose result nobody needs. Without our finalizer the kubelet, or the API server, removes it.
func endPod(ctx context.Context, host client.Client, pod *corev1.Pod) error {
	if pod.DeletionTimestamp == nil || pod.DeletionGracePeriodSeconds == nil || *pod.DeletionGracePeriodSeconds > quickly {
		err := host.Delete(ctx, pod, client.Preconditions{UID: &pod.UID}, client.GracePeriodSeconds(quickly))
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil // it is gone, and another one may have its name
		}
		if err != nil {
			return fmt.Errorf("end %s: %w", describeHost(pod.Namespace, "Pod", pod.Name), err)
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
	if err != nil {
		return fmt.Errorf("release %s: %w", describeHost(pod.Namespace, "Pod", pod.Name), err)
	}
	return nil
}
