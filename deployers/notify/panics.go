// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package notify

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// ObjectName is the name of the CriticalProblems of a namespace.
const CriticalProblemsName = "critical-problems"

const (
	// maxProblems is how many problems the object holds.
	maxProblems = 10
	// renewAfter is how long a problem is not written again: an object whose work panics is tried again and again.
	renewAfter = time.Hour
	// maxWaiting is how many panics wait to be written.
	maxWaiting = maxProblems
	// writeTime bounds the requests for one panic.
	writeTime = 30 * time.Second
)

// recorder writes panics into an object, one after the other.
type recorder struct {
	reader  client.Reader
	writer  client.Writer
	key     client.ObjectKey
	pod     string
	waiting chan v1alpha1.CriticalProblem
}

// Record keeps the last panics of the process in the CriticalProblems ObjectName of a namespace: those of the reconcilers of every manager, and
// of whoever else hands his to runtime.HandleCrash of apimachinery. A part that it adds to the manager writes them, beside the workers. It has
// to be called before the manager starts.
func RecordPanics(mgr ctrl.Manager, namespace string) error {
	pod, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("the name of the Pod: %w", err)
	}
	r := &recorder{
		reader: mgr.GetAPIReader(), writer: mgr.GetClient(), key: client.ObjectKey{Namespace: namespace, Name: CriticalProblemsName}, pod: pod,
		waiting: make(chan v1alpha1.CriticalProblem, maxWaiting),
	}
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, r.observe)
	return mgr.Add(r)
}

// observe takes note of a panic while it is handled. One too many is left to the log.
func (r *recorder) observe(_ context.Context, value any) {
	problem := v1alpha1.CriticalProblem{PodName: r.pod, CreationTime: metav1.Now(), Description: fault.Describe(value)}
	select {
	case r.waiting <- problem:
	default:
	}
}

// NeedLeaderElection returns false: every process has its own panics.
func (r *recorder) NeedLeaderElection() bool { return false }

// Start writes what was observed until ctx ends.
func (r *recorder) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case problem := <-r.waiting:
			if err := r.write(ctx, problem); err != nil && ctx.Err() == nil {
				ctrl.Log.WithName("panics").Error(err, "a panic cannot be recorded; let the process get, create and update CriticalProblems in its namespace",
					"object", r.key, "panic", problem.Description)
			}
		}
	}
}

// write adds a problem to the object, which others write, too.
func (r *recorder) write(ctx context.Context, problem v1alpha1.CriticalProblem) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	lost := func(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
	return retry.OnError(retry.DefaultBackoff, lost, func() error {
		problems := &v1alpha1.CriticalProblems{}
		err := r.reader.Get(ctx, r.key, problems)
		isNew := apierrors.IsNotFound(err)
		if err != nil && !isNew {
			return err
		}
		all, changed := added(problems.Spec.CriticalProblems, problem)
		if !changed {
			return nil
		}
		problems.Namespace, problems.Name, problems.Spec.CriticalProblems = r.key.Namespace, r.key.Name, all
		if isNew {
			return r.writer.Create(ctx, problems)
		}
		return r.writer.Update(ctx, problems)
	})
}

// added returns the newest problems with one more, and whether that is another list: panics of a Pod at the same place are the same problem, whatever
// numbers they name. It stands there once, and is renewed once an hour.
func added(problems []v1alpha1.CriticalProblem, problem v1alpha1.CriticalProblem) ([]v1alpha1.CriticalProblem, bool) {
	kept := make([]v1alpha1.CriticalProblem, 0, len(problems)+1)
	for _, known := range problems {
		isSame := known.PodName == problem.PodName && placeOf(known) == placeOf(problem)
		if isSame && problem.CreationTime.Sub(known.CreationTime.Time).Abs() < renewAfter {
			return problems, false
		}
		if !isSame {
			kept = append(kept, known)
		}
	}
	kept = append(kept, problem)
	return kept[max(0, len(kept)-maxProblems):], true
}

// placeOf is where a problem was, as fault.Describe says it.
func placeOf(problem v1alpha1.CriticalProblem) string {
	return problem.Description[strings.LastIndex(problem.Description, " in ")+1:]
}
