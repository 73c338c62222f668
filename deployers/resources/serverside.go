// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package resources

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// staged is an object that a rehearsal has found to be in need of a write.
type staged struct {
	// live is the object that was read, nil for none.
	live *unstructured.Unstructured
	// answer is that of a dry run of what is to be written; nil where none has passed.
	answer *unstructured.Unstructured
}

// serverSide brings an object to its manifest by server-side apply; live is nil for an object that is not there, answer that of a dry run, nil
// where there was none. Nothing is written when a dry run, or what is remembered of an earlier write, says that nothing would change.
func (w *writer) serverSide(ctx context.Context, t task, live, answer *unstructured.Unstructured) result {
	config := configuration(t, live)
	moves, err := w.movesOf(t, live)
	if err != nil {
		return result{err: ObjectError("apply", t.ref, err)}
	}
	if live != nil && moves.none() && isApplied(live) && w.memory.unchanged(config, live) {
		return result{live: live}
	}
	if answer == nil {
		if answer, err = w.try(ctx, t, config, live, moves); err != nil {
			return w.refusedApply(ctx, t, live, err)
		}
		if live != nil && moves.none() && changesNothing(config, answer, live) {
			w.memory.remember(config, live)
			return result{live: live}
		}
	}
	if t.rehearsing {
		return result{pending: &staged{live: live, answer: answer}}
	}
	if live == nil {
		return w.createApplied(ctx, t, config, answer)
	}
	return w.carryOut(ctx, t, config, live, moves)
}

// createApplied creates an object and makes its fields those of the apply, as the answer to the dry run has them. An apply would do both at once,
// but also where somebody else has created the object in between, who would not notice that it is not theirs any more. Of several that create an
// object, one succeeds: to the others it says errLostRace. What dies between the two writes is a takeover from an earlier manager.
func (w *writer) createApplied(ctx context.Context, t task, config, answer *unstructured.Unstructured) result {
	resource := Client(w.cluster, t.kind, t.ref.Namespace)
	created, err := resource.Create(ctx, config, metav1.CreateOptions{FieldManager: FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return result{err: errors.Join(ErrLostRace, err)}
	}
	if err != nil {
		return result{err: ObjectError("create", t.ref, err)}
	}
	patch, err := takeover(answer.GetManagedFields()).Patch(created)
	if err != nil {
		return result{live: created, err: ObjectError("apply", t.ref, err)}
	}
	written, err := resource.Patch(ctx, t.ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return result{err: errors.Join(ErrLostRace, err)}
	}
	if err != nil {
		return result{live: created, err: ObjectError("apply", t.ref, err)}
	}
	w.memory.remember(configuration(t, written), written)
	return result{live: written}
}

// carryOut writes what was tried.
func (w *writer) carryOut(ctx context.Context, t task, config, live *unstructured.Unstructured, moves moves) result {
	var err error
	if live, err = w.move(ctx, t, live, moves); err != nil {
		return w.refusedApply(ctx, t, live, err)
	}
	config.SetResourceVersion(live.GetResourceVersion())
	written, err := w.sendApply(ctx, t, config, metav1.ApplyOptions{Force: t.forces()})
	if err != nil {
		return w.refusedApply(ctx, t, live, err)
	}
	w.memory.remember(configuration(t, written), written)
	return result{live: written}
}

// refusedApply is the answer to an API server that does not take an apply.
func (w *writer) refusedApply(ctx context.Context, t task, live *unstructured.Unstructured, err error) result {
	conflicts := conflictsIn(err)
	switch {
	case strings.Contains(err.Error(), Untyped):
		return result{err: untypedError(t.ref, err)}
	case live == nil && len(conflicts) > 0:
		// Somebody else has created the object before the dry run; with a read it is known whose it is.
		return result{err: errors.Join(ErrLostRace, err)}
	case live == nil:
		return result{err: ObjectError("create", t.ref, err)}
	case len(conflicts) > 0:
		return result{err: conflictError(t.ref, conflicts, err)}
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return result{err: errors.Join(ErrLostRace, err)}
	}
	return w.immutable(ctx, t, "apply", live, err)
}

// untypedError says which field is wrong, without the value that the server shows.
func untypedError(ref managedresource.ResourceReference, err error) error {
	_, problem, _ := strings.Cut(err.Error(), Untyped)
	problem, _, _ = strings.Cut(problem, ", got ")
	text := fmt.Sprintf("cannot apply %s: a field or the type of a value is wrong%s; correct the manifest", ref, problem)
	return protocol.Coded(&ObjectFailure{Text: text, Cause: err}, v1alpha1.ErrorConfigurationProblem)
}

// try sends a dry run. What earlier managers have is about to be taken over, so it is no conflict.
func (w *writer) try(ctx context.Context, t task, config, live *unstructured.Unstructured, moves moves) (*unstructured.Unstructured, error) {
	options := metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}, Force: live != nil && t.forces()}
	answer, err := w.sendApply(ctx, t, config, options)
	if conflicts := conflictsIn(err); len(conflicts) > 0 && live != nil && moves.takeover != nil && isOfEarlierManagers(conflicts) {
		options.Force = true
		return w.sendApply(ctx, t, config, options)
	}
	return answer, err
}

