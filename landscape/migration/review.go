// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package migration tells what happens to the objects of Gardener Landscaper when the processes of this project take them over: what starts at once, what the
// next jobs would refuse, and what they would change on targets. It writes nothing.
package migration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/validation"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/landscape"
	"github.com/flux-landscaper/flux-landscaper/publishing/lint"
)

// Outcome is what becomes of an object.
type Outcome string

// Outcomes, from the best to the worst.
const (
	// Kept objects stay as they are: nothing starts, and the next job changes nothing on the target.
	Kept Outcome = "Kept"
	// Ignored objects, or fields of them, have no effect.
	Ignored Outcome = "Ignored"
	// Unproven objects are taken over, and nobody can say what their next job does.
	Unproven Outcome = "Unproven"
	// Changes says that the next job changes something on the target.
	Changes Outcome = "Changes"
	// Runs says that a job starts, or goes on, as soon as the processes of this project run.
	Runs Outcome = "Runs"
	// Refused says that the next job fails.
	Refused Outcome = "Refused"
)

// Outcomes in this order.
var Outcomes = []Outcome{Kept, Ignored, Unproven, Changes, Runs, Refused}

// Finding is what becomes of one object, and why, in sentences.
type Finding struct {
	landscape.ID
	Outcome Outcome  `json:"outcome"`
	Why     []string `json:"why,omitempty"`
}

// say adds a sentence. The worst outcome counts.
func (f *Finding) say(outcome Outcome, format string, args ...any) {
	if slices.Index(Outcomes, outcome) > slices.Index(Outcomes, f.Outcome) {
		f.Outcome = outcome
	}
	f.Why = append(f.Why, fmt.Sprintf(format, args...))
}

// Review returns what becomes of the Installations and DeployItems of a snapshot, in the order of its lists, and after them of the objects of other kinds for
// which the processes matter, in a namespace or in all where it is empty. It does not look at targets.
func Review(ctx context.Context, c client.Client, namespace string, snapshot *landscape.Snapshot) ([]*Finding, error) {
	problems, err := linted(ctx, snapshot)
	if err != nil {
		return nil, err
	}
	var findings []*Finding
	for i := range snapshot.Installations.Items {
		inst := &snapshot.Installations.Items[i]
		f := &Finding{ID: landscape.IDOf(inst), Outcome: Kept}
		f.installation(snapshot, inst)
		for _, problem := range problems[fileOf(inst)] {
			f.say(Refused, "%s", problem)
		}
		findings = append(findings, f)
	}
	for i := range snapshot.DeployItems.Items {
		item := &snapshot.DeployItems.Items[i]
		f := &Finding{ID: landscape.IDOf(item), Outcome: Kept}
		f.starts(item, &item.Status.JobStatus)
		if again, err := contract.ContinuousReconcileIn(item.Spec.Configuration); err == nil && again != nil {
			f.say(Runs, "continuousReconcile works here, and starts jobs by its clock.")
		}
		findings = append(findings, f)
	}
	others, err := others(ctx, c, namespace)
	return append(findings, others...), err
}

// otherKinds are those that matter to the processes alone, or that Gardener Landscaper has given up, with what becomes of their objects.
var otherKinds = []struct {
	kind    string
	outcome Outcome
	why     string
}{
	{"SyncObject", Ignored, "It is a lock between processes of Gardener Landscaper, and nobody asks for it: delete it."},
	{"CriticalProblems", Ignored, "It tells of crashes of processes, and nothing depends on it."},
	{"ComponentOverwrites", Ignored, "Its kind is not known here: write ComponentVersionOverwrites."},
	{"Environment", Runs, "It works here: DeployerRegistrations that select it bring it their deployers. Delete it if it is a left-over."},
}

// others returns what becomes of the objects of other kinds, as far as the cluster has these.
func others(ctx context.Context, c client.Client, namespace string) ([]*Finding, error) {
	var findings []*Finding
	for _, other := range otherKinds {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(other.kind + "List"))
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			if apimeta.IsNoMatchError(err) || apierrors.IsNotFound(err) {
				continue
			}
			return nil, fmt.Errorf("list objects of kind %s: %w", other.kind, err)
		}
		for _, object := range list.Items {
			f := &Finding{ID: landscape.ID{Kind: other.kind, Namespace: object.Namespace, Name: object.Name}, Outcome: Kept}
			f.say(other.outcome, "%s", other.why)
			findings = append(findings, f)
		}
	}
	return findings, nil
}

// starts says what goes on at once.
func (f *Finding) starts(object client.Object, job *v1alpha1.JobStatus) {
	switch {
	case !object.GetDeletionTimestamp().IsZero() && job.Phase == v1alpha1.PhaseDeleteFailed && job.IsIdle():
		f.say(Kept, "Its deletion has failed, and is not tried again before somebody asks.")
	case !object.GetDeletionTimestamp().IsZero():
		f.say(Runs, "Its deletion goes on.")
	case !job.IsIdle():
		f.say(Runs, "Its job goes on under its ID, without repeating what its DeployItems have finished.")
	}
}

