// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package items

import (
	"slices"
	"time"

	"github.com/fluxcd/pkg/runtime/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/kit"
)

// maxErrors is how many errors of a job the status keeps.
const maxErrors = 5

// Records are what a call of the deployer leaves in the status of an item.
type Records struct {
	// ProviderStatus and Sources replace those of the status when set.
	ProviderStatus *runtime.RawExtension
	Sources        []v1alpha1.SourceStatus
	// Conditions are set beside others.
	Conditions []metav1.Condition
}

// After returns the records of a call that followed another one: what it did not record stays as the other has recorded it.
func (r Records) After(earlier Records) Records {
	if r.ProviderStatus == nil {
		r.ProviderStatus = earlier.ProviderStatus
	}
	if r.Sources == nil {
		r.Sources = earlier.Sources
	}
	return r
}

// Write puts the records into the status. What says the same stays as the API server has formatted it, so that a comparison of the whole status
// finds no change.
func (r Records) Write(item *v1alpha1.DeployItem) {
	recorded, has := r.ProviderStatus, item.Status.ProviderStatus
	if recorded != nil && (has == nil || !kit.SameRawJSON(recorded.Raw, has.Raw)) {
		item.Status.ProviderStatus = recorded
	}
	recordSources(item, r.Sources)
	for i := range r.Conditions {
		conditions.Set(item, r.Conditions[i].DeepCopy())
	}
}

// recordSources writes into the status what a job has used; nil leaves it as it is.
func recordSources(item *v1alpha1.DeployItem, used []v1alpha1.SourceStatus) {
	if used == nil || slices.Equal(used, item.Status.Sources) {
		return
	}
	item.Status.Sources = slices.Clone(used)
	if len(used) == 0 {
		item.Status.Sources = nil
	}
}

// RecordFailure writes an error into the status. It returns whether the message is new, so that it deserves an event.
func RecordFailure(item *v1alpha1.DeployItem, failure *kit.Failure, now time.Time) bool {
	status := &item.Status
	before := status.LastError
	status.LastError = kit.NewError(before, failure, now)
	if before != nil && before.Message == status.LastError.Message {
		return false
	}
	if status.FirstError == nil {
		status.FirstError = status.LastError.DeepCopy()
	}
	status.LastErrors = append(status.LastErrors, status.LastError.DeepCopy())
	if surplus := len(status.LastErrors) - maxErrors; surplus > 0 {
		status.LastErrors = status.LastErrors[surplus:]
	}
	return true
}