func (w *writer) sendApply(ctx context.Context, t task, config *unstructured.Unstructured, options metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	options.FieldManager = FieldManager
	return Client(w.cluster, t.kind, t.ref.Namespace).Apply(ctx, t.ref.Name, config, options)
}

// configuration is what is applied: the manifest, bound to the state of the object that was read. Annotations that a create sets stay with the
// values that they have then.
func configuration(t task, live *unstructured.Unstructured) *unstructured.Unstructured {
	config := t.Object.DeepCopy()
	for _, name := range serverMetadata {
		unstructured.RemoveNestedField(config.Object, "metadata", name)
	}
	encodeSecret(config)
	if live == nil {
		annotate(config, t.AnnotateBeforeCreate)
		return config
	}
	keepAnnotations(config, live, t.AnnotateBeforeCreate)
	config.SetUID(live.GetUID())
	config.SetResourceVersion(live.GetResourceVersion())
	return config
}

// encodeSecret puts the stringData of a Secret into its data. The API server does so too, but then keeps what leaves stringData.
func encodeSecret(config *unstructured.Unstructured) {
	texts, found, err := unstructured.NestedStringMap(config.Object, "stringData")
	if !found || err != nil || config.GroupVersionKind() != corev1.SchemeGroupVersion.WithKind("Secret") {
		return
	}
	for key, text := range texts {
		if unstructured.SetNestedField(config.Object, base64.StdEncoding.EncodeToString([]byte(text)), "data", key) != nil {
			return // data is not a map: the API server will say so
		}
	}
	unstructured.RemoveNestedField(config.Object, "stringData")
}

// changesNothing reports whether the answer to a dry run is the object as it is, and the same fields are the apply's.
func changesNothing(config, answer, live *unstructured.Unstructured) bool {
	_, withStatus := config.Object["status"]
	return reflect.DeepEqual(comparableContent(answer, withStatus), comparableContent(live, withStatus)) &&
		bytes.Equal(appliedFields(answer), appliedFields(live))
}

// moves is what has to happen to an object before it is applied.
type moves struct {
	// takeover of fields from earlier managers.
	takeover takeover
	// release is the merge patch that takes the marks of a Helm release off.
	release map[string]any
}

func (m moves) none() bool { return m.takeover == nil && len(m.release) == 0 }

func (w *writer) movesOf(t task, live *unstructured.Unstructured) (moves, error) {
	if live == nil {
		return moves{}, nil
	}
	left := live.DeepCopy()
	leaveRelease(w.owner, t, left, live)
	release, err := difference(live, left)
	if err != nil {
		return moves{}, err
	}
	m := moves{release: release}
	if !t.asks.Merge {
		m.takeover, err = takeoverOf(live, len(release) > 0)
	}
	return m, err
}

