// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package landscape

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/fluxcd/pkg/runtime/conditions"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/notify"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// Explanation says why an object is as it is.
type Explanation struct {
	// Chain leads from the object to the cause. It has one link where the object is well, or is the cause itself.
	Chain []Link `json:"chain"`
	// Means says what the reason of the cause means, and Cure what a person has to do; empty where nobody has to do anything.
	Means string `json:"means,omitempty"`
	Cure  string `json:"cure,omitempty"`
	// Git says which commit of which repository the cause comes from, where Flux applies it.
	Git string `json:"git,omitempty"`
	// Sources say where blueprint and component of the Installation come from that the cause belongs to: one line each.
	Sources []string `json:"sources,omitempty"`
	// HeldUp are the Installations that import from those of the chain, and wait with them.
	HeldUp []string `json:"heldUp,omitempty"`
	// Trigger says what started the last job, as far as status tells.
	Trigger string `json:"trigger,omitempty"`
	// Path is the critical path of the last job, from the end back to its beginning.
	Path []Leg `json:"path,omitempty"`
}

// Link is one object on the way to a cause.
type Link struct {
	ID
	Status Status `json:"status"`
	// Notes are what is known beside the status.
	Notes []string `json:"notes,omitempty"`
	// Leads says how this object leads to the next; empty at the end.
	Leads string `json:"leads,omitempty"`
}

// Leg is one object on the critical path of a job.
type Leg struct {
	ID
	Began metav1.Time     `json:"began"`
	Took  metav1.Duration `json:"took"`
}

// Why explains an object of the snapshot.
func (s *Snapshot) Why(object client.Object, now time.Time) *Explanation {
	why := &Explanation{}
	seen := map[client.Object]bool{}
	cause := object
	for current := object; current != nil && !seen[current]; {
		seen[current], cause = true, current
		link := Link{ID: IDOf(current), Status: StatusOf(current, now)}
		link.Notes = s.notes(current, &link.Status, now)
		next, leads := s.cause(current, &link.Status, now)
		if next != nil && !seen[next] {
			link.Leads = leads
		}
		why.Chain = append(why.Chain, link)
		if current != object {
			seen[current] = true
		}
		if next == nil && leads != "" { // what would be the cause does not exist
			why.Chain[len(why.Chain)-1].Notes = append(link.Notes, leads)
			why.Cure = "Create it, or correct the name in spec.imports."
		}
		current = next
	}
	if unseen := s.unseenBelow(cause); unseen != "" {
		last := &why.Chain[len(why.Chain)-1]
		last.Notes = append(last.Notes, unseen)
	}
	why.advise()
	if last := &why.Chain[len(why.Chain)-1].Status; last.Health != Well || last.Drifted {
		why.Git = s.git(cause)
		if inst := s.installationOf(cause); inst != nil {
			why.Sources = s.sourcesOf(inst)
		}
	}
	if inst, ok := object.(*v1alpha1.Installation); ok {
		for _, consumer := range s.Consumers(inst) {
			if StatusOf(inst, now).Health != Well {
				why.HeldUp = append(why.HeldUp, consumer.Name)
			}
		}
		why.Trigger = trigger(inst)
	}
	if object, ok := object.(job); ok {
		why.Path = s.path(object)
	}
	return why
}

// cause returns what makes an object not well, and how it leads there; nil where the object itself is the cause. Where the cause does not
// exist there is only the text.
func (s *Snapshot) cause(object client.Object, status *Status, now time.Time) (next client.Object, leads string) {
	switch {
	case kindName(object) == kustomizev1.KustomizationKind:
		return s.causeOfKustomization(object, now)
	case status.Health == Well && status.Drifted:
		return below(drifted(s.Children(object), now))
	case status.Health == Well || status.Health == Held:
		return nil, ""
	}
	switch object := object.(type) {
	case *v1alpha1.Installation:
		return s.causeOfInstallation(object, now)
	case *v1alpha1.Execution:
		return s.unwellChild(object, now)
	case *v1alpha1.DeployItem:
		return s.causeOfItem(object, now)
	case *v1alpha1.Target:
		if env := s.environmentOf(object); env != nil && StatusOf(env, now).Health != Well {
			return env, "it belongs to"
		}
	}
	return nil, ""
}

