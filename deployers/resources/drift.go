// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
)

// correctionTime bounds one write of a correction. It goes on when the search ends, so that a job that follows finds its result.
const correctionTime = 10 * time.Second

// DriftOptions says what counts as drift.
type DriftOptions struct {
	contract.DriftSearch
	// Strategy and OnImmutable as in ApplyOptions.
	Strategy    managedresource.UpdateStrategy
	OnImmutable managedresource.OnImmutable
	// DefaultNamespace as in ApplyOptions.
	DefaultNamespace string
	// Ignore are fields that do not count.
	Ignore []managedresource.IgnoreRule
	// Manager is the name under which fields were written; empty means FieldManager.
	Manager string
	// Rehearsal leaves the marks of the owner out of the comparison, and says what the API server would refuse.
	Rehearsal bool
	// OfRelease is the Helm release that the objects are part of: they carry its marks in place of those of the owner. Nil for none.
	OfRelease *managedresource.ReleaseReference
	// Marks are the labels and annotations of the objects of that release.
	Labels, Annotations map[string]string
	// IsForeign reports whether an object belongs to somebody else by now. Nil asks the marks of the owner.
	IsForeign func(live *unstructured.Unstructured) bool
}

// FindDrift compares desired objects with the live ones: each field that the desired object names, as the API server would store it. Fields
// that it does not name never count, nor do those that were written through a subresource such as scale. What options.Correct allows is
// corrected. There is one answer for each object that is searched and desired.
func FindDrift(ctx context.Context, s *Session, desired []Desired, options DriftOptions) ([]contract.Drift, error) {
	ignored, err := compileRules(options.Ignore)
	if err != nil {
		return nil, err
	}
	wanted := map[Identity]bool{}
	for _, ref := range options.Objects {
		wanted[IdentityOf(ref)] = true
	}
	var found []contract.Drift
	var problems []error
	for _, d := range lastOfEach(desired, func(d Desired) Identity {
		id := IdentityOf(ReferenceTo(d.Object))
		id.Namespace = cmp.Or(id.Namespace, options.DefaultNamespace)
		return id
	}) {
		ref := ReferenceTo(d.Object)
		t, err := prepareSearch(ctx, s, d, options)
		if err == nil {
			ref = t.ref
		}
		if d.Policy == managedresource.IgnorePolicy || !wanted[IdentityOf(ref)] {
			continue
		}
		if err != nil && !IsNoMatch(err) {
			problems = append(problems, err)
			continue
		}
		search := &driftSearch{cluster: s.Cluster, owner: s.Owner, options: options, ignored: ignored, task: t}
		if err != nil { // the kind is gone
			drift := contract.Drift{Resource: ref, Missing: true}
			if options.Correct != nil {
				drift.Err = err
			}
			found = append(found, drift)
			continue
		}
		answer := search.run(ctx)
		if live := answer.Live; live != nil { // the rest is not kept while thousands of others are compared
			answer.Live = &metav1.ObjectMeta{
				UID: live.GetUID(), ResourceVersion: live.GetResourceVersion(), Generation: live.GetGeneration(), ManagedFields: live.GetManagedFields(),
			}
		}
		found = append(found, answer)
	}
	return found, errors.Join(problems...)
}

// Rehearse returns what a job would change that applies the desired objects and deletes those recorded ones which are not among them, beside the marks
// of the owner. It sends dry runs only.
func Rehearse(ctx context.Context, s *Session, desired []Desired, recorded []managedresource.ManagedResourceStatus, options DriftOptions) ([]contract.Change, error) {
	var wanted []managedresource.ManagedResourceStatus
	options.Rehearsal = true
	for _, d := range desired {
		ref := ReferenceTo(d.Object)
		if t, err := prepare(ctx, s, d, nil, options.DefaultNamespace); err == nil {
			ref = t.ref
		}
		ref.UID = ""
		wanted = append(wanted, managedresource.ManagedResourceStatus{Policy: d.Policy, Resource: ref})
	}
	options.Objects = References(wanted)
	found, err := FindDrift(ctx, s, desired, options)
	changes, problem := contract.ChangesOf(found)
	for _, orphan := range Orphans(recorded, wanted) {
		if _, missing := s.Served.Get(ctx, s.Cluster, orphan.Resource); !Stays(orphan) && missing == nil {
			changes = append(changes, contract.Change{Resource: orphan.Resource, Verb: contract.Delete})
		}
	}
	return changes, errors.Join(err, problem)
}

