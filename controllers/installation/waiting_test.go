// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"testing"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/tests/fixture"
)

// looksFinished is the rule by which clients of this API decide that the newest job of an Installation has ended.
func looksFinished(inst *v1alpha1.Installation) bool {
	return inst.Annotations[v1alpha1.OperationAnnotation] != v1alpha1.OperationReconcile && inst.Generation == inst.Status.ObservedGeneration &&
		inst.Status.JobID != "" && inst.Status.IsIdle() && inst.Status.Phase.IsFinal()
}

// requireAnswered checks every version since a request up to the end of the job that answers it: none but the last looks finished. By is what
// a client of this kind of request looks at as well.
func (s *stage) requireAnswered(request, answer *v1alpha1.Installation, by func(*v1alpha1.Installation) bool) {
	s.t.Helper()
	versions, since := s.seen.of(s, answer), false
	for _, inst := range versions {
		since = since || inst.ResourceVersion == request.ResourceVersion
		if since && looksFinished(inst) && by(inst) {
			require.Equal(s.t, answer.Status.JobID, inst.Status.JobID, "version %s looks finished with the result of a job before the request",
				inst.ResourceVersion)
		}
	}
	require.True(s.t, since, "the history has the request")
	require.True(s.t, looksFinished(answer) && by(answer), "the answer is one")
}

// finished waits until an Installation looks finished with a job other than a former one.
func (s *stage) finished(name, former string, by func(*v1alpha1.Installation) bool) *v1alpha1.Installation {
	s.t.Helper()
	return s.installation(name, func(inst *v1alpha1.Installation) bool {
		return looksFinished(inst) && inst.Status.JobID != former && by(inst)
	})
}

func always(*v1alpha1.Installation) bool { return true }

// asking is a way to ask for a job.
type asking struct {
	// request asks an Installation for a job; every text asks for another.
	request func(inst *v1alpha1.Installation, text string)
	// answered is what the client that sent the text looks at beside the rule; nil is nothing.
	answered func(inst *v1alpha1.Installation, text string) bool
}

// by returns what a client looks at.
func (a asking) by(text string) func(*v1alpha1.Installation) bool {
	if a.answered == nil {
		return always
	}
	return func(inst *v1alpha1.Installation) bool { return a.answered(inst, text) }
}

// replaced makes an Installation what kubectl replace makes of it: nothing is left of what the controller wrote into metadata.
func replaced(inst *v1alpha1.Installation) {
	inst.Annotations, inst.Finalizers = nil, nil
	fixture.Operate(inst)
}

func deploy(inst *v1alpha1.Installation, text string) {
	inst.Spec.Blueprint = fixture.InlineBlueprint(object{"deployExecutions": deploying(text)})
}

var ways = map[string]asking{
	"operation": {request: func(inst *v1alpha1.Installation, _ string) { fixture.Operate(inst) }},
	"operation with a new spec": {request: func(inst *v1alpha1.Installation, text string) {
		fixture.Operate(inst)
		deploy(inst, text)
	}},
	"operation on one that fails at once": {request: func(inst *v1alpha1.Installation, text string) {
		fixture.Operate(inst)
		deploy(inst, "{{ fail }}"+text)
	}},
	"operation in a replaced object": {request: func(inst *v1alpha1.Installation, text string) {
		replaced(inst)
		deploy(inst, text)
	}},
	"operation in a replaced object that has the same spec": {request: func(inst *v1alpha1.Installation, _ string) { replaced(inst) }},
	"operation in a replaced object that fails at once": {request: func(inst *v1alpha1.Installation, text string) {
		replaced(inst)
		deploy(inst, "{{ fail }}"+text)
	}},
	"requestedAt": {
		request: func(inst *v1alpha1.Installation, text string) {
			metav1.SetMetaDataAnnotation(&inst.ObjectMeta, meta.ReconcileRequestAnnotation, text)
		},
		answered: func(inst *v1alpha1.Installation, text string) bool { return inst.Status.LastHandledReconcileAt == text },
	},
	"new spec": {request: func(inst *v1alpha1.Installation, text string) {
		fixture.Following(inst)
		deploy(inst, text)
	}},
}