// move makes the moves and returns the object as it is then.
func (w *writer) move(ctx context.Context, t task, live *unstructured.Unstructured, moves moves) (*unstructured.Unstructured, error) {
	resource := Client(w.cluster, t.kind, t.ref.Namespace)
	if moves.takeover != nil {
		patch, err := moves.takeover.Patch(live)
		if err != nil {
			return live, err
		}
		moved, err := resource.Patch(ctx, t.ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: FieldManager})
		if err != nil {
			return live, err
		}
		live = moved
	}
	if len(moves.release) == 0 {
		return live, nil
	}
	left, err := patchExactly(ctx, resource, live, moves.release)
	if err != nil {
		return live, err
	}
	return left, nil
}

// reasonConflict says that another field manager has set a field to another value.
const reasonConflict = "FieldConflict"

// namedConflicts bounds how many fields one message names.
const namedConflicts = 5

// conflictError names the fields of an object that others have set.
func conflictError(ref managedresource.ResourceReference, conflicts []fieldConflict, cause error) error {
	var named []string
	for _, c := range conflicts[:min(len(conflicts), namedConflicts)] {
		named = append(named, fmt.Sprintf("%s is set by %q", c.Field, c.Manager))
	}
	if more := len(conflicts) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("cannot apply %s: %s; remove the fields from the manifest, have their managers give them up, or set onConflict: Force "+
		"or the annotation %s: %s", ref, strings.Join(named, ", "), managedresource.SSAAnnotation, managedresource.SSAOverride)
	return &protocol.Failure{Kind: protocol.Retry, Reason: reasonConflict, Err: &ObjectFailure{Text: text, Cause: cause}}
}

// rehearse tries objects without changing anything, as far as that is possible before the others are there. With an error nothing of them may
// be applied.
func (w *writer) rehearse(ctx context.Context, tasks []*task) []error {
	problems := make([]error, len(tasks))
	Each(len(tasks), func(i int) { problems[i] = w.rehearseOne(ctx, tasks[i]) })
	return slices.DeleteFunc(problems, func(err error) bool { return err == nil })
}

func (w *writer) rehearseOne(ctx context.Context, t *task) error {
	trial := *t
	trial.rehearsing = true
	r := w.applyOne(ctx, trial)
	if r.err != nil && !mayComeWithOthers(r.err) {
		return r.err
	}
	t.rehearsed = &r
	return nil
}

// mayComeWithOthers reports whether an error may be about something that other objects of the same job bring or mend: accounts, roles, classes,
// the server of an admission webhook.
func mayComeWithOthers(err error) bool {
	return errors.Is(err, ErrLostRace) || apierrors.IsNotFound(err) ||
		apierrors.IsInternalError(err) && strings.Contains(err.Error(), "webhook") ||
		apierrors.IsForbidden(err) && !strings.Contains(err.Error(), "\" cannot ")
}

// rehearsable returns the objects of a plan that can be tried before anything is applied: those whose kind and namespace do not come with it.
func rehearsable(plan *[groups][]task) []*task {
	kinds, namespaces := map[schema.GroupKind]bool{}, map[string]bool{}
	for _, t := range plan[definitions] {
		kinds[definedGroupKind(t.Object)] = true
	}
	for _, t := range plan[clusterScoped] {
		if t.Object.GroupVersionKind().GroupKind() == (schema.GroupKind{Kind: "Namespace"}) {
			namespaces[t.ref.Name] = true
		}
	}
	var tasks []*task
	for group := range plan {
		for i := range plan[group] {
			t := &plan[group][i]
			if !kinds[t.Object.GroupVersionKind().GroupKind()] && !namespaces[t.ref.Namespace] {
				tasks = append(tasks, t)
			}
		}
	}
	return tasks
}

// unrehearsed returns the objects of a group that were not tried yet.
func unrehearsed(group []task) []*task {
	var tasks []*task
	for i := range group {
		if group[i].rehearsed == nil {
			tasks = append(tasks, &group[i])
		}
	}
	return tasks
}

// refuse notes that objects that nothing is recorded of were not created.
func (a *Applied) refuse(tasks []task) {
	for _, t := range tasks {
		if !t.known {
			a.Refused = append(a.Refused, managedresource.ManagedResourceStatus{Policy: t.Policy, Resource: t.ref})
		}
	}
}