func prepareSearch(ctx context.Context, s *Session, d Desired, options DriftOptions) (task, error) {
	t, err := prepare(ctx, s, d, nil, options.DefaultNamespace)
	if err != nil || options.OfRelease == nil && !options.Rehearsal {
		return t, err
	}
	t.Object = t.unmarked.DeepCopy()
	if options.OfRelease == nil {
		return t, nil
	}
	labels := t.Object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, options.Labels)
	t.Object.SetLabels(labels)
	annotate(t.Object, options.Annotations)
	return t, nil
}

// driftSearch compares one object.
type driftSearch struct {
	cluster *target.Cluster
	owner   Owner
	options DriftOptions
	ignored []ignoredFields
	task    task
}

func (d *driftSearch) run(ctx context.Context) contract.Drift {
	for range Attempts {
		drift := d.try(ctx)
		if !errors.Is(drift.Err, ErrLostRace) || ctx.Err() != nil {
			return drift
		}
	}
	return contract.Drift{Resource: d.task.ref, Err: ObjectError("compare", d.task.ref, ErrLostRace)}
}

func (d *driftSearch) try(ctx context.Context) contract.Drift {
	drift := contract.Drift{Resource: d.task.ref}
	resource := Client(d.cluster, d.task.kind, d.task.ref.Namespace)
	live, err := resource.Get(ctx, d.task.ref.Name, metav1.GetOptions{})
	if IsGone(err) {
		return d.missing(ctx)
	}
	if err != nil {
		drift.Err = ObjectError("read", d.task.ref, err)
		return drift
	}
	drift.Live = live
	if live.GetDeletionTimestamp() != nil || d.isLeftAlone(live) {
		return drift
	}
	wanted, err := d.wanted(live)
	if err != nil {
		drift.Err = err
		return drift
	}
	drift.Owned = ownsAll(wanted.Object, live, d.manager())
	next := d.next(wanted, live)
	if sameContent(next, live) {
		return drift
	}
	result, err := d.rehearse(ctx, next, live)
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		drift.Err = ErrLostRace
		return drift
	case isRefusal(err):
		result, drift.Refused = next, d.refusal(ctx, live, err) // the difference is all that can be said
	case err != nil:
		drift.Err = ObjectError("compare", d.task.ref, err)
		return drift
	}
	drift.Fields = differingFields(wanted, live, result)
	if len(drift.Fields) > 0 {
		drift.Owned = false
		drift.Manager = changedBy(live, d.manager())
		d.correct(ctx, &drift, next)
	}
	return drift
}

// isRefusal reports whether an API server does not take an object, whoever sends it.
func isRefusal(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) && !IsUnauthorized(err)
}

// refusal is how a job fails on a refusal; nil where it makes the object anew, and where a webhook cannot be asked by dry runs. Live is nil for a new object.
func (d *driftSearch) refusal(ctx context.Context, live *unstructured.Unstructured, err error) error {
	switch {
	case strings.Contains(err.Error(), "does not support dry run"):
		return nil
	case live == nil:
		return ObjectError("create", d.task.ref, err)
	case d.options.OfRelease != nil:
		return ObjectError("update", d.task.ref, err)
	}
	t := d.task
	t.known, t.rehearsing, t.asks, t.onImmutable = true, true, wishesOf(d.options.Strategy, t.unmarked, live), d.options.OnImmutable
	return (&writer{owner: d.owner}).immutable(ctx, t, "update", live, err).err
}

// rehearse returns what the API server would store. It names no version, so that writers of the status do not disturb it.
func (d *driftSearch) rehearse(ctx context.Context, next, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	patch, err := difference(live, next)
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(patch)
	if err != nil {
		return nil, err
	}
	options := metav1.PatchOptions{FieldManager: d.manager(), DryRun: []string{metav1.DryRunAll}}
	return Client(d.cluster, d.task.kind, d.task.ref.Namespace).Patch(ctx, d.task.ref.Name, types.MergePatchType, raw, options)
}

// isLeftAlone reports whether the deployer would not update the object.
func (d *driftSearch) isLeftAlone(live *unstructured.Unstructured) bool {
	if asks := wishesOf(d.options.Strategy, d.task.unmarked, live); asks.Skip || asks.Once {
		return true
	}
	if d.options.IsForeign != nil {
		return d.options.IsForeign(live)
	}
	claim := d.owner.ClaimOf(live)
	return claim == Foreign || d.task.Policy == managedresource.ImmutablePolicy || d.task.Policy == managedresource.FallbackPolicy && claim != Own
}

