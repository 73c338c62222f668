// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/kit"
)

// producedChange tells whether a root has to run because siblings that it imports from have finished with other values than it
// used last. One that never ran starts only if a producer finished after it was created.
func (r *Reconciler) producedChange(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	producers, err := r.predecessors(ctx, inst)
	if err != nil || len(producers) == 0 {
		return "", err
	}
	for _, producer := range producers {
		if running(inst, producer) || producer.Status.Phase != v1alpha1.PhaseSucceeded {
			return "", nil
		}
	}
	name := producers[0].Name
	last := inst.Status.LastError
	switch {
	case inst.Status.JobID == "":
		if !finishedSince(producers, inst) {
			return "", nil
		}
		return "installation " + name + " has finished", nil
	case inst.Status.Phase == v1alpha1.PhaseFailed && last != nil && last.Reason == reasonPredecessorFailed:
		return "installation " + name + " has succeeded", nil
	}
	consumed, err := r.consumedHash(ctx, inst, producers)
	if err != nil || consumed == inst.Status.ConsumedHash {
		return "", err
	}
	return "exports of installation " + name + " changed", nil
}

// finishedSince tells whether a producer finished its last job after an Installation was created.
func finishedSince(producers []*v1alpha1.Installation, inst *v1alpha1.Installation) bool {
	for _, producer := range producers {
		times := producer.Status.TransitionTimes
		if times != nil && times.FinishedTime != nil && !times.FinishedTime.Before(&inst.CreationTimestamp) {
			return true
		}
	}
	return false
}

// consumedHash returns a hash over the exports of siblings that an Installation imports.
func (r *Reconciler) consumedHash(ctx context.Context, inst *v1alpha1.Installation, producers []*v1alpha1.Installation) (string, error) {
	produced := map[string]bool{}
	for _, producer := range producers {
		for _, key := range exportsOf(producer) {
			produced[key] = true
		}
	}
	hashes := map[string]string{}
	for _, key := range importsOf(inst) {
		if !produced[key] {
			continue
		}
		hash, err := r.contentHash(ctx, inst.Namespace, key)
		if err != nil {
			return "", err
		}
		hashes[key] = hash
	}
	return hashOf(hashes), nil
}

// contentHash returns the hash that an exported object carries, empty when it is not there.
func (r *Reconciler) contentHash(ctx context.Context, namespace, key string) (string, error) {
	kind, name, _ := strings.Cut(key, "/")
	var object client.Object = &v1alpha1.DataObject{}
	if kind == "Target" {
		object = &v1alpha1.Target{}
	}
	err := r.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	return object.GetAnnotations()[v1alpha1.HashAnnotation], client.IgnoreNotFound(err)
}

// hashOf returns one hash over named hashes, empty when there are none.
func hashOf(hashes map[string]string) string {
	if len(hashes) == 0 {
		return ""
	}
	raw, err := json.Marshal(maps.Clone(hashes))
	if err != nil {
		return ""
	}
	return kit.DataHash(v1alpha1.NewAnyJSON(raw))
}

// valueHash returns the hash of one imported value.
func valueHash(value any) (string, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode import: %w", err)
	}
	return kit.DataHash(v1alpha1.NewAnyJSON(raw)), nil
}
