// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// Options says how to apply.
type ApplyOptions struct {
	// Strategy for objects that exist already; empty means update.
	Strategy managedresource.UpdateStrategy
	// OnConflict is for strategy apply; empty means Force.
	OnConflict managedresource.OnConflict
	// OnImmutable is for every strategy; empty means Fail.
	OnImmutable managedresource.OnImmutable
	// DefaultNamespace of namespaced objects without one; empty makes such objects an error.
	DefaultNamespace string
	// Memory makes repeated jobs cheaper; nil works too.
	Memory *Memory
	// Known are the objects that the provider status records. Other objects are created without looking for them first.
	Known []managedresource.ManagedResourceStatus
}

// Applied is what Apply handled, also when it fails.
type Applied struct {
	// Managed are the objects handled, in the order custom resource definitions, cluster-scoped, ServiceAccounts, other namespaced ones, by
	// name inside these.
	Managed []managedresource.ManagedResourceStatus
	// Ignored are the objects with policy ignore. They are neither recorded nor deleted, whatever an earlier job recorded.
	Ignored []managedresource.ManagedResourceStatus
	// Refused are the objects that this call certainly did not create.
	Refused []managedresource.ManagedResourceStatus
	// Subjects are the objects as the API server answered them, for readiness.Checks; also those that are left alone because they are not
	// the owner's.
	Subjects []Subject
	// Progress says what has to happen before the rest can be applied: definitions to be established, old objects to be gone.
	Progress Progress

	// unestablished are the definitions that later groups have to wait for.
	unestablished []managedresource.ResourceReference
}

// The groups that objects are applied in, one after the other.
const (
	definitions = iota
	clusterScoped
	// accounts come before what names them: Kubernetes deletes a Secret for the token of a ServiceAccount that does not exist.
	accounts
	namespaced
	groups
)

// task is one object on its way to the API server.
type task struct {
	Desired
	// unmarked is the object without the marks of the owner.
	unmarked *unstructured.Unstructured
	kind     ResourceKind
	ref      managedresource.ResourceReference
	known    bool
	// digest of the manifest of a Job; hasRun says that a Job of the same digest was applied before, so that it has ended where it is gone.
	digest string
	hasRun bool

	asks        wishes
	onConflict  managedresource.OnConflict
	onImmutable managedresource.OnImmutable
	// rehearsing makes that nothing is written; rehearsed is what came of it, with an error where only the real attempt can tell: what the object needs
	// may come with the others.
	rehearsing bool
	rehearsed  *result
}

// forces reports whether a server-side apply takes over the fields that others have set.
func (t task) forces() bool { return t.onConflict != managedresource.OnConflictFail || t.asks.Override }

// Objects brings objects to the target in groups: custom resource definitions, cluster-scoped, ServiceAccounts, other namespaced; in parallel
// inside a group. Objects with policy ignore are left out. When an identity occurs twice the later object counts. Errors of
// single objects are collected over all groups and name kind, namespace, name and cause; an error comes together with what was
// handled. Strategy apply tries all objects first, and applies none when one is refused; those whose kind or namespace is among the objects are
// tried before their group.
func Apply(ctx context.Context, s *Session, desired []Desired, options ApplyOptions) (Applied, error) {
	if err := s.Step("deployer: process manifests"); err != nil {
		return Applied{}, err
	}
	var applied Applied
	plan, problems := planOf(ctx, s, desired, options, &applied)
	w := newWriter(ctx, s, options, plan)
	isServerSide := options.Strategy == managedresource.UpdateStrategyApply
	if isServerSide {
		problems = append(problems, w.rehearse(ctx, rehearsable(&plan))...)
	}
	for group := range groups {
		if isServerSide && len(problems) == 0 {
			problems = w.rehearse(ctx, unrehearsed(plan[group]))
		}
		if isServerSide && len(problems) > 0 {
			applied.refuse(slices.Concat(plan[group:]...))
			break
		}
		if err := s.Step("deployer: apply manifests"); err != nil {
			return applied, errors.Join(append(problems, err)...)
		}
		problems = append(problems, w.applyGroup(ctx, plan[group], &applied)...)
		if group == definitions && len(plan[definitions]) > 0 && !established(s.Cluster, &applied) {
			break
		}
	}
	return applied, errors.Join(problems...)
}

