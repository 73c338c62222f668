// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
	recorded, err := containerv1alpha1.DecodeStatus(item.Status.ProviderStatus.Raw)
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

// conditionOf says how far a container is.
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

// verdict is what a Pod means for its job.
type verdict struct {
	// over says that nothing of the Pod changes any more that the job needs, failed that the job failed with it.
	over, failed bool
	// reason of a failure in one word; message for a person.
	reason, message string
}

// hopeless are reasons for which a container waits that no time cures.
var hopeless = []string{
	"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError",
	"SignatureValidationFailed", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}

// judge says what the status of a Pod means. It takes the words of kubelet and scheduler.
func judge(pod *corev1.Pod) verdict {
	at := fmt.Sprintf("Pod %s/%s", pod.Namespace, pod.Name)
	statuses := slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses)
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		return verdict{over: true, message: at + " has succeeded"}
	case corev1.PodFailed:
		return ended(pod, at, statuses)
	}
	for i := range statuses {
		if waits := statuses[i].State.Waiting; waits != nil && slices.Contains(hopeless, waits.Reason) {
			return verdict{over: true, failed: true, reason: waits.Reason,
				message: fmt.Sprintf("container %s of %s cannot start: %s: %s", statuses[i].Name, at, waits.Reason, brief(waits.Message))}
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && condition.Reason == corev1.PodReasonUnschedulable {
			return verdict{over: true, failed: true, reason: condition.Reason, message: fmt.Sprintf("%s cannot be scheduled: %s", at, brief(condition.Message))}
		}
	}
	if pod.DeletionTimestamp != nil && pod.Spec.NodeName == "" {
		return verdict{over: true, failed: true, reason: "PodDeleted", message: at + " was deleted before it ran; deploy again"}
	}
	return verdict{message: progress(at, statuses)}
}

// ended explains why a Pod failed: by the first container that did, else in the words of the kubelet about the Pod.
func ended(pod *corev1.Pod, at string, statuses []corev1.ContainerStatus) verdict {
	for _, name := range []string{sidecar.InitContainer, sidecar.MainContainer, sidecar.WaitContainer} {
		index := slices.IndexFunc(statuses, func(s corev1.ContainerStatus) bool {
			return s.Name == name && s.State.Terminated != nil && s.State.Terminated.ExitCode != 0
		})
		if index < 0 {
			continue
		}
		end := statuses[index].State.Terminated
		message := fmt.Sprintf("container %s of %s ended with exit code %d", name, at, end.ExitCode)
		if end.Reason != "" && end.Reason != "Error" {
			message += " (" + end.Reason + ")"
		}
		if why := brief(strings.Join(words(pod.Status.Message, end.Message), ": ")); why != "" {
			message += ": " + why
		}
		return verdict{over: true, failed: true, reason: strings.ToUpper(name[:1]) + name[1:] + "ContainerFailed", message: message}
	}
	reason := cmp.Or(pod.Status.Reason, "PodFailed")
	return verdict{over: true, failed: true, reason: reason, message: fmt.Sprintf("%s failed: %s", at, strings.Join(words(pod.Status.Reason, brief(pod.Status.Message)), ": "))}
}

func progress(at string, statuses []corev1.ContainerStatus) string {
	for i := len(statuses) - 1; i >= 0; i-- {
		switch status := &statuses[i]; {
		case status.Name == sidecar.MainContainer && status.State.Terminated != nil:
			return at + " stores state and exports"
		case status.Name == sidecar.MainContainer && status.State.Running != nil:
			return at + " is running"
		}
	}
	return "waiting for " + at + " to start"
}

func words(parts ...string) []string {
	return slices.DeleteFunc(parts, func(part string) bool { return strings.TrimSpace(part) == "" })
}

// maxWords bounds texts from a Pod in messages and in the status.
const maxWords = 1024

// brief keeps the end of a text: the last lines of a log say what went wrong.
func brief(text string) string {
	text = strings.TrimSpace(strings.ToValidUTF8(text, ""))
	if len(text) > maxWords {
		text = "…" + strings.ToValidUTF8(text[len(text)-maxWords:], "")
	}
	return text
}
