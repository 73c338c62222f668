// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/storage"
)

// producer exports a text as one DataObject and, changing with every content of the note, runs without a change of the export.
func producer(name, text, note string) object {
	return object{
		"blueprint": inline(object{
			"exports":          dataExports("out"),
			"deployExecutions": goTemplate("# " + note + "\ndeployItems:\n" + mockItem("item", "{text: "+text+"}")),
			"exportExecutions": goTemplate("exports: {out: '{{ .values.deployitems.item.text }}'}"),
		}),
		"exports": object{"data": list{object{"name": "out", "dataRef": name}}},
	}
}

// consumer deploys what it imports into a ConfigMap, and exports it with an x added.
func consumer(imported, config, exported string) object {
	return object{
		"blueprint": inline(object{
			"imports": list{object{"name": "in", "schema": object{"type": "string"}}, object{"name": "cluster", "targetType": clusterType}},
			"exports": dataExports("out"),
			"deployExecutions": goTemplate("deployItems:\n" +
				configItem("item", "{import: cluster}", config, "'{{ .imports.in }}'")),
			"exportExecutions": goTemplate("exports: {out: '{{ .imports.in }}-x'}"),
		}),
		"imports": object{
			"data":    list{object{"name": "in", "dataRef": imported}},
			"targets": list{object{"name": "cluster", "target": "cluster"}},
		},
		"exports": object{"data": list{object{"name": "out", "dataRef": exported}}},
	}
}

func TestB401SuccessorTriggered(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.installWith("two", consumer("one", "two", "two"), nil)
	s.installWith("three", consumer("two", "three", "three"), nil)
	s.installWith("one", producer("one", "cm", ""), nil)
	s.reconcile("one")
	s.succeeded("two")
	s.succeeded("three")
	assert.Equal(t, "cm", s.configValue("two"))
	assert.Equal(t, "cm-x", s.configValue("three"))
	assert.Equal(t, `"cm-x-x"`, s.value("three"))
	s.RequireJobs(1, "one", "two", "three")
}

func TestProducerWithUnchangedValueRunsNoConsumer(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.install("one", producer("one", "cm", ""))
	s.install("two", consumer("one", "two", "two"))
	s.succeeded("two")

	quiet := time.Now()
	s.install("one", producer("one", "cm", "another note"))
	s.succeeded("one")
	s.RequireJobs(2, "one")
	s.install("one", producer("one", "cm2", "another note"))
	s.succeeded("one")
	s.AwaitState("two", func(inst *v1alpha1.Installation) bool {
		return inst.Status.IsIdle() && s.configValue("two") == "cm2"
	})
	s.RequireJobs(3, "one")
	s.RequireJobs(2, "two")
	assert.Equal(t, `"cm2-x"`, s.value("two"))
	for _, write := range s.Writes(s.Ctx, t, s.Namespace, quiet) {
		if write.Resource == "dataobjects.landscaper.gardener.cloud" && write.Name == "one" {
			assert.Equal(t, "update", write.Verb, "exports are replaced, never deleted in between")
		}
	}
}

// TestADiamondRunsOncePerChange has two ways from the producer to the last consumer, of different length.
func TestADiamondRunsOncePerChange(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	last := func() object {
		spec := consumer("one", "last", "last")
		spec["imports"].(object)["data"] = list{object{"name": "in", "dataRef": "one"}, object{"name": "other", "dataRef": "three"}}
		return spec
	}
	s.install("one", producer("one", "v1", ""))
	s.install("two", consumer("one", "two", "two"))
	s.install("three", consumer("two", "three", "three"))
	s.install("last", last())
	for _, name := range []string{"one", "two", "three", "last"} {
		s.succeeded(name)
	}
	s.RequireJobs(1, "one", "two", "three")
	before := len(s.Witness.Jobs(s.Namespace, "last"))

	s.install("one", producer("one", "v2", ""))
	s.AwaitState("last", func(inst *v1alpha1.Installation) bool {
		return inst.Status.IsIdle() && s.configValue("last") == "v2" && s.value("three") == `"v2-x-x"`
	})
	s.succeeded("last")
	s.RequireJobs(2, "one", "two", "three")
	s.RequireJobs(before+1, "last")
}

// TestADiamondBelowDataRunsOncePerChange changes data that the last consumer imports itself and gets through another Installation as well.
func TestADiamondBelowDataRunsOncePerChange(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	reacts := object{v1alpha1.ReconcileIfChangedAnnotation: "true", v1alpha1.ReconcileIfImportsChangedAnnotation: "true"}
	last := consumer("data", "last", "last")
	last["imports"].(object)["data"] = list{object{"name": "in", "dataRef": "data"}, object{"name": "other", "dataRef": "one"}}
	s.data("data", "v0")
	s.installWith("one", consumer("data", "one", "one"), reacts)
	s.installWith("last", last, reacts)
	s.succeeded("last")
	before := len(s.Witness.Jobs(s.Namespace, "last"))
	const changes = 3
	for i := range changes {
		value := fmt.Sprintf("v%d", i+1)
		s.data("data", value)
		s.AwaitState("last", func(inst *v1alpha1.Installation) bool {
			return inst.Status.IsIdle() && s.configValue("last") == value && s.value("one") == strconv.Quote(value+"-x")
		})
	}
	s.RequireStandstill()
	s.RequireJobs(1+changes, "one")
	s.RequireJobs(before+changes, "last")
}

