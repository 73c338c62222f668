// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract/internal/driftdesk"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// DriftDetector is a Planner that can tell whether somebody has changed what an item has deployed. The contract watches the metadata of the
// objects while the item has no job, and asks about those that somebody may have changed.
type DriftDetector interface {
	Planner
	// DriftDetection returns what an item says about drift, of which only the mode is looked at; nil means the default. For a field driftDetection of
	// spec.config return DriftModeIn(item.Spec.Configuration). It is called often and only looks at the item.
	DriftDetection(item *v1alpha1.DeployItem) (*managedresource.DriftDetection, error)
	// Deployed returns what the last job of an item has deployed, from what the status of the item records.
	Deployed(item *v1alpha1.DeployItem) (Deployed, error)
	// FindDrift compares objects on the target with what the last job wanted of them, and corrects what it may. An object that it cannot
	// compare gets an answer with an error. It returns ErrNoVerdict where what is wanted is not what the last job deployed. Item has neither
	// memory nor deadline.
	FindDrift(ctx context.Context, item *Item, search DriftSearch) ([]Drift, error)
}

// ErrNoVerdict says that an item, or what it names, has moved on since its last job, so that nothing can be said before the next one.
var ErrNoVerdict = driftdesk.ErrNoVerdict

// Deployed is what an item has deployed.
type Deployed = driftdesk.Deployed

// DriftSearch is what to compare.
type DriftSearch struct {
	// Objects to compare; others are left alone.
	Objects []managedresource.ResourceReference
	// Correct is asked about each object that is not as it was deployed. Nil corrects nothing.
	Correct func(object managedresource.ResourceReference) bool
}

// Drift is the answer about one object.
type Drift = driftdesk.Found

// DriftDetectionIn reads the field driftDetection of a configuration; nil when there is none. Errors name the field.
func DriftDetectionIn(config *runtime.RawExtension) (*managedresource.DriftDetection, error) {
	var fields struct {
		DriftDetection *managedresource.DriftDetection `json:"driftDetection"`
	}
	if err := decodeField(config, "driftDetection", &fields); err != nil {
		return nil, err
	}
	return fields.DriftDetection, errors.Join(managedresource.ValidateDriftDetection("driftDetection", fields.DriftDetection)...)
}

// DriftModeIn reads the mode in the field driftDetection of a configuration; nil when there is no such field. Errors name the field. What is ignored is not
// looked at: the mode is asked for with each event of an item, and expressions take the time of everybody else's.
func DriftModeIn(config *runtime.RawExtension) (*managedresource.DriftDetection, error) {
	var fields struct {
		DriftDetection *struct {
			Mode managedresource.DriftMode `json:"mode"`
		} `json:"driftDetection"`
	}
	if err := decodeField(config, "driftDetection", &fields); err != nil || fields.DriftDetection == nil {
		return nil, err
	}
	detection := &managedresource.DriftDetection{Mode: fields.DriftDetection.Mode}
	return detection, errors.Join(managedresource.ValidateDriftDetection("driftDetection", detection)...)
}

// newDriftDesk returns what looks for drift of the items of a deployer; nil where it is no DriftDetector.
func (r *reconciler) newDriftDesk() *driftdesk.Desk {
	detector, ok := r.deployer.(DriftDetector)
	if !ok {
		return nil
	}
	return driftdesk.New(driftdesk.Options{
		Detector: detector, Deployed: detector.Deployed,
		Find: func(ctx context.Context, search driftdesk.Search) ([]driftdesk.Found, error) {
			if err := r.refuseKeys(search.Item); err != nil {
				return nil, err
			}
			context, err := r.readContext(ctx, search.Item)
			if err != nil {
				return nil, err
			}
			return detector.FindDrift(ctx, &Item{
				DeployItem: search.Item, Target: search.Cluster, Context: context, DeployItems: r.live, Siblings: r.client, Memory: map[string]any{},
				Checkpoint: func(string) error { return ctx.Err() },
			}, DriftSearch{Objects: search.Objects, Correct: search.Correct})
		},
		TargetName: targetName, IsAtRest: isAtRest,
		IsFree: func(ctx context.Context, item *v1alpha1.DeployItem) (bool, error) {
			by, err := r.findObstacle(ctx, item)
			return by == nil, err
		},
		Queue: r.enqueue, Clients: r.options.Clients, Client: r.client, Live: r.live, Identity: r.options.Identity,
	})
}

// showDrift writes the condition Drifted of an item that has no job, where it changes, and posts events.
func (r *reconciler) showDrift(ctx context.Context, s *scope) error {
	if r.drift == nil || !s.item.Job().IsIdle() || s.deleting() {
		return nil
	}
	if r.drift.Show(s.item) {
		if err := r.writeStatus(ctx, s.item); err != nil {
			return err
		}
	}
	for _, note := range r.drift.TakeNotes(s.item) {
		r.options.Recorder.Event(s.item, note.Kind, note.Reason, kit.Message(note.Message))
	}
	return nil
}
