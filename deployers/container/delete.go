// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	api "github.com/flux-landscaper/flux-landscaper/api/deployers/container"
	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
)

// Delete runs the container of the item with OPERATION=DELETE and then removes everything that was made for it on the host cluster. An item
// whose container never ran, and one with the annotation that forces it, is only cleaned up.
func (d *Deployer) Delete(ctx context.Context, item *contract.Item) (contract.Outcome, error) {
	if err := item.Checkpoint("container deployer: start delete"); err != nil {
		return contract.Outcome{}, err
	}
	r := &run{
		deployer: d, item: item, operation: containerv1alpha1.OperationDelete, names: namesOf(keyOf(item.DeployItem), d.options.Identity),
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
	if r.hasDeleted() {
		return r.clear(ctx)
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
	binding := &rbacv1.RoleBinding{}
	err := r.deployer.options.Host.Client.Get(ctx, r.podKey(), binding)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", describeHost(r.podKey().Namespace, "RoleBinding", r.names.base), err)
	}
	return r.names.owns(binding), nil
}

// hasDeleted reports whether the container has run with OPERATION=DELETE for this job.
func (r *run) hasDeleted() bool {
	pod := r.recorded.PodStatus
	return r.recorded.LastOperation == containerv1alpha1.OperationDelete && pod != nil && pod.LastSuccessfulJobID != nil && *pod.LastSuccessfulJobID == r.job()
}

// clear removes everything that was made for the item, the Pod first, because it may still write.
func (r *run) clear(ctx context.Context) (contract.Outcome, error) {
	pod, err := r.pod(ctx)
	if err != nil {
		return contract.Outcome{}, err
	}
	if pod != nil {
		if err := endPod(ctx, r.deployer.options.Host.Client, pod); err != nil {
			return contract.Outcome{}, err
		}
		if pod, err = r.pod(ctx); err != nil {
			return contract.Outcome{}, err
		}
	}
	if pod != nil {
		outcome := r.waiting(fmt.Sprintf("waiting for the end of Pod %s/%s", pod.Namespace, pod.Name))
		recorded := *r.recorded
		outcome.ProviderStatus, err = api.EncodeStatus(&recorded)
		return outcome, err
	}
	if err := removeAll(ctx, &r.deployer.options, r.names); err != nil {
		return contract.Outcome{}, err
	}
	return contract.Outcome{Done: true}, nil
}
