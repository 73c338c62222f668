// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/fields"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/removal"
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
		return result{err: objects.ObjectError("apply", t.ref, err)}
	}
	if live != nil && moves.none() && fields.IsApplied(live) && w.memory.unchanged(config, live) {
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
	resource := objects.Client(w.cluster, t.kind, t.ref.Namespace)
	created, err := resource.Create(ctx, config, metav1.CreateOptions{FieldManager: resources.FieldManager})
	if apierrors.IsAlreadyExists(err) {
		return result{err: errors.Join(objects.ErrLostRace, err)}
	}
	if err != nil {
		return result{err: objects.ObjectError("create", t.ref, err)}
	}
	patch, err := fields.Takeover(answer.GetManagedFields()).Patch(created)
	if err != nil {
		return result{live: created, err: objects.ObjectError("apply", t.ref, err)}
	}
	written, err := resource.Patch(ctx, t.ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: resources.FieldManager})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return result{err: errors.Join(objects.ErrLostRace, err)}
	}
	if err != nil {
		return result{live: created, err: objects.ObjectError("apply", t.ref, err)}
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
	conflicts := fields.ConflictsIn(err)
	switch {
	case strings.Contains(err.Error(), objects.Untyped):
		return result{err: untypedError(t.ref, err)}
	case live == nil && len(conflicts) > 0:
		// Somebody else has created the object before the dry run; with a read it is known whose it is.
		return result{err: errors.Join(objects.ErrLostRace, err)}
	case live == nil:
		return result{err: objects.ObjectError("create", t.ref, err)}
	case len(conflicts) > 0:
		return result{err: conflictError(t.ref, conflicts, err)}
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return result{err: errors.Join(objects.ErrLostRace, err)}
	}
	return w.immutable(ctx, t, "apply", live, err)
}

// untypedError says which field is wrong, without the value that the server shows.
func untypedError(ref managedresource.ResourceReference, err error) error {
	_, problem, _ := strings.Cut(err.Error(), objects.Untyped)
	problem, _, _ = strings.Cut(problem, ", got ")
	text := fmt.Sprintf("cannot apply %s: a field or the type of a value is wrong%s; correct the manifest", ref, problem)
	return protocol.Coded(&objects.Failure{Text: text, Cause: err}, v1alpha1.ErrorConfigurationProblem)
}

// try sends a dry run. What earlier managers have is about to be taken over, so it is no conflict.
func (w *writer) try(ctx context.Context, t task, config, live *unstructured.Unstructured, moves moves) (*unstructured.Unstructured, error) {
	options := metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}, Force: live != nil && t.forces()}
	answer, err := w.sendApply(ctx, t, config, options)
	if conflicts := fields.ConflictsIn(err); len(conflicts) > 0 && live != nil && moves.takeover != nil && fields.IsOfEarlierManagers(conflicts) {
		options.Force = true
		return w.sendApply(ctx, t, config, options)
	}
	return answer, err
}

func (w *writer) sendApply(ctx context.Context, t task, config *unstructured.Unstructured, options metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	options.FieldManager = resources.FieldManager
	return objects.Client(w.cluster, t.kind, t.ref.Namespace).Apply(ctx, t.ref.Name, config, options)
}

// configuration is what is applied: the manifest, bound to the state of the object that was read. Annotations that a create sets stay with the
// values that they have then.
func configuration(t task, live *unstructured.Unstructured) *unstructured.Unstructured {
	config := t.Object.DeepCopy()
	for _, name := range fields.ServerMetadata {
		unstructured.RemoveNestedField(config.Object, "metadata", name)
	}
	encodeSecret(config)
	if live == nil {
		fields.Annotate(config, t.AnnotateBeforeCreate)
		return config
	}
	fields.KeepAnnotations(config, live, t.AnnotateBeforeCreate)
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
	return reflect.DeepEqual(fields.Comparable(answer, withStatus), fields.Comparable(live, withStatus)) &&
		bytes.Equal(fields.AppliedFields(answer), fields.AppliedFields(live))
}

// moves is what has to happen to an object before it is applied.
type moves struct {
	// takeover of fields from earlier managers.
	takeover fields.Takeover
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
	release, err := fields.Difference(live, left)
	if err != nil {
		return moves{}, err
	}
	m := moves{release: release}
	if !t.asks.Merge {
		m.takeover, err = fields.TakeoverOf(live, len(release) > 0)
	}
	return m, err
}

// move makes the moves and returns the object as it is then.
func (w *writer) move(ctx context.Context, t task, live *unstructured.Unstructured, moves moves) (*unstructured.Unstructured, error) {
	resource := objects.Client(w.cluster, t.kind, t.ref.Namespace)
	if moves.takeover != nil {
		patch, err := moves.takeover.Patch(live)
		if err != nil {
			return live, err
		}
		moved, err := resource.Patch(ctx, t.ref.Name, types.JSONPatchType, patch, metav1.PatchOptions{FieldManager: resources.FieldManager})
		if err != nil {
			return live, err
		}
		live = moved
	}
	if len(moves.release) == 0 {
		return live, nil
	}
	left, err := removal.PatchExactly(ctx, resource, live, moves.release)
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
func conflictError(ref managedresource.ResourceReference, conflicts []fields.Conflict, cause error) error {
	var named []string
	for _, c := range conflicts[:min(len(conflicts), namedConflicts)] {
		named = append(named, fmt.Sprintf("%s is set by %q", c.Field, c.Manager))
	}
	if more := len(conflicts) - len(named); more > 0 {
		named = append(named, fmt.Sprintf("%d more", more))
	}
	text := fmt.Sprintf("cannot apply %s: %s; remove the fields from the manifest, have their managers give them up, or set onConflict: Force "+
		"or the annotation %s: %s", ref, strings.Join(named, ", "), managedresource.SSAAnnotation, managedresource.SSAOverride)
	return &protocol.Failure{Kind: protocol.Retry, Reason: reasonConflict, Err: &objects.Failure{Text: text, Cause: cause}}
}