func (d *driftSearch) manager() string {
	if d.options.Manager != "" {
		return d.options.Manager
	}
	return FieldManager
}

// wanted returns the fields that the object has to have, with what is ignored as it is.
func (d *driftSearch) wanted(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	wanted := d.task.Object.DeepCopy()
	if patch := d.task.PatchAfterDeployment; patch != nil && len(patch.Raw) > 0 {
		if err := mergePatch(wanted, patch.Raw); err != nil {
			return nil, Misconfigured("patchAfterDeployment of %s: is not an object, write one there", d.task.ref)
		}
	}
	encodeSecret(wanted)
	delete(wanted.Object, "status")
	if metadata, ok := wanted.Object["metadata"].(map[string]any); ok {
		for _, name := range serverMetadata {
			delete(metadata, name)
		}
	}
	pardon(d.ignored, wanted, live)
	return wanted, nil
}

func mergePatch(object *unstructured.Unstructured, patch []byte) error {
	raw, err := json.Marshal(object.Object)
	if err != nil {
		return err
	}
	merged, err := jsonpatch.MergePatch(raw, patch)
	if err != nil {
		return err
	}
	return object.UnmarshalJSON(merged)
}

// next returns live with the fields that are wanted.
func (d *driftSearch) next(wanted, live *unstructured.Unstructured) *unstructured.Unstructured {
	if d.options.Strategy == managedresource.UpdateStrategyMerge {
		return mergedWith(wanted, live, false)
	}
	return corrected(wanted, live)
}

// changedBy returns the manager who changed an object last beside the deployer and writers of the status.
func changedBy(live *unstructured.Unstructured, own string) string {
	var newest metav1.Time
	name := ""
	for _, entry := range live.GetManagedFields() {
		if entry.Manager == own || entry.Subresource == "status" || entry.Time == nil || entry.Time.Before(&newest) {
			continue
		}
		newest, name = *entry.Time, entry.Manager
	}
	return name
}

func (d *driftSearch) correct(ctx context.Context, drift *contract.Drift, next *unstructured.Unstructured) {
	if d.options.Correct == nil || !d.options.Correct(d.task.ref) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), correctionTime)
	defer cancel()
	resource := Client(d.cluster, d.task.kind, d.task.ref.Namespace)
	written, err := resource.Update(ctx, next, metav1.UpdateOptions{FieldManager: d.manager()})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		drift.Err = ErrLostRace
		return
	}
	if err != nil {
		drift.Err = ObjectError("correct", d.task.ref, err)
		return
	}
	drift.Live, drift.Corrected = written, true
}

// missing is the answer about an object that does not exist. A Job that goes by itself once it has ended does not count.
func (d *driftSearch) missing(ctx context.Context) contract.Drift {
	drift := contract.Drift{Resource: d.task.ref, Missing: true}
	if GoesByItself(d.task.Object) || wishesOf(d.options.Strategy, d.task.unmarked, nil).Skip {
		drift.Missing = false
		return drift
	}
	resource := Client(d.cluster, d.task.kind, d.task.ref.Namespace)
	if d.options.Rehearsal {
		_, err := resource.Create(ctx, d.task.Object, metav1.CreateOptions{FieldManager: d.manager(), DryRun: []string{metav1.DryRunAll}})
		switch {
		case isRefusal(err):
			drift.Refused = d.refusal(ctx, nil, err)
		case apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err): // The job may make the namespace first.
		case err != nil:
			drift.Err = ObjectError("create", d.task.ref, err)
		}
	}
	if d.options.Correct == nil || !d.options.Correct(d.task.ref) {
		return drift
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), correctionTime)
	defer cancel()
	object := d.task.Object.DeepCopy()
	annotate(object, d.task.AnnotateBeforeCreate)
	created, err := resource.Create(ctx, object, metav1.CreateOptions{FieldManager: d.manager()})
	switch {
	case apierrors.IsAlreadyExists(err):
		drift.Err = ErrLostRace
	case err != nil:
		drift.Err = ObjectError("create", d.task.ref, err)
	default:
		drift.Live, drift.Corrected = created, true
	}
	return drift
}
