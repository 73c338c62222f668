// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"
)

const (
	podLogLines = 10
	maxPodLog   = 1 << 10
	// maxReadLog bounds what is read of a log, where the last lines are long.
	maxReadLog = 64 << 10
	// podLogTime bounds how long the log of a Pod may take.
	podLogTime = 5 * time.Second
)

// keepPod keeps what the Pod of a hook wrote last.
func (j *journal) keepPod(hook, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pods == nil {
		j.pods = map[string]string{}
	}
	j.pods[hook] = lastOf(redact(text, slices.Concat(j.secrets, j.given)))
}

// lastLines returns what the Pod of a hook wrote last, nothing where that cannot be had.
func (k *kubeClient) lastLines(hook *resource.Info) string {
	ctx, cancel := context.WithTimeout(k.ctx, podLogTime)
	defer cancel()
	clients, err := k.Factory.KubernetesClientSet()
	if err != nil {
		return ""
	}
	pod := podOf(ctx, clients, hook)
	if pod == nil {
		return ""
	}
	lines, limit := int64(podLogLines), int64(maxReadLog)
	stream, err := clients.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: failedContainer(pod), TailLines: &lines, LimitBytes: &limit,
	}).Stream(ctx)
	if err != nil {
		return ""
	}
	defer stream.Close()
	text, err := io.ReadAll(io.LimitReader(stream, maxReadLog))
	if err != nil {
		return ""
	}
	return wholeLines(string(text))
}

// wholeLines returns a log that was read without the line that reading has cut: it may end with the beginning of a secret, and only whole ones are
// found.
func wholeLines(text string) string {
	if len(text) < maxReadLog {
		return text
	}
	return text[:strings.LastIndex(text, "\n")+1]
}

// podOf returns the Pod of a hook, of a Job the newest; nil when there is none.
func podOf(ctx context.Context, clients *kubernetes.Clientset, hook *resource.Info) *corev1.Pod {
	options := metav1.ListOptions{Limit: 50}
	switch hook.Mapping.GroupVersionKind.Kind {
	case podKind:
		options.FieldSelector = "metadata.name=" + hook.Name
	case jobKind:
		options.LabelSelector = "job-name=" + hook.Name
	default:
		return nil
	}
	list, err := clients.CoreV1().Pods(hook.Namespace).List(ctx, options)
	if err != nil || len(list.Items) == 0 {
		return nil
	}
	newest := slices.MaxFunc(list.Items, func(a, b corev1.Pod) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return &newest
}

// failedContainer returns the first container of a Pod that ended badly, else the first of all.
func failedContainer(pod *corev1.Pod) string {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, status := range statuses {
			if ended := status.State.Terminated; ended != nil && ended.ExitCode != 0 {
				return status.Name
			}
		}
	}
	if len(pod.Spec.Containers) == 0 {
		return "" // the cluster decides, if it has such Pods
	}
	return pod.Spec.Containers[0].Name
}

// lastOf returns the last lines of a text in one line, at most maxPodLog bytes, without control characters.
func lastOf(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	lines = lines[max(0, len(lines)-podLogLines):]
	for i, line := range lines {
		lines[i] = strings.TrimSpace(strings.Map(printable, line))
	}
	shown := strings.Join(lines, "; ")
	if surplus := len(shown) - maxPodLog; surplus > 0 {
		shown = "…" + strings.ToValidUTF8(shown[surplus+len("…"):], "")
	}
	return shown
}

func printable(r rune) rune {
	switch {
	case r == '\t':
		return ' '
	case !unicode.IsPrint(r):
		return -1
	}
	return r
}