func newWriter(ctx context.Context, s *Session, options ApplyOptions, plan [groups][]task) *writer {
	w := &writer{
		cluster: s.Cluster, owner: s.Owner, memory: options.Memory, strategy: options.Strategy, others: newHoldings(ctx, s),
		needed: map[schema.GroupKind]bool{}, defined: map[schema.GroupKind]bool{},
	}
	for _, t := range plan[definitions] {
		w.defined[definedGroupKind(t.Object)] = true
	}
	for _, t := range slices.Concat(plan[clusterScoped:]...) {
		w.needed[t.Object.GroupVersionKind().GroupKind()] = true
	}
	return w
}

// planOf sorts the objects into the groups. Objects whose kind is unknown, or that lack a namespace, become errors. Those and the objects to be
// ignored are noted in applied. Nothing is planned on a target that does not tell its kinds: every further question would take as long.
func planOf(ctx context.Context, s *Session, desired []Desired, options ApplyOptions, applied *Applied) ([groups][]task, []error) {
	var plan [groups][]task
	var problems []error
	defined := definedKinds(desired)
	known := Identities(options.Known)
	for _, d := range desired {
		if d.Policy == managedresource.IgnorePolicy {
			applied.Ignored = append(applied.Ignored, ignore(d, options.DefaultNamespace)...)
			continue
		}
		t, err := prepare(ctx, s, d, defined, options.DefaultNamespace)
		if errors.Is(err, ErrUnanswered) {
			return [groups][]task{}, append(problems, err)
		}
		if err != nil {
			problems = append(problems, err)
			applied.Refused = append(applied.Refused, managedresource.ManagedResourceStatus{Policy: d.Policy, Resource: ReferenceTo(d.Object)})
			continue
		}
		record, isKnown := known[IdentityOf(t.ref)]
		t.known, t.digest = isKnown, digestOf(t.unmarked)
		t.hasRun = record.Digest != "" && record.Digest == t.digest
		t.onConflict, t.onImmutable = options.OnConflict, options.OnImmutable
		group := groupOf(t)
		plan[group] = append(plan[group], t)
	}
	for group := range plan {
		plan[group] = inOrder(plan[group])
	}
	return plan, problems
}

// ignore returns the records by which an ignored object may be known: without namespace, and in the default namespace.
func ignore(d Desired, defaultNamespace string) []managedresource.ManagedResourceStatus {
	record := managedresource.ManagedResourceStatus{Policy: d.Policy, Resource: ReferenceTo(d.Object)}
	if record.Resource.Namespace != "" || defaultNamespace == "" {
		return []managedresource.ManagedResourceStatus{record}
	}
	inNamespace := record
	inNamespace.Resource.Namespace = defaultNamespace
	return []managedresource.ManagedResourceStatus{record, inNamespace}
}

// Orphans returns the known resources that were not applied and are not to be ignored.
func (a Applied) Orphans(known []managedresource.ManagedResourceStatus) []managedresource.ManagedResourceStatus {
	return Orphans(Orphans(known, a.Managed), a.Ignored)
}

// Union returns what was handled and what is known beside it, without what is to be ignored.
func (a Applied) Union(known []managedresource.ManagedResourceStatus) []managedresource.ManagedResourceStatus {
	return Union(a.Managed, Orphans(known, a.Ignored))
}

func groupOf(t task) int {
	switch {
	case IsCRD(t.Object):
		return definitions
	case !t.kind.Namespaced:
		return clusterScoped
	case t.Object.GroupVersionKind() == corev1.SchemeGroupVersion.WithKind("ServiceAccount"):
		return accounts
	default:
		return namespaced
	}
}