func TestB402DeletionOfProducerAndConsumerTogether(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.install("one", producer("one", "cm", ""))
	s.install("two", consumer("one", "two", "two"))
	s.succeeded("two")
	s.Delete(s.Installation("one"))
	s.AwaitState("one", func(inst *v1alpha1.Installation) bool {
		return strings.Contains(readyMessage(inst), "delete installation two")
	})
	s.Delete(s.Installation("two"))
	s.Gone(s.Installation("one"), s.Installation("two"), s.config("two"), s.dataObject("one"), s.dataObject("two"))
	assert.Equal(t, []string{"two", "one"}, s.goneInOrder(2))
}

func TestB403ReconcileOfANestedInstallationIsRemovedWithoutEffect(t *testing.T) {
	s := newScene(t)
	s.install("root", chain())
	s.succeeded("root")
	child := s.Child("root", "a")
	s.reconcile(child.Name)
	s.AwaitState(child.Name, func(inst *v1alpha1.Installation) bool {
		return inst.Annotations[v1alpha1.OperationAnnotation] == ""
	})
	s.RequireJobs(1, "root", child.Name)
}

func TestE15AnExportIsWrittenOnceItIsFree(t *testing.T) {
	t.Parallel()
	for name, free := range map[string]func(*scene){
		"C18 the other is deleted":             func(s *scene) { s.Delete(s.Installation("first")) },
		"C18 the other exports something else": func(s *scene) { s.install("first", producer("other", "a", "")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			s.install("first", producer("shared", "a", ""))
			s.succeeded("first")
			s.install("second", producer("shared", "b", ""))
			problem := s.failed("second")
			assert.Equal(t, "spec.exports: DataObject shared is already exported by installation first; change one of the two exports", problem.Message)
			assert.Equal(t, `"a"`, s.value("shared"))
			free(s)
			s.succeeded("second")
			assert.JSONEq(t, `"b"`, s.value("shared"))
			s.RequireJobs(2, "second")
		})
	}
}

func TestE22EditedExportsAndCopiesAreRepairedByTheNextJob(t *testing.T) {
	s := newScene(t)
	s.data("base", "cm")
	s.Target("cluster")
	merge := func(object client.Object, patch string) {
		require.NoError(t, s.Client().Patch(s.Ctx, object, client.RawPatch("application/merge-patch+json", []byte(patch))))
	}
	merge(&v1alpha1.Target{ObjectMeta: s.Named("cluster")}, `{"metadata":{"labels":{"region":"eu"}}}`)
	s.install("root", named("names", namer("one", "base", "-x")))
	job := s.succeeded("root").Status.JobID
	for name, edit := range map[string]string{
		"names": `{"data":["edited"]}`, storage.DataName("Inst.root", "base"): `{"data":"edited"}`, storage.DataName("Inst.root", "one"): `{"data":"edited"}`,
	} {
		merge(s.dataObject(name), edit)
	}
	copied := &v1alpha1.Target{ObjectMeta: s.Named(storage.DataName("Inst.root", "cluster"))}
	merge(copied, `{"metadata":{"labels":{"region":"us"}}}`)
	s.reconcile("root")
	s.Ran("root", job, v1alpha1.PhaseSucceeded)
	assert.JSONEq(t, `["base=cm","one=cm-x"]`, s.value("names"))
	assert.JSONEq(t, `"cm"`, s.value(storage.DataName("Inst.root", "base")))
	assert.JSONEq(t, `"cm-x"`, s.value(storage.DataName("Inst.root", "one")))
	require.True(t, s.exists(copied))
	assert.Equal(t, "eu", copied.Labels["region"])
	assert.ElementsMatch(t, []string{"cm"}, keys(s.configs()))
}

func TestAnExportReplacesWhatNoInstallationOwns(t *testing.T) {
	s := newScene(t)
	s.Put("DataObject", "of-nobody", object{
		"metadata": object{"ownerReferences": list{object{
			"apiVersion": "landscaper.gardener.cloud/v1alpha1", "kind": "Installation", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000",
		}}},
		"data": "stale",
	})
	s.install("of-nobody", producer("of-nobody", "a", ""))
	s.data("of-a-person", "by hand")
	s.install("of-a-person", producer("of-a-person", "a", ""))
	for _, name := range []string{"of-nobody", "of-a-person"} {
		s.succeeded(name)
		assert.Equal(t, `"a"`, s.value(name))
	}
}