// played lets the Executions of a stage succeed at once with whatever job they get, until the test ends.
func (s *stage) played() {
	watcher, err := s.client.Watch(s.ctx, &v1alpha1.ExecutionList{}, client.InNamespace(s.namespace))
	require.NoError(s.t, err)
	s.t.Cleanup(watcher.Stop)
	go func() {
		for event := range watcher.ResultChan() {
			execution, ok := event.Object.(*v1alpha1.Execution)
			if job := ""; ok && execution.DeletionTimestamp.IsZero() {
				if job = givenJob(execution); job == execution.Status.JobIDFinished {
					continue
				}
				execution.Status.JobID, execution.Status.ObservedGeneration = job, execution.Generation
				protocol.Succeed(execution, "played", time.Now())
				_ = s.client.Status().Update(s.ctx, execution) // a newer version comes if this one is none any more
			}
		}
	}()
}

func TestE24NoVersionLooksFinishedBetweenRequestAndAnswer(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.played()
			inst := s.leaf("leaf", "a")
			fixture.Operate(inst)
			s.create(inst)
			first := s.finished("leaf", "", always)
			s.requireAnswered(inst, first, always)
			s.quiet()

			edit(s, inst, func(inst *v1alpha1.Installation) { way.request(inst, "second") })
			second := s.finished("leaf", first.Status.JobID, way.by("second"))
			s.requireAnswered(inst, second, way.by("second"))
			s.quiet()
			last := s.installation("leaf", always)
			assert.Equal(t, second.Status.JobID, last.Status.JobID)
			assert.Equal(t, 2, s.seen.jobs(s, last))
		})
	}
}

func TestE24NoDeathBetweenTwoWritesStartsAnotherJob(t *testing.T) {
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.played()
			inst := s.leaf("leaf", "a")
			fixture.Operate(inst)
			s.create(inst)
			s.finished("leaf", "", always)
			jobs := 1
			for _, after := range []bool{false, true} {
				for n, died := 1, true; died; n, jobs = n+1, jobs+1 {
					require.Less(t, n, 20, "writes of one job")
					died = s.dieAnswering(inst, way, n, after)
				}
			}
			require.Greater(t, jobs, 4, "there were deaths")
			s.quiet()
			assert.Equal(t, jobs, s.seen.jobs(s, s.installation("leaf", always)))
			s.requireHonest("leaf")
		})
	}
}

// dieAnswering asks for a job and lets the reconciler die at its n-th write of it. It reports whether there was such a write.
func (s *stage) dieAnswering(inst *v1alpha1.Installation, way asking, n int, after bool) bool {
	s.t.Helper()
	text := fmt.Sprintf("death at write %d carried out %v", n, after)
	former := s.installation(inst.Name, always)
	s.life.Arm(n, after)
	edit(s, inst, func(inst *v1alpha1.Installation) { way.request(inst, text) })
	request, died := inst.DeepCopy(), false
	require.Eventually(s.t, func() bool {
		if died = s.life.IsDead(); died {
			return true
		}
		err := s.client.Get(s.ctx, client.ObjectKeyFromObject(inst), inst)
		return err == nil && looksFinished(inst) && inst.Status.JobID != former.Status.JobID && way.by(text)(inst)
	}, patience, tick, text)
	if died {
		s.stop()
	}
	s.life.Arm(0, false)
	if died {
		s.start()
	}
	s.requireAnswered(request, s.finished(inst.Name, former.Status.JobID, way.by(text)), way.by(text))
	return died
}

// executionLooksFinished is the rule of waiting clients for an Execution.
func executionLooksFinished(execution *v1alpha1.Execution) bool {
	return execution.Generation == execution.Status.ObservedGeneration && execution.Status.JobID != "" && execution.Status.IsIdle() &&
		execution.Status.Phase.IsFinal()
}

// requireHonest checks that no version of an Execution that names a job looks finished before it has had that job, or is at work and Ready. It
// returns the versions.
func (s *stage) requireHonest(name string) []*v1alpha1.Execution {
	s.t.Helper()
	had, versions := map[string]bool{}, s.seen.ofExecution(s, name)
	for _, execution := range versions {
		had[execution.Status.JobID] = true
		job := execution.Annotations[v1alpha1.JobAnnotation]
		require.False(s.t, executionLooksFinished(execution) && !had[job], "version %s looks finished before it has job %s",
			execution.ResourceVersion, job)
		require.False(s.t, !execution.Status.IsIdle() && conditions.IsReady(execution), "version %s is at work and Ready", execution.ResourceVersion)
	}
	return versions
}

