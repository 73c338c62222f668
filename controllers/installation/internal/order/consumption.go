// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package order

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/data"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/jobs"
	"github.com/flux-landscaper/flux-landscaper/controllers/installation/internal/relations"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit/sensitive"
)

// ProducedChange reports whether a root has to run because siblings that it imports from have finished with other values than it
// used last. One that never ran starts only if a producer finished after it was created.
func (o *Order) ProducedChange(ctx context.Context, inst *v1alpha1.Installation) (string, error) {
	producers, err := o.Related.Producers(ctx, inst)
	if err != nil || len(producers) == 0 {
		return "", err
	}
	reason, err := o.differs(ctx, inst, producers)
	if err != nil || reason == "" {
		return "", err
	}
	busy, err := o.upstreamAtWork(ctx, inst, producers)
	if err != nil || busy != nil {
		return "", err
	}
	return reason, nil
}

// upstreamAtWork returns a root, at any distance along the imports, that is at work or about to be; nil when there is none. What comes from
// there is going to change, so that whoever starts now would have to run again.
func (o *Order) upstreamAtWork(
	ctx context.Context, inst *v1alpha1.Installation, producers []*v1alpha1.Installation,
) (*v1alpha1.Installation, error) {
	seen := map[types.UID]bool{inst.UID: true}
	for queue := producers; len(queue) > 0; queue = queue[1:] {
		current := queue[0]
		if seen[current.UID] || !current.DeletionTimestamp.IsZero() {
			continue
		}
		seen[current.UID] = true
		above, err := o.Related.Producers(ctx, current)
		if err != nil {
			return nil, err
		}
		busy, err := o.aboutToWork(ctx, current, above)
		if err != nil || busy {
			return current, err
		}
		queue = append(queue, above...)
	}
	return nil, nil
}

// aboutToWork reports whether a root is at work, or will be because it was asked to, or because its imports or its producers have other
// values.
func (o *Order) aboutToWork(ctx context.Context, inst *v1alpha1.Installation, producers []*v1alpha1.Installation) (bool, error) {
	if !inst.Status.IsIdle() || jobs.WillStart(inst) {
		return true, nil
	}
	if inst.Spec.Suspend {
		return false, nil
	}
	// What nobody can read keeps that Installation from working, but not those behind it.
	if reason, err := o.Inputs.ChangedImports(ctx, inst.DeepCopy()); reason != "" || kit.IsTransient(err) {
		return reason != "", err
	}
	if len(producers) == 0 {
		return false, nil
	}
	reason, err := o.differs(ctx, inst, producers)
	return reason != "", err
}

// differs says why an idle root has to run because of its producers, all of which have succeeded and are idle; empty when it need not.
func (o *Order) differs(ctx context.Context, inst *v1alpha1.Installation, producers []*v1alpha1.Installation) (string, error) {
	for _, producer := range producers {
		if jobs.Running(inst, producer) || producer.Status.Phase != v1alpha1.PhaseSucceeded {
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
	case inst.Generation != inst.Status.ObservedGeneration && !finishedAfterStart(producers, inst):
		return "", nil // the imports of the new spec are others, which is no work of a producer
	case inst.Status.Phase == v1alpha1.PhaseFailed && last != nil && last.Operation == jobs.OrderOperation:
		cycle, err := o.Related.Cycle(ctx, inst)
		if err != nil || cycle != nil {
			return "", err
		}
		return "installation " + name + " has succeeded", nil
	}
	consumed, err := o.consumedHash(ctx, inst, producers)
	if err != nil || consumed == inst.Status.ConsumedHash {
		return "", err
	}
	return "exports of installation " + name + " changed", nil
}

// finishedSince reports whether a producer finished its last job after an Installation was created.
func finishedSince(producers []*v1alpha1.Installation, inst *v1alpha1.Installation) bool {
	for _, producer := range producers {
		times := producer.Status.TransitionTimes
		if times != nil && times.FinishedTime != nil && !times.FinishedTime.Before(&inst.CreationTimestamp) {
			return true
		}
	}
	return false
}

// finishedAfterStart reports whether a producer finished a job after the last one of an Installation was started.
func finishedAfterStart(producers []*v1alpha1.Installation, inst *v1alpha1.Installation) bool {
	started := inst.Status.TransitionTimes
	return started != nil && started.TriggerTime != nil && slices.ContainsFunc(producers, func(producer *v1alpha1.Installation) bool {
		times := producer.Status.TransitionTimes
		return times != nil && times.FinishedTime != nil && times.FinishedTime.After(started.TriggerTime.Time)
	})
}

// consumedHash returns a hash over the exports of siblings that an Installation imports.
func (o *Order) consumedHash(ctx context.Context, inst *v1alpha1.Installation, producers []*v1alpha1.Installation) (string, error) {
	produced := map[string]bool{}
	for _, producer := range producers {
		for _, key := range relations.ExportsOf(producer) {
			produced[key] = true
		}
	}
	hashes := map[string]string{}
	for _, key := range relations.ImportsOf(inst) {
		if !produced[key] {
			continue
		}
		hash, err := o.contentHash(ctx, inst.Namespace, key)
		if err != nil {
			return "", err
		}
		hashes[key] = hash
	}
	return data.HashOf(hashes), nil
}

// contentHash returns the hash that an exported object carries, empty when it is not there.
func (o *Order) contentHash(ctx context.Context, namespace, key string) (string, error) {
	object, name := relations.ObjectOfKey(key)
	err := o.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	if value, ok := object.(*v1alpha1.DataObject); ok && err == nil {
		return sensitive.Hash(ctx, o.Inputs.Live, value)
	}
	return object.GetAnnotations()[v1alpha1.HashAnnotation], client.IgnoreNotFound(err)
}

// TakeAsConsumed records what siblings export now as what the last job consumed, unless a job for it was still to come.
func (o *Order) TakeAsConsumed(ctx context.Context, inst *v1alpha1.Installation) error {
	producers, err := o.Related.Producers(ctx, inst)
	if err != nil || len(producers) == 0 || slices.ContainsFunc(producers, func(p *v1alpha1.Installation) bool { return owesTrigger(p, inst) }) {
		return err
	}
	inst.Status.ConsumedHash, err = o.consumedHash(ctx, inst, producers)
	return err
}

// owesTrigger reports whether a producer had ended its job and not yet started a consumer when it was taken over.
func owesTrigger(producer, consumer *v1alpha1.Installation) bool {
	return consumer.IsRoot() && slices.Contains(producer.Status.DependentsToTrigger, v1alpha1.DependentToTrigger{Name: consumer.Name})
}
