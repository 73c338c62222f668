// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

const (
	// maxPods bounds how many Pods of a workload are looked at, maxWatchedPods how many of them are watched.
	maxPods, maxWatchedPods = 50, 5
	// maxCause bounds a text of the target, in characters; maxLogBytes what is read of a log, logTime how long.
	maxCause    = 200
	maxLogBytes = 2048
	logTime     = 5 * time.Second
	// minConfidential is how long a value has to be to be masked: shorter ones are everywhere.
	minConfidential = 4
)

var podKind = schema.GroupKind{Kind: "Pod"}

// withPods are the kinds whose Pods tell why they are not ready, beside Pods.
var withPods = map[schema.GroupKind]bool{
	{Kind: "ReplicationController"}: true, {Group: "apps", Kind: "ReplicaSet"}: true, {Group: "apps", Kind: "Deployment"}: true,
	{Group: "apps", Kind: "StatefulSet"}: true, {Group: "apps", Kind: "DaemonSet"}: true, {Group: "batch", Kind: "Job"}: true,
}

// trouble says which Pod of a workload that is not ready cannot start and why, and names the Pods to watch for that. Rights to read Pods and
// logs are not needed: without them it says nothing.
func (c *ReadinessChecks) trouble(ctx context.Context, live *unstructured.Unstructured) (string, []contract.Watched) {
	pods := podsOf(ctx, c.Session.Cluster, live)
	slices.SortStableFunc(pods, func(a, b corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	var text string
	var watch []contract.Watched
	for i := range pods {
		pod := &pods[i]
		if pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded || isReady(pod) {
			continue
		}
		if len(watch) < maxWatchedPods && live.GroupVersionKind().GroupKind() != podKind {
			watch = append(watch, contract.Watched{Cluster: c.Session.Cluster, APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name})
		}
		if text == "" {
			text = c.troubleOf(ctx, pod)
		}
	}
	return text, watch
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// podsOf returns the Pods of a workload; none for other kinds, and where they cannot be read.
func podsOf(ctx context.Context, cluster *target.Cluster, live *unstructured.Unstructured) []corev1.Pod {
	kind := live.GroupVersionKind().GroupKind()
	if kind == podKind {
		return podsIn([]unstructured.Unstructured{*live})
	}
	selector := selectorOf(live)
	if !withPods[kind] || selector == nil || selector.Empty() {
		return nil
	}
	found, err := cluster.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(live.GetNamespace()).
		List(ctx, metav1.ListOptions{LabelSelector: selector.String(), Limit: maxPods})
	if err != nil {
		return nil
	}
	return podsIn(found.Items)
}

// podsIn returns Pods as Go types; none where a target has some that cannot be such.
func podsIn(items []unstructured.Unstructured) []corev1.Pod {
	pods := make([]corev1.Pod, len(items))
	for i := range items {
		err := fault.Survived(context.Background(), func() error { return runtime.DefaultUnstructuredConverter.FromUnstructured(items[i].Object, &pods[i]) })
		if err != nil {
			return nil
		}
	}
	return pods
}

// selectorOf returns what selects the Pods of a workload, nil when that cannot be read.
func selectorOf(live *unstructured.Unstructured) labels.Selector {
	fields, _, _ := unstructured.NestedMap(live.Object, "spec", "selector")
	if live.GetKind() == "ReplicationController" {
		plain, _, _ := unstructured.NestedStringMap(live.Object, "spec", "selector")
		return labels.SelectorFromSet(plain)
	}
	selector := &metav1.LabelSelector{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, selector) != nil {
		return nil
	}
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nil
	}
	return parsed
}

// troubleOf says why a Pod does not start; empty while it is on its way.
func (c *ReadinessChecks) troubleOf(ctx context.Context, pod *corev1.Pod) string {
	name := "Pod " + pod.Name
	for _, container := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		why, crashed, isBefore := containerTrouble(container)
		if why == "" {
			continue
		}
		text := fmt.Sprintf("%s, container %s: %s", name, container.Name, why)
		if line := c.lastLine(ctx, pod, container.Name, isBefore); crashed && line != "" {
			text += fmt.Sprintf("; last log line: %q", line)
		}
		return text
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return fmt.Sprintf("%s: %s", name, words(condition.Reason, condition.Message))
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		return fmt.Sprintf("%s: %s", name, words("Failed", pod.Status.Reason))
	}
	return ""
}

// containerTrouble says why a container does not run, whether it has crashed, and whether that was the run before.
func containerTrouble(container corev1.ContainerStatus) (why string, crashed, isBefore bool) {
	if ended := container.State.Terminated; ended != nil && ended.ExitCode != 0 {
		return fmt.Sprintf("%s, exit code %d", ended.Reason, ended.ExitCode), true, false
	}
	waiting, before := container.State.Waiting, container.LastTerminationState.Terminated
	switch {
	case waiting == nil, waiting.Reason == "", waiting.Reason == "ContainerCreating", waiting.Reason == "PodInitializing":
		return "", false, false
	case before != nil:
		return fmt.Sprintf("%s after %s, exit code %d", waiting.Reason, before.Reason, before.ExitCode), true, true
	}
	return words(waiting.Reason, waiting.Message), false, false
}

// words joins a word of the target about a state and the message beside it.
func words(state, message string) string {
	if message = oneLine(message); message == "" {
		return state
	}
	return state + ": " + message
}

// lastLine returns the last line that a container has logged, without the values of Secrets among the manifests. Nothing is read where those
// are not known, and nothing shown of a line that is too long.
func (c *ReadinessChecks) lastLine(ctx context.Context, pod *corev1.Pod, container string, isBefore bool) string {
	if c.Confidential == nil {
		return ""
	}
	text, err := c.endOfLog(ctx, pod, container, isBefore)
	if err != nil || len(text) >= maxLogBytes { // it may end with the beginning of a secret, and only whole ones are found
		return ""
	}
	return oneLine(masked(text, c.Confidential()))
}

// endOfLog reads the last line that a container has logged, as far as it may be long. A target may send more than it is asked for.
func (c *ReadinessChecks) endOfLog(ctx context.Context, pod *corev1.Pod, container string, isBefore bool) (string, error) {
	core, err := corev1client.NewForConfig(c.Session.Cluster.Config)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, logTime)
	defer cancel()
	lines, limit := int64(1), int64(maxLogBytes)
	stream, err := core.Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: isBefore, TailLines: &lines, LimitBytes: &limit,
	}).Stream(ctx)
	if err != nil {
		return "", err
	}
	defer stream.Close()
	raw, err := io.ReadAll(io.LimitReader(stream, maxLogBytes))
	return string(raw), err
}

// oneLine returns a text of the target as messages may hold it: one bounded line without control characters.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxCause {
		return string(runes[:maxCause]) + "…"
	}
	return text
}

func masked(text string, confidential []string) string {
	for _, value := range confidential {
		text = strings.ReplaceAll(text, value, "***")
	}
	return text
}

// ConfidentialIn returns the values of the Secrets among the objects and their lines, the longest first, each once.
func ConfidentialIn(desired []Desired) []string {
	var found []string
	keep := func(part string) {
		if part = strings.TrimSpace(part); len(part) >= minConfidential {
			found = append(found, part)
		}
	}
	note := func(value string) {
		for part := range strings.SplitSeq(value, "\n") {
			keep(part)
		}
		keep(value)
	}
	for _, d := range desired {
		if d.Object.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Secret"}) {
			continue
		}
		texts, _, _ := unstructured.NestedStringMap(d.Object.Object, "stringData")
		for _, value := range texts {
			note(value)
		}
		encoded, _, _ := unstructured.NestedStringMap(d.Object.Object, "data")
		for _, value := range encoded {
			if plain, err := base64.StdEncoding.DecodeString(value); err == nil {
				note(string(plain))
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(found)
}
