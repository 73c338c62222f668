// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"fmt"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
)

// Reasons of the events about what jobs have made, as helm-controller has them.
const (
	reasonInstalled = "InstallSucceeded"
	reasonUpgraded  = "UpgradeSucceeded"
	reasonApplied   = "ApplySucceeded"
)

// announceRelease prepares the event about the revision that the job with these labels has made. There is none where an earlier job made it.
func (j *job) announceRelease(labels map[string]string) {
	if !sameJob(j.release, labels) {
		return
	}
	action, reason := helmv1alpha1.ActionUpgrade, reasonUpgraded
	if made, _ := attemptIn(j.release); made == helmv1alpha1.ActionInstall {
		action, reason = made, reasonInstalled
	}
	j.attempt.made = j.event(reason, fmt.Sprintf("Helm %s succeeded for release %s/%s.v%d", action, j.release.Namespace, j.release.Name, j.release.Revision))
}

// announceObjects prepares the event about objects that were applied without a release.
func (j *job) announceObjects() {
	j.attempt.made = j.event(reasonApplied, fmt.Sprintf("Helm objects applied for %s/%s", j.config.Namespace, j.config.Name))
}

// event tells of the chart, and of the source that it came from. The revision is that of the source, which commit statuses name, else the version of
// the chart.
func (j *job) event(reason, done string) *contract.Event {
	made := &contract.Event{Reason: reason, Message: fmt.Sprintf("%s with chart %s@%s", done, j.chart.Name, j.chart.Version), Revision: j.chart.Version}
	if j.source != nil {
		made.Message += fmt.Sprintf(" of %s %s/%s at %s", j.source.Kind, j.source.Namespace, j.source.Name, j.source.Revision)
		made.Revision = cmp.Or(j.source.Revision, made.Revision)
	}
	return made
}