// lastOfEach drops all but the last of equal identities.
func lastOfEach[T any](all []T, identityOf func(T) Identity) []T {
	last := map[Identity]int{}
	for i, one := range all {
		last[identityOf(one)] = i
	}
	var unique []T
	for i, one := range all {
		if last[identityOf(one)] == i {
			unique = append(unique, one)
		}
	}
	return unique
}

// inOrder sorts by name and drops all but the last of equal identities.
func inOrder(tasks []task) []task {
	unique := lastOfEach(tasks, func(t task) Identity { return IdentityOf(t.ref) })
	slices.SortStableFunc(unique, func(a, b task) int {
		return cmp.Or(cmp.Compare(a.ref.String(), b.ref.String()), cmp.Compare(a.ref.APIVersion, b.ref.APIVersion))
	})
	return unique
}

func prepare(ctx context.Context, s *Session, d Desired, defined map[schema.GroupVersionKind]ResourceKind, defaultNamespace string) (task, error) {
	object := d.Object.DeepCopy()
	kind, err := Lookup(ctx, s.Cluster, object.GroupVersionKind())
	if IsNoMatch(err) {
		if found, ok := defined[object.GroupVersionKind()]; ok {
			kind, err = found, nil
		}
	}
	if err != nil {
		return task{}, fmt.Errorf("cannot apply %s: %w", ReferenceTo(object), err)
	}
	if !kind.Namespaced {
		object.SetNamespace("")
	} else if object.GetNamespace() == "" {
		object.SetNamespace(defaultNamespace)
	}
	if kind.Namespaced && object.GetNamespace() == "" {
		return task{}, Misconfigured("cannot apply %s: metadata.namespace is empty, but the kind lives in a namespace; set it",
			ReferenceTo(object))
	}
	if problems := validation.IsDNS1123Label(object.GetNamespace()); kind.Namespaced && len(problems) > 0 {
		return task{}, Misconfigured("cannot apply %s: metadata.namespace: %s; correct it", ReferenceTo(object), strings.Join(problems, "; "))
	}
	unmarked := object.DeepCopy()
	s.Owner.Mark(object, d.Policy)
	d.Object = object
	return task{Desired: d, unmarked: unmarked, kind: kind, ref: ReferenceTo(object)}, nil
}

// applyGroup applies the objects of a group and adds what became of them to applied.
func (w *writer) applyGroup(ctx context.Context, tasks []task, applied *Applied) []error {
	results := make([]result, len(tasks))
	Each(len(tasks), func(i int) { results[i] = w.applyOne(ctx, tasks[i]) })
	var problems []error
	for i, r := range results {
		if r.err != nil {
			problems = append(problems, r.err)
		}
		w.record(applied, tasks[i], r)
	}
	return problems
}

// record notes what became of an object. An object whose write failed may exist all the same: it is recorded too unless the API
// server refused it or it is not ours, so that it is found when it has to go. Readiness does not wait for one that is not to be touched.
func (w *writer) record(a *Applied, t task, r result) {
	a.Progress.Add(r.progress)
	record := managedresource.ManagedResourceStatus{
		Policy: t.Policy, Resource: t.ref, AnnotateBeforeDelete: t.AnnotateBeforeDelete, PatchBeforeDelete: t.PatchBeforeDelete,
	}
	goesByItself := false
	switch {
	case r.live != nil:
		record.Resource, goesByItself = Answered(t.ref, r.live), GoesByItself(r.live)
		if !r.skipped {
			a.Subjects = append(a.Subjects, Subject{Resource: record.Resource, Live: r.live, GoesByItself: goesByItself})
		}
		if !r.skipped && IsCRD(r.live) && w.needed[definedGroupKind(r.live)] && !HasCondition(r.live, "Established", "True") {
			a.unestablished = append(a.unestablished, record.Resource)
		}
		if r.notOurs {
			return
		}
	case !t.known && (r.skipped || r.err != nil && (isRefused(r.err) || r.notOurs)):
		a.refuse([]task{t})
		return
	case r.skipped:
		return
	}
	if t.hasRun || goesByItself && r.err == nil {
		record.Digest = t.digest
	}
	a.Managed = append(a.Managed, record)
}