// drifted returns the first object that is not as it was deployed, nil where there is none.
func drifted(objects []client.Object, now time.Time) client.Object {
	for _, object := range objects {
		if status := StatusOf(object, now); status.Drifted {
			return object
		}
	}
	return nil
}

// unwellChild returns the child that has failed first, else the one that is still at work.
func (s *Snapshot) unwellChild(object client.Object, now time.Time) (client.Object, string) {
	return below(worst(s.Children(object), now))
}

func below(child client.Object) (client.Object, string) {
	if child == nil {
		return nil, ""
	}
	return child, "below it is"
}

// worst returns the first object that fails, else the first that is held or at work; nil where all are well.
func worst(objects []client.Object, now time.Time) client.Object {
	for _, health := range []Health{Failing, Held, Working} {
		for _, object := range objects {
			if status := StatusOf(object, now); status.Health == health {
				return object
			}
		}
	}
	return nil
}

func (s *Snapshot) causeOfInstallation(inst *v1alpha1.Installation, now time.Time) (client.Object, string) {
	if child, leads := s.unwellChild(inst, now); child != nil {
		return child, leads
	}
	var producers []client.Object
	for _, imported := range s.Imports(inst) {
		switch {
		case imported.From == inst:
		case imported.Missing && imported.From != nil:
			return imported.From, "it imports " + imported.ID.String() + ", which does not exist, from"
		case imported.Missing && s.Parent(inst) == nil:
			return nil, "it imports " + imported.ID.String() + ", which does not exist, and no Installation exports it"
		case imported.From != nil:
			producers = append(producers, imported.From)
		}
	}
	if producer := worst(producers, now); producer != nil {
		return producer, "it imports from"
	}
	for _, reference := range []*v1alpha1.SourceReference{inst.Spec.Blueprint.SourceReference, sourceOfComponent(inst)} {
		if reference == nil {
			continue
		}
		if source := s.Find(reference.Kind, cmp.Or(reference.Namespace, inst.Namespace), reference.Name); source != nil && StatusOf(source, now).Health != Well {
			return source, "it takes its blueprint or component from"
		}
	}
	return nil, ""
}

func sourceOfComponent(inst *v1alpha1.Installation) *v1alpha1.SourceReference {
	if inst.Spec.ComponentDescriptor == nil {
		return nil
	}
	return inst.Spec.ComponentDescriptor.SourceReference
}

func (s *Snapshot) causeOfItem(item *v1alpha1.DeployItem, now time.Time) (client.Object, string) {
	target := s.targetOf(item)
	if target == nil {
		return nil, ""
	}
	if env := s.environmentOf(target); env != nil && !apimeta.IsStatusConditionTrue(env.Status.Conditions, v1alpha1.AgentConnectedCondition) {
		return env, "its Target " + NameOf(target) + " belongs to"
	}
	if original := s.Find("Target", item.Namespace, NameOf(target)); original != nil && StatusOf(original, now).Health == Failing {
		return original, "it deploys to"
	}
	return nil, ""
}

func (s *Snapshot) causeOfKustomization(object client.Object, now time.Time) (client.Object, string) {
	var applied []client.Object
	for i := range s.Installations.Items {
		if inst := &s.Installations.Items[i]; KustomizationOf(inst) == client.ObjectKeyFromObject(object) && s.Parent(inst) == nil {
			applied = append(applied, inst)
		}
	}
	status := StatusOf(object, now)
	slices.SortStableFunc(applied, func(a, b client.Object) int { // the one that its message names is the one that made it fail
		return cmp.Compare(indexIn(status.Message, a), indexIn(status.Message, b))
	})
	source := s.sourceOf(object)
	if source != nil && StatusOf(source, now).Health == Well {
		source = nil
	}
	failing, inst := status.Health == Failing, worst(applied, now)
	switch {
	case failing && source != nil:
		return source, "its source is"
	case inst != nil && (!failing || StatusOf(inst, now).Health == Failing): // what is only held or at work makes nothing fail
		return inst, "it applies"
	case !failing && drifted(applied, now) != nil:
		return drifted(applied, now), "it applies"
	case source != nil:
		return source, "its source is"
	}
	return nil, ""
}

