// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package driftdesk

import (
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// Metrics about drift, by the name of the deployer.
var (
	driftWatches     = driftGauge("landscaper_drift_watches", "Watches on targets that look for drift.")
	driftObjects     = driftGauge("landscaper_drift_objects", "Deployed objects that are watched for drift.")
	driftSearches    = driftCounter("landscaper_drift_searches_total", "Comparisons of deployed objects with their target after somebody changed one.")
	driftCorrections = driftCounter("landscaper_drift_corrections_total", "Events about corrected drift.")
)

func driftGauge(name, help string) *prometheus.GaugeVec {
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, []string{"deployer"})
	ctrlmetrics.Registry.MustRegister(gauge)
	return gauge
}

func driftCounter(name, help string) *prometheus.CounterVec {
	counter := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"deployer"})
	ctrlmetrics.Registry.MustRegister(counter)
	return counter
}

// HasNews reports whether there is something to show.
func (d *Desk) HasNews(item *v1alpha1.DeployItem) bool {
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
func (d *Desk) condition(item *v1alpha1.DeployItem) (*metav1.Condition, bool) {
	shown := meta.FindStatusCondition(item.Status.Conditions, v1alpha1.DriftedCondition)
	if shown != nil {
		if detection, err := d.Detector.DriftDetection(item); err == nil && detection.ModeOf() == managedresource.DriftDisabled {
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

// Show makes an item that has no job show what is known, and reports whether that changed it.
func (d *Desk) Show(item *v1alpha1.DeployItem) bool {
	wanted, isKnown := d.condition(item)
	if !isKnown || isShown(item, wanted) {
		return false
	}
	if wanted == nil {
		conditions.Delete(item, v1alpha1.DriftedCondition)
	} else {
		conditions.Set(item, wanted)
	}
	return true
}

// TakeNotes returns the events to post about an item, once.
func (d *Desk) TakeNotes(item *v1alpha1.DeployItem) []Note {
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.items[client.ObjectKeyFromObject(item)]
	if known == nil {
		return nil
	}
	notes := known.notes
	known.notes = nil
	for _, note := range notes {
		if note.Reason == reasonCorrected {
			driftCorrections.WithLabelValues(d.Detector.Name()).Inc()
		}
	}
	return notes
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
