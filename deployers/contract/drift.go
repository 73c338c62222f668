// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"context"
	"errors"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/fault"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/target"
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
var ErrNoVerdict = errors.New("what is wanted has changed since the last job")

// Deployed is what an item has deployed.
type Deployed struct {
	// Selector selects the objects of all items of the deployer by labels; empty selects all.
	Selector string
	// Managers are the field managers under which the deployer writes.
	Managers []string
	// Objects that were deployed.
	Objects []managedresource.ResourceReference
	// Merged says that somebody has merged what was wanted into the objects, as Helm does, so that they may lack some of it. They are compared once after
	// each job, whether somebody has changed them since or not.
	Merged bool
}

// DriftSearch is what to compare.
type DriftSearch struct {
	// Objects to compare; others are left alone.
	Objects []managedresource.ResourceReference
	// Correct is asked about each object that is not as it was deployed. Nil corrects nothing.
	Correct func(object managedresource.ResourceReference) bool
}

// Drift is the answer about one object.
type Drift struct {
	// Resource is the object.
	Resource managedresource.ResourceReference
	// Missing says that the object was deleted, Fields which fields differ, as JSON pointers. Both are zero for an object that is as it was
	// deployed.
	Missing bool
	Fields  []string
	// Manager is who changed the object last; empty when that is not known.
	Manager string
	// Corrected says that the object is as it was deployed again.
	Corrected bool
	// Owned says that the deployer owns each field that it wants of the object. What others do with other fields is not looked at any more then.
	Owned bool
	// Live is the object as it is now, of which its version, generation and managed fields are looked at; nil when it does not exist or was not read.
	Live metav1.Object
	// Err is why the object could not be compared or corrected.
	Err error
	// Refused is why the API server would not take a correction; rehearsals ask for it.
	Refused error
}

// IsDrifted reports whether the object was not as it was deployed.
func (d *Drift) IsDrifted() bool { return d.Missing || len(d.Fields) > 0 }

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

// findDrift asks the deployer about objects of an item. A panic over what the target answers is an error.
func (d *driftDesk) findDrift(ctx context.Context, item *v1alpha1.DeployItem, cluster *target.Cluster, wanted DriftSearch) (found []Drift, err error) {
	err = fault.Survived(ctx, func() error {
		if err := d.refuseKeys(item); err != nil {
			return err
		}
		context, err := d.readContext(ctx, item)
		if err != nil {
			return err
		}
		found, err = d.detector.FindDrift(ctx, &Item{
			DeployItem: item, Target: cluster, Context: context, DeployItems: d.live, Siblings: d.client, Memory: map[string]any{},
			Checkpoint: func(string) error { return ctx.Err() },
		}, wanted)
		return err
	})
	return found, err
}

// showDrift writes the condition Drifted of an item that has no job, where it changes, and posts events, once.
func (r *reconciler) showDrift(ctx context.Context, s *scope) error {
	d := r.drift
	if d == nil || !s.item.Job().IsIdle() || s.deleting() {
		return nil
	}
	if wanted, isKnown := d.condition(s.item); isKnown && !isShown(s.item, wanted) {
		if wanted == nil {
			conditions.Delete(s.item, v1alpha1.DriftedCondition)
		} else {
			conditions.Set(s.item, wanted)
		}
		if err := r.writeStatus(ctx, s.item); err != nil {
			return err
		}
	}
	var notes []driftNote
	d.mu.Lock()
	if known := d.items[s.key()]; known != nil {
		notes, known.notes = known.notes, nil
	}
	d.mu.Unlock()
	for _, note := range notes {
		if note.Reason == reasonCorrected {
			driftCorrections.WithLabelValues(d.detector.Name()).Inc()
		}
		r.options.Recorder.Event(s.item, note.Kind, note.Reason, protocol.Message(note.Message))
	}
	return nil
}

// Metrics about drift, by the name of the deployer.
var (
	driftWatches     = driftGauge("landscaper_drift_watches", "Watches on targets that look for drift.")
	driftObjects     = driftGauge("landscaper_drift_objects", "Deployed objects that are watched for drift.")
	driftSearches    = driftCounter("landscaper_drift_searches_total", "Comparisons of deployed objects with their target after somebody changed one.")
	driftCorrections = driftCounter("landscaper_drift_corrections_total", "Events about corrected drift.")
)

func driftGauge(name, help string) *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"deployer"})
}

func driftCounter(name, help string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"deployer"})
}

func init() {
	ctrlmetrics.Registry.MustRegister(driftWatches, driftObjects, driftSearches, driftCorrections)
}

// HasNews reports whether there is something to show.
func (d *driftDesk) HasNews(item *v1alpha1.DeployItem) bool {
	if d == nil || !item.Job().IsIdle() || !item.DeletionTimestamp.IsZero() {
		return false
	}
	if wanted, isKnown := d.condition(item); isKnown && !isShown(item, wanted) {
		return true
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.items[client.ObjectKeyFromObject(item)]
	return known != nil && len(known.notes) > 0
}

// condition returns the condition that an item is to show, nil for none, and whether that is known.
func (d *driftDesk) condition(item *v1alpha1.DeployItem) (*metav1.Condition, bool) {
	shown := meta.FindStatusCondition(item.Status.Conditions, v1alpha1.DriftedCondition)
	if shown != nil {
		if detection, err := d.detector.DriftDetection(item); err == nil && detection.ModeOf() == managedresource.DriftDisabled {
			return nil, true
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.items[client.ObjectKeyFromObject(item)]
	if known == nil || known.paused || !known.followed && !known.unreachable || known.uid != item.UID || known.job.id != item.Status.JobIDFinished {
		return nil, false
	}
	wanted := known.findings.condition(item.Generation, time.Now())
	if wanted == nil && (known.doubtful || shown != nil && shown.Status == metav1.ConditionFalse) {
		return nil, false // what an earlier process has found out stays until there is news
	}
	return wanted, true
}

func isShown(item *v1alpha1.DeployItem, wanted *metav1.Condition) bool {
	shown := meta.FindStatusCondition(item.Status.Conditions, v1alpha1.DriftedCondition)
	if shown == nil || wanted == nil {
		return shown == nil && wanted == nil
	}
	return shown.Status == wanted.Status && shown.Reason == wanted.Reason && shown.Message == wanted.Message
}

func isShownDrifted(item *v1alpha1.DeployItem) bool {
	return meta.IsStatusConditionTrue(item.Status.Conditions, v1alpha1.DriftedCondition)
}