// indexIn returns where a message names an Installation as kustomize-controller does; behind its end where it does not.
func indexIn(message string, inst client.Object) int {
	if at := strings.Index(message, "Installation/"+inst.GetNamespace()+"/"+inst.GetName()+" "); at >= 0 {
		return at
	}
	return len(message)
}

// targetOf returns the Target that an item names, or the original of that where the copy is not there; nil where neither is.
func (s *Snapshot) targetOf(item *v1alpha1.DeployItem) *v1alpha1.Target {
	if item.Spec.Target == nil {
		return nil
	}
	target, _ := s.values[value{"Target", item.Namespace, item.Spec.Target.Name}].(*v1alpha1.Target)
	if target == nil {
		target, _ = s.Find("Target", item.Namespace, item.Annotations[v1alpha1.OriginalTargetAnnotation]).(*v1alpha1.Target)
	}
	return target
}

func (s *Snapshot) environmentOf(target *v1alpha1.Target) *v1alpha1.Environment {
	env, _ := s.Find("Environment", "", target.Annotations[v1alpha1.EnvironmentAnnotation]).(*v1alpha1.Environment)
	return env
}

// sourceOf returns the Flux source of a Kustomization, nil where it is not seen.
func (s *Snapshot) sourceOf(object client.Object) client.Object {
	for i := range s.Kustomizations.Items {
		if k := &s.Kustomizations.Items[i]; k.UID == object.GetUID() && k.Name == object.GetName() {
			return s.Find(k.Spec.SourceRef.Kind, cmp.Or(k.Spec.SourceRef.Namespace, k.Namespace), k.Spec.SourceRef.Name)
		}
	}
	return nil
}

// notes are what a person should know of an object beside its status.
func (s *Snapshot) notes(object client.Object, status *Status, now time.Time) []string {
	var notes []string
	switch {
	case object.GetAnnotations()[v1alpha1.IgnoreAnnotation] == "true":
		notes = append(notes, "Nothing is done with it until its annotation "+v1alpha1.IgnoreAnnotation+" is removed.")
	case status.Suspended && status.Reason != protocol.ReasonSuspended:
		notes = append(notes, "It is suspended: nothing new starts until spec.suspend is removed.")
	}
	if status.Drifted {
		notes = append(notes, status.Drift)
	}
	if inst, ok := object.(*v1alpha1.Installation); ok {
		notes = append(notes, s.newer(inst)...)
	}
	item, ok := object.(*v1alpha1.DeployItem)
	if !ok || !status.Pending {
		return notes
	}
	since := ""
	if requested := item.Status.JobIDGenerationTime; requested != nil {
		since = ", for " + ShowAge(requested.Time, now)
	}
	notes = append(notes, "No deployer has begun its job"+since+".")
	if target := s.targetOf(item); item.Spec.Target != nil && target == nil && s.sees("Target", item.Namespace) {
		return append(notes, "Its Target does not exist.")
	}
	alive, known := s.DeployersOf(item, now)
	switch {
	case !known:
		return notes
	case len(alive) > 0:
		return append(notes, "Alive and serving it: "+strings.Join(alive, ", ")+".")
	}
	return append(notes, "No deployer that serves type "+item.Spec.Type+" for it renews its Lease.")
}

// newer says what waits for the end of a running job, which finishes what it began, and how to end it.
func (s *Snapshot) newer(inst *v1alpha1.Installation) []string {
	if inst.Status.Phase != v1alpha1.PhaseProgressing || s.Parent(inst) != nil {
		return nil
	}
	var waiting []string
	if inst.Generation != inst.Status.ObservedGeneration {
		waiting = append(waiting, "a newer spec")
	}
	for _, used := range inst.Status.Sources {
		source := s.Find(used.Kind, used.Namespace, used.Name)
		if source == nil {
			continue
		}
		if revision := StatusOf(source, time.Time{}).Revision; revision != used.Revision {
			waiting = append(waiting, Short(revision)+" of "+used.Kind+" "+used.Name)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Waiting for the end of this job: %s. Where it gets nowhere, this ends it: flux landscaper interrupt installation %s -n %s",
		strings.Join(waiting, ", "), inst.Name, inst.Namespace)}
}

