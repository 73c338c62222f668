// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/foreign"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Error is a failed operation.
type Error struct {
	// Verb is the operation: install, upgrade, rollback, test, uninstall or render.
	Verb string
	// Release is namespace/name.
	Release string
	// Cause is Helm's error.
	Cause error
	// Log holds the last lines that Helm logged.
	Log string
	// Pods is what the Pods of a hook that failed wrote last, by the name of the hook.
	Pods map[string]string
}

// explain words an error of Helm for a person.
func explain(verb string, request Request, told *journal, err error) error {
	told.withhold(request.secretTexts(), nil)
	told.mu.Lock()
	defer told.mu.Unlock()
	problem := &Error{
		Verb: verb, Release: request.Namespace + "/" + request.Name, Cause: Redacted{Err: err, Secrets: told.secrets}, Pods: maps.Clone(told.pods),
	}
	if !target.AboutSecret(err) { // else Helm has logged the answer of the API server, too
		lines := slices.Clone(told.lines)
		for i, line := range lines {
			lines[i] = foreign.Beginning(redact(line, told.secrets), maxLogLine) // half a secret would not be found
		}
		problem.Log = strings.Join(lines, "; ")
	}
	return problem
}

// Error names the release, the cause, what the Pods of a hook wrote and what Helm logged last. The Pods of a test are left out: see Pods.
func (e *Error) Error() string {
	text := fmt.Sprintf("helm %s of release %s failed: %s", e.Verb, e.Release, e.Cause)
	if e.Verb != verbTest {
		for _, hook := range slices.Sorted(maps.Keys(e.Pods)) {
			text += " (last log lines of hook " + hook + ": " + e.Pods[hook] + ")"
		}
	}
	if e.Log != "" {
		text += " (last log lines of helm: " + e.Log + ")"
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

const keptLogLines, maxLogLine = 10, 300

// journal is what one operation has told. Its last lines explain errors that Helm itself words as "failed to delete release". It is safe for concurrent use:
// an operation that its context has ended may still be at work.
type journal struct {
	mu sync.Mutex
	// secrets are shown by nothing. Programs may print any value, whatever its key sounds like, so their logs do not show what was given either.
	secrets, given []string
	lines          []string
	// pods is what the Pods of hooks that failed wrote last, by the name of the hook.
	pods map[string]string
	// unreadable says that Helm has passed over a record that it could not read.
	unreadable bool
}

func (j *journal) withhold(secrets, given []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.secrets, j.given = slices.Concat(j.secrets, secrets), slices.Concat(j.given, given)
}

// log is Helm's log function.
func (j *journal) log(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if strings.Contains(format, "failed to decode release") {
		j.unreadable = true
		return // it may print the record
	}
	j.lines = append(j.lines, strings.TrimSpace(fmt.Sprintf(format, args...)))
	j.lines = j.lines[max(0, len(j.lines)-keptLogLines):]
}

// takeUnreadable reports once whether Helm has passed over a record that it could not read.
func (j *journal) takeUnreadable() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	was := j.unreadable
	j.unreadable = false
	return was
}

const (
	// shortestSecret is the length from which a text is withheld; shorter ones would blacken ordinary words.
	shortestSecret = 4
	// shortestText is the same for texts that nothing says to be secret.
	shortestText = 6
)

var (
	sensitiveKey = regexp.MustCompile(`(?i)pass|secret|token|credential|private|apikey|accesskey|auth|cert|kubeconfig`)
	// logins finds passwords in URLs and in what else says how to log in.
	logins = regexp.MustCompile(`(?i)(://[^\s/:@"']*:)[^\s/@"']+(@)|((?:password|passwd|pwd|secret|token)=)[^\s;&"']+`)
)

// Redacted is an error whose text does not show secrets, nor objects that the API server quotes.
type Redacted struct {
	Err     error
	Secrets []string
}

// Error returns the text.
func (r Redacted) Error() string { return redact(target.ShownError(r.Err), r.Secrets) }

// Unwrap returns the original error for errors.As and errors.Is.
func (r Redacted) Unwrap() error { return r.Err }

// redact returns a text without secrets, whether they stand in it as they are, quoted or encoded.
func redact(text string, secrets []string) string {
	var forms []string
	for _, secret := range secrets {
		forms = append(append(forms, fault.Forms(secret)...), base64.StdEncoding.EncodeToString([]byte(secret)))
	}
	forms = slices.DeleteFunc(forms, func(form string) bool { return len(form) < shortestSecret })
	slices.SortFunc(forms, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) }) // a secret may be part of another one
	pairs := make([]string, 0, 2*len(forms))
	for _, form := range slices.Compact(forms) {
		pairs = append(pairs, form, "***")
	}
	return logins.ReplaceAllString(strings.NewReplacer(pairs...).Replace(text), "$1$3***$2")
}

// sensitive returns the texts and numbers below keys of values that sound like secrets.
func sensitive(values map[string]any) []string { return textsIn(nil, values, shortestSecret, false) }

// TextsOf returns all texts and numbers of a value that is secret.
func TextsOf(value any) []string { return textsIn(nil, value, shortestSecret, true) }

// textsIn appends the texts and numbers of a value that are not too short, also line by line: the end of a log may show the end of a key. Without all they are
// those below keys that sound like secrets.
func textsIn(found []string, value any, least int, all bool) []string {
	switch value := value.(type) {
	case map[string]any:
		for key, inner := range value {
			found = textsIn(found, inner, least, all || sensitiveKey.MatchString(key))
		}
	case []any:
		for _, inner := range value {
			found = textsIn(found, inner, least, all)
		}
	case float64:
		return textsIn(found, strconv.FormatFloat(value, 'f', -1, 64), least, all)
	case int64, json.Number:
		return textsIn(found, fmt.Sprint(value), least, all)
	case string:
		lines := []string{value}
		if strings.Contains(value, "\n") {
			lines = append(lines, strings.Split(value, "\n")...)
		}
		for _, line := range lines {
			if line = strings.TrimSpace(line); all && len(line) >= least {
				found = append(found, line)
			}
		}
	}
	return found
}

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