func (f *Finding) installation(snapshot *landscape.Snapshot, inst *v1alpha1.Installation) {
	f.starts(inst, &inst.Status.JobStatus)
	annotations, idle := inst.Annotations, inst.Status.IsIdle() && inst.DeletionTimestamp.IsZero()
	changed := inst.Generation != inst.Status.ObservedGeneration
	parent, _ := snapshot.Parent(inst).(*v1alpha1.Installation)
	switch {
	case annotations[v1alpha1.IgnoreAnnotation] == "true":
		f.say(Ignored, "The annotation %s works here: nothing is done with it until it is removed.", v1alpha1.IgnoreAnnotation)
	case !idle || parent != nil:
	case annotations[v1alpha1.OperationAnnotation] != "":
		f.say(Runs, "Its annotation asks for the operation %s.", annotations[v1alpha1.OperationAnnotation])
	case changed && annotations[v1alpha1.ReconcileIfChangedAnnotation] == "true":
		f.say(Runs, "Its spec has changed since its last job, and its annotation %s starts one.", v1alpha1.ReconcileIfChangedAnnotation)
	case changed:
		f.say(Kept, "Its spec has changed since its last job: one starts with the component reconcile-if-changed of flux/install, or when somebody asks.")
	}
	if inst.Spec.AutomaticReconcile != nil && idle && parent == nil {
		f.say(Runs, "spec.automaticReconcile starts jobs by its clock.")
	}
	for _, other := range snapshot.Installations.Items {
		if idle && other.Namespace == inst.Namespace && slices.ContainsFunc(other.Status.DependentsToTrigger, func(d v1alpha1.DependentToTrigger) bool { return d.Name == inst.Name }) {
			f.say(Runs, "Installation %s has ended and has not started it yet.", other.Name)
		}
	}
	if idle && inst.Status.Phase == v1alpha1.PhaseFailed {
		f.say(Kept, "Its last job has failed, and it shows that.")
	}
	if parent != nil && annotations[v1alpha1.SubinstallationNameAnnotation] == "" {
		f.say(Refused, "It belongs to Installation %s and has no annotation %s, so that the next job of that fails.%s", parent.Name, v1alpha1.SubinstallationNameAnnotation,
			map[bool]string{true: " migrate adopt sets it.", false: " Set it to the name of its template, or delete it."}[TemplateOf(parent, inst) != ""])
	}
	if err := inst.Undecoded.Err(); err != nil {
		f.say(Refused, "%v", err)
	}
	if parent == nil {
		for _, problem := range validation.Installation(inst) {
			f.say(Refused, "%v", problem)
		}
	}
	for _, warning := range validation.InstallationWarnings(inst) {
		f.say(Ignored, "%s.", warning)
	}
}

// TemplateOf returns the name of the template that a sub-installation without the annotation was made from, as the status of its parent has it, or the
// beginning of its generated name; empty where neither tells.
func TemplateOf(parent, child *v1alpha1.Installation) string {
	if cache := parent.Status.SubInstCache; cache != nil {
		for _, pair := range cache.ActiveSubs {
			if pair.ObjectName == child.Name {
				return pair.SpecName
			}
		}
	}
	return strings.TrimSuffix(child.GenerateName, "-")
}

func fileOf(inst *v1alpha1.Installation) string { return inst.Namespace + "." + inst.Name + ".yaml" }

// linted returns what is wrong with the root Installations and their inline blueprints by file. Each is checked alone: what it imports may be anywhere.
func linted(ctx context.Context, snapshot *landscape.Snapshot) (map[string][]string, error) {
	dir, err := os.MkdirTemp("", "flux-landscaper-migrate-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for i := range snapshot.Installations.Items {
		inst := &snapshot.Installations.Items[i]
		if snapshot.Parent(inst) != nil {
			continue
		}
		alone := &v1alpha1.Installation{Spec: inst.Spec}
		alone.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Installation"))
		alone.Name, alone.Namespace = inst.Name, inst.Namespace
		raw, err := json.Marshal(alone)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, fileOf(inst)), raw, 0o600); err != nil {
			return nil, err
		}
	}
	report, err := lint.Landscape(ctx, []lint.Place{{Artifact: os.DirFS(dir), Path: ".", Name: "."}})
	if err != nil {
		return nil, err
	}
	problems := map[string][]string{}
	for _, finding := range report.Findings {
		if finding.Severity == lint.Error {
			file := filepath.Base(finding.File)
			problems[file] = append(problems[file], strings.TrimPrefix(finding.Field+": "+finding.Message, ": "))
		}
	}
	return problems, nil
}