// DeployersOf names the deployers that serve an item and whose Leases hold. That is not known where Leases were not read, and for the deployers of an
// Environment, for which its agent speaks.
func (s *Snapshot) DeployersOf(item *v1alpha1.DeployItem, now time.Time) (alive []string, known bool) {
	if target := s.targetOf(item); !s.sees("Lease", "") || target != nil && s.environmentOf(target) != nil {
		return nil, false
	}
	for i := range s.Leases.Items {
		lease := &s.Leases.Items[i]
		claim, err := notify.DeployerClaimOf(lease)
		if err != nil || !claim.Serves(item, s.targetOf(item)) {
			continue
		}
		if Holds(lease, now) {
			alive = append(alive, claim.Deployer)
		}
	}
	return alive, true
}

// Holds reports whether the holder of a Lease has renewed it in time.
func Holds(lease *coordinationv1.Lease, now time.Time) bool {
	if lease.Spec.RenewTime == nil {
		return false
	}
	holds := time.Minute
	if lease.Spec.LeaseDurationSeconds != nil {
		holds = time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
	}
	return now.Sub(lease.Spec.RenewTime.Time) < holds
}

// unseenBelow says that the reader may not see what is below an Installation or Execution, where the cause may lie; empty where that is seen.
func (s *Snapshot) unseenBelow(object client.Object) string {
	var unseen []string
	for _, kind := range []string{"Execution", "DeployItem"} {
		if slices.Contains(s.Withheld, kind) || s.may != nil && !s.may(kind, object.GetNamespace()) {
			unseen = append(unseen, PluralOf(kind))
		}
	}
	if kind := kindName(object); len(unseen) == 0 || kind != "Installation" && kind != "Execution" {
		return ""
	}
	return "You may not list " + strings.Join(unseen, " and ") + ", so what is below it is not seen. The role edit may."
}

// installationOf returns the Installation that an object belongs to, or is; nil where there is none.
func (s *Snapshot) installationOf(object client.Object) *v1alpha1.Installation {
	for range 3 { // a DeployItem, its Execution, its Installation
		if inst, ok := object.(*v1alpha1.Installation); ok || object == nil {
			return inst
		}
		object = s.Parent(object)
	}
	return nil
}

// appliedRevision is what a Kustomization applies, though not all of that may be well.
func appliedRevision(object client.Object) string {
	k, ok := object.(*kustomizev1.Kustomization)
	if !ok {
		return ""
	}
	if conditions.IsFalse(k, meta.ReadyCondition) && conditions.GetReason(k, meta.ReadyCondition) != meta.HealthCheckFailedReason {
		return k.Status.LastAppliedRevision
	}
	return k.Status.LastAttemptedRevision
}

// git says which Kustomization, and which revision of its source, applies the root of an object.
func (s *Snapshot) git(object client.Object) string {
	root := object
	seen := map[client.Object]bool{} // owners may lead round in a circle
	for parent := s.Parent(root); parent != nil && !seen[parent]; parent = s.Parent(root) {
		seen[parent], root = true, parent
	}
	name := KustomizationOf(root)
	if name.Name == "" {
		return ""
	}
	text := fmt.Sprintf("%s is applied by Kustomization %s", IDOf(root), name)
	kustomization := s.Find("Kustomization", name.Namespace, name.Name)
	if kustomization == nil {
		return text
	}
	if revision := appliedRevision(kustomization); revision != "" {
		text += " from " + Short(revision)
	}
	if source, ok := s.sourceOf(kustomization).(*sourcev1.GitRepository); ok {
		text += " of " + shownURL(source.Spec.URL)
	}
	return text
}
