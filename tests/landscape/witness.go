// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/fluxcd/pkg/runtime/conditions/check"
	"github.com/stretchr/testify/require"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/platform"
)

// Witness sees every state of every Installation, Execution and DeployItem. It checks each against the rule for waiting clients, and those of
// Installations against the rules for conditions, whose history it keeps.
type Witness struct {
	reader   client.Reader
	mu       sync.Mutex
	states   map[client.ObjectKey][]*v1alpha1.Installation
	order    map[string][]*v1alpha1.Installation
	gone     map[string][]*v1alpha1.Installation
	problems map[string][]string
	clients  map[types.UID]*waitingClient
	// versions are the newest ones that were seen.
	versions map[types.UID]uint64
	settled  *check.Checker
	moving   *check.Checker
}

func newWitness(p *platform.Platform) (*Witness, error) {
	polarity := &check.Conditions{NegativePolarity: []string{meta.ReconcilingCondition, meta.StalledCondition}}
	w := &Witness{
		reader: p.Client(),
		states: map[client.ObjectKey][]*v1alpha1.Installation{}, order: map[string][]*v1alpha1.Installation{}, problems: map[string][]string{},
		gone: map[string][]*v1alpha1.Installation{}, clients: map[types.UID]*waitingClient{}, versions: map[types.UID]uint64{},
		settled: check.NewChecker(p.Client(), polarity), moving: check.NewInProgressChecker(p.Client()),
	}
	w.settled.DisableFetch, w.moving.DisableFetch = true, true
	for _, kind := range workers() {
		watcher, err := follow(context.Background(), p.Client(), func() client.ObjectList { return kind.DeepCopyObject().(client.ObjectList) })
		if err != nil {
			return nil, err
		}
		go w.watch(watcher.ResultChan())
	}
	return w, nil
}

// workers are the kinds that run jobs.
func workers() []client.ObjectList {
	return []client.ObjectList{&v1alpha1.InstallationList{}, &v1alpha1.ExecutionList{}, &v1alpha1.DeployItemList{}}
}

func (w *Witness) watch(events <-chan watch.Event) {
	for event := range events {
		object, works := event.Object.(worker)
		inst, isInstallation := event.Object.(*v1alpha1.Installation)
		switch {
		case isInstallation && event.Type == watch.Deleted:
			w.seeGone(inst)
		case works && event.Type != watch.Deleted:
			w.see(object)
		}
	}
}

func (w *Witness) see(object worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key := client.ObjectKeyFromObject(object)
	problems := w.ask(object)
	if inst, ok := object.(*v1alpha1.Installation); ok {
		w.states[key] = append(w.states[key], inst)
		w.order[inst.Namespace] = append(w.order[inst.Namespace], inst)
		problems = append(w.judge(inst), problems...)
	}
	for _, problem := range problems {
		w.problems[key.Namespace] = append(w.problems[key.Namespace], fmt.Sprintf("%T %s at %s: %s", object, key, object.GetResourceVersion(), problem))
	}
	w.versions[object.GetUID()] = versionOf(object)
}

func versionOf(object client.Object) uint64 {
	version, err := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	if err != nil {
		panic(err) // the store counts
	}
	return version
}

// ask shows the state to the client that waits for this object.
func (w *Witness) ask(object worker) []string {
	if w.clients[object.GetUID()] == nil {
		w.clients[object.GetUID()] = &waitingClient{}
	}
	_, isInstallation := object.(*v1alpha1.Installation)
	follows := !isInstallation || object.GetAnnotations()[v1alpha1.ReconcileIfChangedAnnotation] == "true"
	if lie := w.clients[object.GetUID()].see(object, follows); lie != "" {
		return []string{lie}
	}
	return nil
}

func (w *Witness) seeGone(inst *v1alpha1.Installation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone[inst.Namespace] = append(w.gone[inst.Namespace], inst)
}

// Gone returns the Installations of a namespace that are gone, in the order in which they went.
func (w *Witness) Gone(namespace string) []*v1alpha1.Installation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*v1alpha1.Installation(nil), w.gone[namespace]...)
}