func TestC19DeleteWhileStillImported(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.install("one", producer("one", "cm", ""))
	s.install("two", consumer("one", "two", "two"))
	s.succeeded("two")
	s.Delete(s.Installation("one"))
	s.AwaitState("one", func(inst *v1alpha1.Installation) bool {
		return strings.Contains(readyMessage(inst), "a sibling still imports some of the exports: delete installation two")
	})
	assert.Equal(t, `"cm"`, s.value("one"), "exports stay as long as the Installation")

	s.data("stand-in", "cm")
	s.install("two", consumer("stand-in", "two", "two"))
	s.Gone(s.Installation("one"))
	s.succeeded("two")
}

func TestC19AFailedConsumerFailsTheDeletionOfTheProducer(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.install("one", producer("one", "cm", ""))
	s.install("two", consumer("one", "two", "two"))
	s.succeeded("two")
	require.NoError(t, s.Client().DeleteAllOf(s.Ctx, &v1alpha1.Target{}, client.InNamespace(s.Namespace)), "copies lead there, too")
	s.Delete(s.Installation("one"))
	s.Delete(s.Installation("two"))
	s.AwaitState("two", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseDeleting })
	s.Annotate(s.Installation("two"), v1alpha1.OperationAnnotation, v1alpha1.OperationInterrupt)
	failed := s.Ended("one", v1alpha1.PhaseDeleteFailed)
	assert.Equal(t, "SiblingDeleteError", failed.Status.LastError.Reason)

	s.Target("cluster")
	s.reconcile("two")
	s.Gone(s.Installation("two"), s.Installation("one"))
}

func TestRootsThatImportFromEachOtherFail(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	names := []string{"one", "two", "three"}
	for i, name := range names {
		s.installWith(name, consumer(names[(i+2)%3], name, name), nil)
	}
	for _, name := range names {
		s.reconcile(name) // when all of them are there: until then an import is missing
	}
	for _, name := range names {
		problem := s.AwaitState(name, func(inst *v1alpha1.Installation) bool {
			return inst.Status.LastError != nil && inst.Status.LastError.Reason == "CyclicDependencies" && inst.Status.IsIdle()
		}).Status.LastError
		assert.Contains(t, problem.Codes, v1alpha1.ErrorCyclicDependencies)
		assert.Contains(t, problem.Message, "-{depends_on}->")
	}
	s.data("start", "cm")
	s.install("one", consumer("start", "one", "one"))
	s.succeeded("one")
	s.AwaitState("three", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseSucceeded })
	assert.Equal(t, `"cm-x-x-x"`, s.value("three"))
}

func TestAConsumerOfAFailedProducerFailsAndFollowsItsRepair(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	broken := producer("one", "cm", "")
	broken["blueprint"] = inline(object{"exports": dataExports("out"), "exportExecutions": goTemplate("exports: {out: {{ fail \"broken\" }}}")})
	s.install("one", broken)
	s.failed("one")
	s.install("two", consumer("one", "two", "two"))
	problem := s.failed("two")
	assert.Equal(t, "PredecessorFailed", problem.Reason)
	assert.Contains(t, problem.Message, "installation one")
	s.install("one", producer("one", "cm", ""))
	s.AwaitState("two", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseSucceeded })
	assert.Equal(t, "cm", s.configValue("two"))
}

// Whether a new producer starts by itself is known once the controller has looked at it: until then its consumer waits.
func TestConsumersOfNewProducersRunOnceByDefault(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.Put("Context", "default", object{"reconcileIfChanged": true})
	var consumers []string
	for i := range 4 {
		from, to := fmt.Sprintf("from-%d", i), fmt.Sprintf("to-%d", i)
		s.installWith(from, producer(from, "cm-"+from, ""), nil)
		s.installWith(to, consumer(from, to, to), nil)
		consumers = append(consumers, to)
	}
	for _, name := range consumers {
		s.succeeded(name)
	}
	s.RequireJobs(1, consumers...)
}

func TestACycleThatAnEditMakesEndsOnceAndIsForgottenWithTheEdit(t *testing.T) {
	s := newScene(t)
	s.Target("cluster")
	s.data("start", "cm")
	s.install("one", consumer("start", "one", "one"))
	s.install("two", consumer("one", "two", "two"))
	s.succeeded("two")
	s.install("one", consumer("two", "one", "one"))
	problem := s.failed("one")
	assert.Equal(t, "CyclicDependencies", problem.Reason)
	s.RequireJobs(2, "one")
	s.reconcile("two")
	s.AwaitState("two", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseFailed })

	s.install("one", consumer("start", "one", "one"))
	s.succeeded("one")
	s.AwaitState("two", func(inst *v1alpha1.Installation) bool { return inst.Status.Phase == v1alpha1.PhaseSucceeded })
	s.RequireJobs(3, "one", "two")
}