// digestOf returns the digest of the manifest of a Job; "" for other kinds.
func digestOf(object *unstructured.Unstructured) string {
	if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: batchv1.GroupName, Kind: "Job"}) {
		return ""
	}
	raw, _ := json.Marshal(object.Object) // it was JSON before
	return digest.FromBytes(raw).String()
}

// established reports whether the definitions that later groups need are served; what is missing is added to the progress.
func established(cluster *target.Cluster, applied *Applied) bool {
	ready := applied.Progress.Done()
	for _, definition := range applied.unestablished {
		applied.Progress.Wait(definition.String()+" is not established yet", Watched(cluster, definition))
		ready = false
	}
	return ready
}

func definedGroupKind(crd *unstructured.Unstructured) schema.GroupKind {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	return schema.GroupKind{Group: group, Kind: kind}
}

// definedKinds returns the kinds that the CustomResourceDefinitions among the objects define.
func definedKinds(desired []Desired) map[schema.GroupVersionKind]ResourceKind {
	kinds := map[schema.GroupVersionKind]ResourceKind{}
	for _, d := range desired {
		if IsCRD(d.Object) && d.Policy != managedresource.IgnorePolicy {
			addDefinedKinds(kinds, d.Object)
		}
	}
	return kinds
}

func addDefinedKinds(kinds map[schema.GroupVersionKind]ResourceKind, crd *unstructured.Unstructured) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, version := range versions {
		fields, _ := version.(map[string]any)
		name, _ := fields["name"].(string)
		gv := schema.GroupVersion{Group: group, Version: name}
		kinds[gv.WithKind(kind)] = ResourceKind{GVR: gv.WithResource(plural), Namespaced: scope == "Namespaced"}
	}
}

// PatchAfterDeployment merges the patches of the desired objects into the live ones, as far as these are among the managed ones: objects of
// others are not patched. Errors are collected.
func PatchAfterDeployment(ctx context.Context, cluster *target.Cluster, desired []Desired, managed []managedresource.ManagedResourceStatus) error {
	var problems []error
	records := Identities(managed)
	for _, d := range desired {
		if d.PatchAfterDeployment == nil || len(d.PatchAfterDeployment.Raw) == 0 {
			continue
		}
		ref := ReferenceTo(d.Object)
		record, isManaged := records[IdentityOf(ref)]
		if !isManaged {
			ref.Namespace = "" // a manifest may give a cluster-scoped object a namespace
			record, isManaged = records[IdentityOf(ref)]
		}
		if isManaged && d.Policy != managedresource.IgnorePolicy {
			problems = append(problems, patchAfter(ctx, cluster, d, record.Resource))
		}
	}
	return errors.Join(problems...)
}

// patchAfter patches one object, and only the one that is recorded.
func patchAfter(ctx context.Context, cluster *target.Cluster, d Desired, ref managedresource.ResourceReference) error {
	patch := map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(d.PatchAfterDeployment.Raw, &patch); err != nil {
		return Misconfigured("patchAfterDeployment of %s: is not an object, write one there", ref)
	}
	mergeInto(patch, map[string]any{"metadata": map[string]any{"uid": string(ref.UID)}}, true)
	raw, err := json.Marshal(patch)
	if err != nil {
		return fmt.Errorf("cannot encode the patch: %w", err)
	}
	kind, err := Lookup(ctx, cluster, GVKOf(ref))
	if err != nil {
		return err
	}
	_, err = Client(cluster, kind, ref.Namespace).Patch(ctx, ref.Name, types.MergePatchType, raw, metav1.PatchOptions{FieldManager: FieldManager})
	if apierrors.IsNotFound(err) && GoesByItself(d.Object) {
		return nil
	}
	return ObjectError("patch after deployment", ref, err)
}
