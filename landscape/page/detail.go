// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/landscape"
)

// Detail is the answer of /api/object: what is known of one object of a landscape.
type Detail struct {
	Node
	Created metav1.Time `json:"created"`
	// Why leads to the cause of what is not well, and has the critical path of the last job.
	Why *landscape.Explanation `json:"why"`
	// Imports and Exports are those of an Installation.
	Imports []Import `json:"imports,omitempty"`
	Exports []Export `json:"exports,omitempty"`
	// Applies are the keys of the root Installations that a Kustomization applies.
	Applies []string `json:"applies,omitempty"`
	// DeployItems are those of an Installation itself, without those of sub-installations.
	DeployItems []DeployItem `json:"deployItems,omitempty"`
	// History has the contents that ran, the newest first.
	History []Run `json:"history,omitempty"`
	// Job is the last one of the tree that an Installation belongs to.
	Job *Job `json:"job,omitempty"`
}

// Import is one import of an Installation, by names only.
type Import struct {
	Name    string `json:"name"`
	Kind    string `json:"kind"`
	Object  string `json:"object"`
	From    string `json:"from,omitempty"` // key of the Installation that exports it; empty where none does
	Missing bool   `json:"missing,omitempty"`
}

// Export is one export of an Installation, by names only.
type Export struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`
	Object string   `json:"object"`
	To     []string `json:"to,omitempty"` // keys of the Installations that import it
}

// DeployItem is one thing that an Installation deploys.
type DeployItem struct {
	// Name is that of the template in the blueprint, Type is without its group, and Target has the name that a person gave it.
	Name      string           `json:"name"`
	Type      string           `json:"type"`
	Target    string           `json:"target,omitempty"`
	DependsOn []string         `json:"dependsOn,omitempty"`
	Deployer  string           `json:"deployer,omitempty"`
	State     string           `json:"state"`
	Word      string           `json:"word"`
	Status    landscape.Status `json:"status"`
	// Deployed is what its deployer has put on the target, a Helm release first.
	Deployed []Deployed `json:"deployed,omitempty"`
}

// Deployed is one object on a target.
type Deployed struct {
	landscape.ID
	// Revision is that of a Helm release; 0 for all else.
	Revision int `json:"revision,omitempty"`
}

// Run is what status.history remembers of one content.
type Run struct {
	Revision string          `json:"revision,omitempty"`
	Status   string          `json:"status"`
	Last     metav1.Time     `json:"last"`
	Took     metav1.Duration `json:"took"`
	Runs     int64           `json:"runs"`
}

// Job is one run of a tree of objects.
type Job struct {
	Spans []Span `json:"spans"`

	id string
}

// Span is the part of one object in a job.
type Span struct {
	landscape.ID
	Title string `json:"title"`
	Depth int    `json:"depth"`
	State string `json:"state"`
	Word  string `json:"word"`
	// Began is when the job reached the object, Worked when work began, and Ended is absent while it runs.
	Began  metav1.Time  `json:"began"`
	Worked *metav1.Time `json:"worked,omitempty"`
	Ended  *metav1.Time `json:"ended,omitempty"`
	// Critical says that the job would have ended earlier had this object.
	Critical bool `json:"critical,omitempty"`
}

func detailOf(s *landscape.Snapshot, object client.Object, now time.Time) *Detail {
	detail := &Detail{Node: nodeOf(s, object, now), Created: object.GetCreationTimestamp(), Why: s.Why(object, now)}
	for i := range detail.Why.Chain {
		status := &detail.Why.Chain[i].Status
		status.Message = landscape.Short(status.Message)
	}
	switch object := object.(type) {
	case *v1alpha1.Installation:
		detail.Imports, detail.Exports = importsOf(s, object), exportsOf(s, object)
		detail.History = runsOf(object.Status.History)
		detail.Job = jobOf(s, object, now)
		for _, child := range s.Children(object) {
			for _, item := range s.Children(child) {
				if item, ok := item.(*v1alpha1.DeployItem); ok && isExecution(child) {
					detail.DeployItems = append(detail.DeployItems, itemOf(item, now))
				}
			}
		}
	case *kustomizev1.Kustomization:
		detail.History = runsOf(object.Status.History)
		for _, inst := range s.Select("Installation", landscape.ListOptions{}) {
			if kustomizationOf(inst) == detail.Key && s.Parent(inst) == nil {
				detail.Applies = append(detail.Applies, keyOf(landscape.IDOf(inst)))
			}
		}
	}
	return detail
}

func isExecution(object client.Object) bool {
	_, is := object.(*v1alpha1.Execution)
	return is
}

func importsOf(s *landscape.Snapshot, inst *v1alpha1.Installation) []Import {
	var imports []Import
	for _, imported := range s.Imports(inst) {
		shown := Import{Name: imported.Name, Kind: imported.ID.Kind, Object: imported.ID.Name, Missing: imported.Missing}
		if imported.From != nil {
			shown.From = keyOf(landscape.IDOf(imported.From))
		}
		imports = append(imports, shown)
	}
	return imports
}

func exportsOf(s *landscape.Snapshot, inst *v1alpha1.Installation) []Export {
	var exports []Export
	for _, data := range inst.Spec.Exports.Data {
		exports = append(exports, Export{Name: data.Name, Kind: "DataObject", Object: data.DataRef})
	}
	for _, target := range inst.Spec.Exports.Targets {
		exports = append(exports, Export{Name: target.Name, Kind: "Target", Object: target.Target})
	}
	for _, consumer := range s.Consumers(inst) {
		for _, imported := range s.Imports(consumer) {
			for i := range exports {
				export, to := &exports[i], keyOf(landscape.IDOf(consumer))
				if imported.From == inst && imported.ID.Kind == export.Kind && imported.ID.Name == export.Object && !slices.Contains(export.To, to) {
					export.To = append(export.To, to)
				}
			}
		}
	}
	return exports
}

func itemOf(item *v1alpha1.DeployItem, now time.Time) DeployItem {
	status := landscape.StatusOf(item, now)
	status.Message, status.Drift = landscape.Short(status.Message), landscape.Short(status.Drift)
	shown := DeployItem{
		Name: cmp.Or(item.Labels[v1alpha1.ExecutionManagedNameLabel], item.Name), Type: item.Spec.Type[strings.LastIndex(item.Spec.Type, "/")+1:],
		State: stateOf(status), Word: status.Word(), Status: status,
	}
	if item.Spec.Target != nil {
		shown.Target = cmp.Or(item.Annotations[v1alpha1.OriginalTargetAnnotation], item.Spec.Target.Name)
	}
	if before := item.Annotations[v1alpha1.DependsOnAnnotation]; before != "" {
		shown.DependsOn = strings.Split(before, ",")
	}
	if deployer := item.Status.Deployer; deployer != nil {
		shown.Deployer = strings.TrimSpace(deployer.Name + " " + deployer.Version)
	}
	for _, deployed := range landscape.DeployedBy(item) {
		shown.Deployed = append(shown.Deployed, Deployed{deployed.ID, deployed.Revision})
	}
	return shown
}

func runsOf(history meta.History) []Run {
	var runs []Run
	for _, content := range history {
		runs = append(runs, Run{
			Revision: landscape.Short(content.Metadata["revision"]), Status: content.LastReconciledStatus, Last: content.LastReconciled,
			Took: content.LastReconciledDuration, Runs: content.TotalReconciliations,
		})
	}
	return runs
}

// jobOf returns the last job of the tree that an Installation belongs to, nil before the first.
func jobOf(s *landscape.Snapshot, inst *v1alpha1.Installation, now time.Time) *Job {
	root := client.Object(inst)
	for range s.Installations.Items { // owners may lead round in a circle
		parent := s.Parent(root)
		if parent == nil {
			break
		}
		root = parent
	}
	top, ok := root.(*v1alpha1.Installation)
	if !ok || top.Status.JobID == "" {
		return nil
	}
	job := &Job{id: top.Status.JobID}
	critical := map[landscape.ID]bool{}
	for _, leg := range s.Why(top, now).Path {
		critical[leg.ID] = true
	}
	job.add(s, top, 0, critical, now)
	return job
}

// add adds an object and all below it that took part in the job.
func (j *Job) add(s *landscape.Snapshot, object client.Object, depth int, critical map[landscape.ID]bool, now time.Time) {
	working, ok := object.(interface{ Job() *v1alpha1.JobStatus })
	if !ok || working.Job().JobID != j.id || depth > len(s.Installations.Items)+2 {
		return
	}
	times := working.Job().TransitionTimes
	if isExecution(object) {
		depth-- // what an Execution does is shown by its DeployItems
	} else if times != nil && times.TriggerTime != nil {
		id, status := landscape.IDOf(object), landscape.StatusOf(object, now)
		span := Span{ID: id, Title: id.Name, Depth: depth, State: stateOf(status), Word: status.Word(), Began: *times.TriggerTime, Worked: times.InitTime}
		if working.Job().IsIdle() {
			span.Ended = times.FinishedTime
		}
		name := object.GetLabels()[v1alpha1.ExecutionManagedNameLabel]
		span.Title = cmp.Or(object.GetAnnotations()[v1alpha1.SubinstallationNameAnnotation], name, span.Title)
		span.Critical = critical[landscape.ID{Kind: id.Kind, Namespace: id.Namespace, Name: cmp.Or(name, id.Name)}]
		j.Spans = append(j.Spans, span)
	}
	for _, child := range s.Children(object) {
		j.add(s, child, depth+1, critical, now)
	}
}
