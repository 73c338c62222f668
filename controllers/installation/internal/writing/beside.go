// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package writing

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// besideTries is how often a write is tried beside edits.
const besideTries = 3

// current is an Installation as the API server has it now.
type current struct {
	*v1alpha1.Installation
	fields map[string]any
}

// beside repeats a write that lost a race, as a JSON patch that fails only where something has changed that the reconciliation decided on. Without
// that, whoever edits an Installation without pause would keep its jobs from beginning and ending. The Installation keeps its spec, which is the
// one that was decided on. It returns the conflict of the write where something has changed.
func (w *Writer) beside(
	ctx context.Context, d *Draft, conflict error, patch func(client.Object, client.Patch) error, steps func(*current) ([]kit.PatchStep, error),
) error {
	for range besideTries {
		live, err := w.current(ctx, d.Inst)
		if err != nil {
			return err
		}
		if !d.decidedOn(live.Installation) {
			return conflict
		}
		changes, err := steps(live)
		if err != nil {
			return err
		}
		if len(changes) > 0 {
			request, err := kit.JSONPatch(append(live.tests(), changes...))
			if err != nil {
				return err
			}
			if err := patch(live.Installation, request); kit.IsTestFailure(err) {
				continue
			} else if err != nil {
				return err
			}
			w.Written.Wrote(live.Installation)
		}
		d.Inst.ObjectMeta = live.ObjectMeta
		return nil
	}
	return conflict
}

// current reads an Installation live.
func (w *Writer) current(ctx context.Context, inst *v1alpha1.Installation) (*current, error) {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Installation"))
	if err := w.Live.Get(ctx, client.ObjectKeyFromObject(inst), found); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(found.Object)
	if err != nil {
		return nil, fmt.Errorf("encode installation %s: %w", client.ObjectKeyFromObject(inst), err)
	}
	live := &current{Installation: &v1alpha1.Installation{}, fields: found.Object}
	return live, json.Unmarshal(raw, live.Installation)
}

// decidedOn reports whether nothing has changed that the reconciliation decided on: anything but the spec, which counts with the next job, and what is
// not ours in labels and annotations.
func (d *Draft) decidedOn(live *v1alpha1.Installation) bool {
	same := equality.Semantic.DeepEqual
	return live.UID == d.Inst.UID && live.DeletionTimestamp.IsZero() == d.Inst.DeletionTimestamp.IsZero() &&
		live.Spec.Suspend == d.Inst.Spec.Suspend && live.Spec.DeletionPolicy == d.Inst.Spec.DeletionPolicy &&
		same(live.Finalizers, d.Inst.Finalizers) && same(live.OwnerReferences, d.Inst.OwnerReferences) &&
		same(decisive(live.Annotations), decisive(d.Inst.Annotations)) && same(decisive(live.Labels), decisive(d.Inst.Labels)) &&
		same(&live.Status, d.Persisted)
}

// decisive keeps of labels or annotations what is ours. An operation that asks for a job waits until the running one has ended.
func decisive(all map[string]string) map[string]string {
	kept := map[string]string{}
	for key, value := range all {
		ours := strings.HasPrefix(key, v1alpha1.GroupName+"/") || key == kit.ShardLabel
		if ours && (key != v1alpha1.OperationAnnotation || value == v1alpha1.OperationInterrupt) {
			kept[key] = value
		}
	}
	return kept
}

// tests are the steps of a patch that fail when something changes that decidedOn compares.
func (c *current) tests() []kit.PatchStep {
	var tests []kit.PatchStep
	test := func(path ...string) {
		value, _, _ := unstructured.NestedFieldNoCopy(c.fields, path...)
		tests = append(tests, kit.PatchStep{Op: "test", Path: kit.Pointer(path...), Value: value})
	}
	for _, field := range []string{"uid", "deletionTimestamp", "finalizers", "ownerReferences"} {
		test("metadata", field)
	}
	test("spec", "suspend")
	test("spec", "deletionPolicy")
	test("status")
	for _, key := range slices.Sorted(maps.Keys(decisive(c.Annotations))) {
		test("metadata", "annotations", key)
	}
	for _, key := range slices.Sorted(maps.Keys(decisive(c.Labels))) {
		test("metadata", "labels", key)
	}
	return tests
}

// statusBeside writes the status beside edits. A job that ends is followed by another where the spec has changed meanwhile, as it is otherwise.
func (w *Writer) statusBeside(ctx context.Context, d *Draft, conflict error) error {
	var written *v1alpha1.Installation
	patch := func(live client.Object, request client.Patch) error { return w.Status().Patch(ctx, live, request) }
	err := w.beside(ctx, d, conflict, patch, func(live *current) ([]kit.PatchStep, error) {
		written, d.Inst.Generation = live.Installation, live.Generation
		steps, err := w.endBeside(ctx, d)
		return append(steps, kit.PatchStep{Op: "add", Path: kit.Pointer("status"), Value: d.Inst.Status}), err
	})
	if err == nil {
		d.Inst.Status = written.Status
		d.Persisted = d.Inst.Status.DeepCopy()
	}
	return err
}

// endBeside queues the job that follows one that ends, and returns what must not change where none does.
func (w *Writer) endBeside(ctx context.Context, d *Draft) ([]kit.PatchStep, error) {
	if d.Outcome == nil || !d.Inst.Status.IsIdle() {
		return nil, nil
	}
	if err := w.queueNext(ctx, d); err != nil || !d.Inst.Status.IsIdle() {
		return nil, err
	}
	return []kit.PatchStep{{Op: "test", Path: kit.Pointer("metadata", "generation"), Value: d.Inst.Generation}}, nil
}

// metadataBeside changes metadata beside edits.
func (w *Writer) metadataBeside(ctx context.Context, d *Draft, conflict error, change kit.MetadataChange) error {
	patch := func(live client.Object, request client.Patch) error { return w.Patch(ctx, live, request) }
	return w.beside(ctx, d, conflict, patch, func(live *current) ([]kit.PatchStep, error) { return change.Steps(live), nil })
}
