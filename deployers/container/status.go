// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"cmp"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/flux-landscaper/flux-landscaper/api/deployers/container"
	containerv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/container/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/container/sidecar"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// Conditions of container DeployItems.
const (
	// InitContainerCondition is True once the files of the run were prepared.
	InitContainerCondition = "InitContainer"
	// WaitContainerCondition is True once state and exports of the run were stored.
	WaitContainerCondition = "WaitContainer"
)

// status reads the provider status. An unreadable one counts as empty: it decides nothing but whether a container has run.
func status(item *v1alpha1.DeployItem) (*containerv1alpha1.ProviderStatus, error) {
	if item.Status.ProviderStatus == nil {
		return &containerv1alpha1.ProviderStatus{}, nil
	}
	recorded, err := api.DecodeStatus(item.Status.ProviderStatus.Raw)
	if err != nil {
		return nil, protocol.Coded(fmt.Errorf("status.providerStatus: %w", err), v1alpha1.ErrorInternalProblem)
	}
	return recorded, nil
}

// statusOf returns the provider status that describes a Pod.
func statusOf(pod *corev1.Pod, operation containerv1alpha1.OperationType, before *containerv1alpha1.ProviderStatus) *containerv1alpha1.ProviderStatus {
	found := &containerv1alpha1.ProviderStatus{LastOperation: operation, PodStatus: &containerv1alpha1.PodStatus{
		PodName: pod.Name, LastRun: pod.CreationTimestamp.DeepCopy(),
		ContainerStatus:     containerStatus(pod.Status.ContainerStatuses, sidecar.MainContainer),
		InitContainerStatus: containerStatus(pod.Status.InitContainerStatuses, sidecar.InitContainer),
		WaitContainerStatus: containerStatus(pod.Status.ContainerStatuses, sidecar.WaitContainer),
	}}
	if before.PodStatus != nil {
		found.PodStatus.LastSuccessfulJobID = before.PodStatus.LastSuccessfulJobID
	}
	return found
}

func containerStatus(statuses []corev1.ContainerStatus, name string) containerv1alpha1.ContainerStatus {
	for i := range statuses {
		if statuses[i].Name != name {
			continue
		}
		shown := containerv1alpha1.ContainerStatus{
			State: *statuses[i].State.DeepCopy(), Image: statuses[i].Image, ImageID: statuses[i].ImageID,
		}
		switch state := &shown.State; {
		case state.Waiting != nil:
			state.Waiting.Message = brief(state.Waiting.Message)
			shown.Reason, shown.Message = state.Waiting.Reason, state.Waiting.Message
		case state.Terminated != nil:
			state.Terminated.Message = brief(state.Terminated.Message)
			code := state.Terminated.ExitCode
			shown.Reason, shown.Message, shown.ExitCode = state.Terminated.Reason, state.Terminated.Message, &code
		}
		return shown
	}
	return containerv1alpha1.ContainerStatus{}
}

// sourcesOf returns the Flux sources that a Pod was made from: an empty list where there were none, nil where it does not say.
func sourcesOf(pod *corev1.Pod) []v1alpha1.SourceStatus {
	var found []v1alpha1.SourceStatus
	if json.Unmarshal([]byte(pod.Annotations[sidecar.Sources]), &found) != nil {
		return nil
	}
	return found
}

// conditionsOf says how far init and wait are.
func conditionsOf(pod *corev1.Pod) []metav1.Condition {
	return []metav1.Condition{
		conditionOf(InitContainerCondition, containerStatus(pod.Status.InitContainerStatuses, sidecar.InitContainer)),
		conditionOf(WaitContainerCondition, containerStatus(pod.Status.ContainerStatuses, sidecar.WaitContainer)),
	}
}

func conditionOf(kind string, shown containerv1alpha1.ContainerStatus) metav1.Condition {
	condition := metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: "Pending", Message: "The container has not ended"}
	if shown.ExitCode == nil {
		return condition
	}
	condition.Reason = protocol.Reason(cmp.Or(shown.Reason, "Completed"))
	if *shown.ExitCode == 0 {
		condition.Status, condition.Message = metav1.ConditionTrue, "The container has succeeded"
		return condition
	}
	condition.Status, condition.Message = metav1.ConditionFalse, protocol.Message(cmp.Or(shown.Message, "The container has failed"))
	return condition
}
