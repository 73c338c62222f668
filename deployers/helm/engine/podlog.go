// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"helm.sh/helm/v3/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/secrecy"
)

const (
	podLogLines = 10
	maxPodLog   = 1 << 10
	// maxReadLog bounds what is read of a log, where the last lines are long.
	maxReadLog = 64 << 10
	// podLogTime bounds how long the log of a Pod may take.
	podLogTime = 5 * time.Second
	// maxHookPods bounds among how many Pods of a Job the newest is looked for.
	maxHookPods = 50
)

// podLog holds what the Pods of hooks that failed wrote last, by the name of the hook. It is safe for concurrent use.
type podLog struct {
	// journal has the secrets that are not shown.
	journal *secrecy.Journal

	mu sync.Mutex
	// given are the texts of all values, which a program may print, whatever their keys sound like.
	given []string
	lines map[string]string
}

// withhold notes texts that the lines of programs may not show.
func (p *podLog) withhold(given []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given = slices.Concat(p.given, given)
}

// withheld are the texts that the lines of programs may not show.
func (p *podLog) withheld() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Concat(p.journal.Withheld(), p.given)
}

func (p *podLog) keep(hook, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.lines == nil {
		p.lines = map[string]string{}
	}
	if text != "" {
		p.lines[hook] = text
	}
}

func (p *podLog) logs() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.lines) // an operation that its context has ended may still be at work
}

// WatchUntilReady waits until a hook has ended. Of one that fails it keeps the log before Helm deletes the Pod.
func (s *sparing) WatchUntilReady(resources kube.ResourceList, timeout time.Duration) error {
	waits(s.ctx)
	err := s.awaitHooks(resources, timeout)
	if err == nil || s.ctx.Err() != nil {
		return err
	}
	for _, hook := range resources {
		_ = trusting(func() error { // the failure itself counts more
			s.pods.keep(hook.Name, s.lastLines(hook))
			return nil
		})
	}
	return err
}

// lastLines returns what the Pod of a hook wrote last, nothing where that cannot be had: the failure itself counts more.
func (s *sparing) lastLines(hook *resource.Info) string {
	ctx, cancel := context.WithTimeout(s.ctx, podLogTime)
	defer cancel()
	clients, err := s.Factory.KubernetesClientSet()
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
	return lastOf(secrecy.Withhold(wholeLines(string(text)), s.pods.withheld()))
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
	switch hook.Mapping.GroupVersionKind.Kind {
	case "Pod":
		pod, err := clients.CoreV1().Pods(hook.Namespace).Get(ctx, hook.Name, metav1.GetOptions{})
		if err == nil {
			return pod
		}
	case "Job":
		return newest(podsOf(ctx, clients, hook))
	}
	return nil
}

// podsOf returns Pods of a Job. A target may send millions where it is asked for a few, which would fill the memory as Go types: only the first become such.
func podsOf(ctx context.Context, clients *kubernetes.Clientset, job *resource.Info) []corev1.Pod {
	raw, err := clients.CoreV1().RESTClient().Get().Namespace(job.Namespace).Resource("pods").
		VersionedParams(&metav1.ListOptions{LabelSelector: "job-name=" + job.Name, Limit: maxHookPods}, scheme.ParameterCodec).Do(ctx).Raw()
	var list struct{ Items []json.RawMessage }
	if err != nil || json.Unmarshal(raw, &list) != nil {
		return nil
	}
	pods := make([]corev1.Pod, min(len(list.Items), maxHookPods))
	for i := range pods {
		if json.Unmarshal(list.Items[i], &pods[i]) != nil {
			return nil
		}
	}
	return pods
}

func newest(pods []corev1.Pod) *corev1.Pod {
	var last *corev1.Pod
	for i := range pods {
		if last == nil || last.CreationTimestamp.Before(&pods[i].CreationTimestamp) {
			last = &pods[i]
		}
	}
	return last
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
