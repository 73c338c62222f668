// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Trace is where an object on a target comes from.
type Trace struct {
	// Object is the one on the target, and Target where it is.
	Object ID     `json:"object"`
	Target string `json:"target,omitempty"`
	// Owners are the DeployItem, its Installation, and those above up to the root.
	Owners []Link `json:"owners"`
	// Sources say where blueprint, component and chart come from: one line each.
	Sources []string `json:"sources,omitempty"`
	// Git says which Kustomization applies the root, and from which commit.
	Git string `json:"git,omitempty"`
}

// Trace finds the DeployItems whose deployers say that they have put an object on a target, by the inventories in their status alone. An empty
// namespace of the object is any; an empty target is any.
func (s *Snapshot) Trace(object ID, target string, now time.Time) []*Trace {
	var found []*Trace
	for i := range s.DeployItems.Items {
		item := &s.DeployItems.Items[i]
		at := targetName(item)
		if target != "" && target != at {
			continue
		}
		for _, deployed := range DeployedBy(item) {
			if !strings.EqualFold(deployed.Kind, object.Kind) || deployed.Name != object.Name || object.Namespace != "" && deployed.Namespace != object.Namespace {
				continue
			}
			trace := &Trace{Object: deployed.ID, Target: at, Owners: []Link{{ID: IDOf(item), Status: StatusOf(item, now)}}, Sources: sourcesOfItem(item)}
			for owner := s.Parent(item); owner != nil && len(trace.Owners) < len(s.Installations.Items)+2; owner = s.Parent(owner) {
				if inst, ok := owner.(*v1alpha1.Installation); ok {
					trace.Owners = append(trace.Owners, Link{ID: IDOf(inst), Status: StatusOf(inst, now)})
					trace.Sources = append(trace.Sources, s.sourcesOf(inst)...)
				}
			}
			trace.Git = s.git(item)
			found = append(found, trace)
		}
	}
	return found
}

// targetName is the name that a person gave the Target of an item; empty without one.
func targetName(item *v1alpha1.DeployItem) string {
	if item.Spec.Target == nil {
		return ""
	}
	return cmp.Or(item.Annotations[v1alpha1.OriginalTargetAnnotation], item.Spec.Target.Name)
}

func sourcesOfItem(item *v1alpha1.DeployItem) []string {
	status, ok := providerStatus(item)
	if !ok || status.Release == nil {
		return nil
	}
	line := strings.TrimSpace("chart " + status.Release.ChartName + " " + status.Release.ChartVersion)
	if source := status.Release.Source; source != nil {
		line += fmt.Sprintf(" of %s %s/%s", source.Kind, source.Namespace, source.Name)
	}
	return []string{line}
}

// sourcesOf says where the blueprint and the component of an Installation come from, with the revisions that its status has.
func (s *Snapshot) sourcesOf(inst *v1alpha1.Installation) []string {
	var lines []string
	blueprint := &inst.Spec.Blueprint
	switch {
	case blueprint.SourceReference != nil:
		line := "blueprint of " + inst.Name + ": " + cmp.Or(blueprint.Path, "./") + " of " + blueprint.SourceReference.Kind + " " + blueprint.SourceReference.Name
		lines = append(lines, line+s.revisionIn(inst, blueprint.SourceReference))
	case blueprint.Reference != nil:
		lines = append(lines, "blueprint of "+inst.Name+": resource "+blueprint.Reference.ResourceName+" of its component")
	case blueprint.Inline != nil:
		lines = append(lines, "blueprint of "+inst.Name+": in its spec")
	}
	if component := inst.Spec.ComponentDescriptor; component != nil && component.Reference != nil {
		lines = append(lines, "component of "+inst.Name+": "+component.Reference.ComponentName+" "+component.Reference.Version)
	}
	return lines
}

// revisionIn returns the revision of a source that the last job used, and where that source takes it from.
func (s *Snapshot) revisionIn(inst *v1alpha1.Installation, reference *v1alpha1.SourceReference) string {
	text := ""
	i := slices.IndexFunc(inst.Status.Sources, func(source v1alpha1.SourceStatus) bool {
		return source.Kind == reference.Kind && source.Name == reference.Name
	})
	if i >= 0 {
		text = ", " + inst.Status.Sources[i].Revision
	}
	switch source := s.Find(reference.Kind, cmp.Or(reference.Namespace, inst.Namespace), reference.Name).(type) {
	case *sourcev1.GitRepository:
		text += ", " + shownURL(source.Spec.URL)
	case *sourcev1.OCIRepository:
		text += ", " + shownURL(source.Spec.URL)
	}
	return text
}

// Lines says a trace in lines of at most width characters; 0 is no limit.
func (t *Trace) Lines(width int, paint Palette) []string {
	var lines []string
	add := func(before, text string) {
		rest := strings.Repeat(" ", length(before))
		if width == 0 {
			lines = append(lines, before+text)
			return
		}
		for i, line := range Wrap(text, width-length(before)) {
			if i > 0 {
				before = rest
			}
			lines = append(lines, before+line)
		}
	}
	title := t.Object.Kind + " " + strings.TrimPrefix(t.Object.Namespace+"/"+t.Object.Name, "/")
	if t.Target != "" {
		title += " on Target " + t.Target
	}
	add("", paint.Bold(title))
	for i, owner := range t.Owners {
		add(strings.Repeat("   ", i)+"└─ ", fmt.Sprintf("%s %s/%s  %s %s", owner.Kind, owner.Namespace, owner.Name, owner.Status.Mark(), owner.Status.Word()))
	}
	for _, source := range t.Sources {
		add("   ", source)
	}
	if t.Git != "" {
		add("   ", t.Git)
	}
	return lines
}

// shownURL is a URL without a password that somebody has written into it.
func shownURL(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return text
	}
	return parsed.Redacted()
}