// judge checks the conditions of one state, and that kstatus reads the same from it as the phase says.
func (w *Witness) judge(inst *v1alpha1.Installation) []string {
	if len(inst.Status.Conditions) == 0 {
		return nil
	}
	want := expected(inst)
	checker := w.moving
	if want == status.CurrentStatus || want == status.FailedStatus {
		checker = w.settled
	}
	var problems []string
	if failed, _ := checker.Check(context.Background(), inst); failed != nil {
		problems = append(problems, failed.Error())
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(inst)
	if err != nil {
		return append(problems, err.Error())
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		return append(problems, err.Error())
	}
	if result.Status != want {
		problems = append(problems, fmt.Sprintf("phase %q (idle %v) means %s, kstatus reads %s: %s",
			inst.Status.Phase, inst.Status.IsIdle(), want, result.Status, result.Message))
	}
	return problems
}

// healing are reasons of failures that an event of the cluster may end.
var healing = []string{"ImportNotFound", "ContextIncomplete", "PredecessorFailed", "SourceKindNotInstalled"}

// childLost is the reason of Ready when a person has deleted a child of an Installation that had succeeded: the phase stays that of the job.
const childLost = "ChildLost"

// expected is what kstatus has to read from an Installation. A failure that will be tried again by the clock, or that heals, is no final one.
func expected(inst *v1alpha1.Installation) status.Status {
	switch {
	case !inst.DeletionTimestamp.IsZero():
		return status.TerminatingStatus
	case !inst.Status.IsIdle(), inst.Generation != inst.Status.ObservedGeneration:
		return status.InProgressStatus
	case inst.Status.Phase.IsFailed() && inst.Spec.AutomaticReconcile != nil &&
		conditions.GetReason(inst, meta.ReconcilingCondition) == meta.ProgressingWithRetryReason:
		return status.InProgressStatus
	case inst.Status.Phase.IsFailed() && slices.Contains(healing, conditions.GetReason(inst, meta.ReconcilingCondition)):
		return status.InProgressStatus
	case slices.Contains([]string{protocol.ReasonContinuousFailed, protocol.ReasonExportLost}, conditions.GetReason(inst, meta.ReadyCondition)):
		return status.InProgressStatus
	case inst.Status.Phase.IsFailed(), conditions.GetReason(inst, meta.ReadyCondition) == childLost:
		return status.FailedStatus
	}
	return status.CurrentStatus
}

// RequireTruth fails the test if a state in the namespace broke a rule. It first waits until the witness has seen every state that there is.
func (w *Witness) RequireTruth(t testing.TB, namespace string) {
	t.Helper()
	for _, now := range workers() {
		require.NoError(t, w.reader.List(context.Background(), now, client.InNamespace(namespace)))
		caughtUp := func() bool { return w.hasSeen(now) }
		require.Eventually(t, caughtUp, Patience, 10*time.Millisecond, "the witness does not see what there is in %s", namespace)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(t, w.problems[namespace])
}

// hasSeen reports whether the witness knows these states, or later ones.
func (w *Witness) hasSeen(all client.ObjectList) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := true
	_ = apimeta.EachListItem(all, func(item runtime.Object) error {
		object := item.(client.Object)
		seen = seen && w.versions[object.GetUID()] >= versionOf(object)
		return nil
	})
	return seen
}

// Jobs returns the jobs of an Installation so far, in order.
func (w *Witness) Jobs(namespace, name string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var jobs []string
	for _, state := range w.states[client.ObjectKey{Namespace: namespace, Name: name}] {
		if id := state.Status.JobID; id != "" && (len(jobs) == 0 || jobs[len(jobs)-1] != id) {
			jobs = append(jobs, id)
		}
	}
	return jobs
}

// States returns the states of all Installations of a namespace so far, in the order in which they were seen.
func (w *Witness) States(namespace string) []*v1alpha1.Installation {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]*v1alpha1.Installation(nil), w.order[namespace]...)
}

// Saw reports whether some state of an Installation had a property.
func (w *Witness) Saw(namespace, name string, property func(*v1alpha1.Installation) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, state := range w.states[client.ObjectKey{Namespace: namespace, Name: name}] {
		if property(state) {
			return true
		}
	}
	return false
}

// History describes the states of all Installations of a namespace, for messages.
func (w *Witness) History(namespace string) string {
	var out strings.Builder
	for _, state := range w.States(namespace) {
		fmt.Fprintf(&out, "%s %s generation %d/%d phase %q job %.8s/%.8s deleting %v ready %s: %s\n", state.ResourceVersion, state.Name,
			state.Generation, state.Status.ObservedGeneration, state.Status.Phase, state.Status.JobID, state.Status.JobIDFinished,
			!state.DeletionTimestamp.IsZero(), conditions.GetReason(state, meta.ReadyCondition), conditions.GetMessage(state, meta.ReadyCondition))
	}
	return out.String()
}