func TestE24NoVersionOfAnExecutionLooksFinishedBeforeItHasItsJob(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.Installation){
		"same spec":  fixture.Operate,
		"other spec": func(inst *v1alpha1.Installation) { fixture.Operate(inst); deploy(inst, "b") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.played()
			inst := s.leaf("leaf", "a")
			fixture.Operate(inst)
			s.create(inst)
			first := s.finished("leaf", "", always)
			s.quiet()
			before := len(s.requireHonest("leaf"))
			edit(s, inst, change)
			second := s.finished("leaf", first.Status.JobID, always)
			s.quiet()
			versions := s.requireHonest("leaf")
			require.Equal(t, second.Status.JobID, versions[len(versions)-1].Status.JobIDFinished)
			assert.Len(t, versions[before:], 2, "one write of the Installation, one of who ends the job")
		})
	}
}

// TestE24AnExecutionThatWasNotedAJobOnlyGetsItByStatus has what a process left that died between the writes of an earlier release: the
// annotation has changed, the spec has not, so nobody takes the job from there.
func TestE24AnExecutionThatWasNotedAJobOnlyGetsItByStatus(t *testing.T) {
	s := newStage(t)
	inst := s.leaf("leaf", "a")
	fixture.Operate(inst)
	s.create(inst)
	former := s.succeed("leaf", "").Status.JobID
	s.stop()
	editStatus(s, inst, func(inst *v1alpha1.Installation) {
		inst.Status.JobID, inst.Status.Phase = "noted", v1alpha1.PhaseProgressing
	})
	edit(s, &v1alpha1.Execution{ObjectMeta: s.named("leaf")}, func(execution *v1alpha1.Execution) {
		execution.Annotations[v1alpha1.JobAnnotation] = "noted"
	})
	s.start()
	require.Equal(t, "noted", s.succeed("leaf", former).Status.JobID)
	s.quiet()
}

// TestAFailedDeletionOfTheExecutionIsTriedAgainInTheNextJob deletes the Execution behind the back of its Installation.
func TestAFailedDeletionOfTheExecutionIsTriedAgainInTheNextJob(t *testing.T) {
	s := newStage(t)
	inst := s.leaf("leaf", "a")
	fixture.Operate(inst)
	s.create(inst)
	first := s.succeed("leaf", "")
	execution := s.execution("leaf", "")
	require.NoError(t, s.client.Delete(s.ctx, execution))
	editStatus(s, execution, func(execution *v1alpha1.Execution) {
		execution.Status.JobID, execution.Status.JobIDFinished, execution.Status.Phase = "uninstall", "uninstall", v1alpha1.PhaseDeleteFailed
	})
	s.annotate("leaf", v1alpha1.OperationAnnotation, v1alpha1.OperationReconcile)
	second := s.installation("leaf", func(inst *v1alpha1.Installation) bool { return inst.Status.JobID != first.Status.JobID })
	until(s, execution, func(execution *v1alpha1.Execution) bool { return execution.Status.JobID == second.Status.JobID })
	s.quiet()
	edit(s, execution, func(execution *v1alpha1.Execution) { execution.Finalizers = nil })
	require.Equal(t, second.Status.JobID, s.succeed("leaf", first.Status.JobID).Status.JobID)
	s.quiet()
}

func TestE24NoVersionOfASubinstallationLooksFinishedBeforeItHasItsJob(t *testing.T) {
	for name, change := range map[string]func(root *v1alpha1.Installation, to *v1alpha1.Installation){
		"same spec":  func(root, _ *v1alpha1.Installation) { fixture.Operate(root) },
		"other spec": func(root, to *v1alpha1.Installation) { root.Spec.Blueprint = to.Spec.Blueprint },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.played()
			root := fixture.Following(s.parentOf("root", "a"))
			s.create(root)
			first := s.finished("root", "", always)
			edit(s, root, func(root *v1alpha1.Installation) { change(root, s.parentOf("root", "b")) })
			second := s.finished("root", first.Status.JobID, always)
			child := s.installation(s.child("root").Name, always)
			require.Equal(t, second.Status.JobID, child.Status.JobIDFinished)
			had := map[string]bool{}
			for _, inst := range s.seen.of(s, child) {
				had[inst.Status.JobID] = true
				job := inst.Annotations[v1alpha1.JobAnnotation]
				assert.False(t, !inst.Status.IsIdle() && conditions.IsReady(inst), "version %s is at work and Ready", inst.ResourceVersion)
				assert.False(t, looksFinished(inst) && !had[job], "version %s looks finished before it has job %s", inst.ResourceVersion, job)
			}
			s.quiet()
			assert.Equal(t, 2, s.seen.jobs(s, s.installation(child.Name, always)), "the job of the annotation is not taken again")
		})
	}
}
