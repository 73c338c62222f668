// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/internal/objects"
	"github.com/flux-landscaper/flux-landscaper/deployers/resources/readiness/health"
)

// reasonFailed says that an object will not become ready without a change.
const reasonFailed = "HealthCheckFailed"

// Health is which checks Checks.Default makes beside the built-in ones of spec/deployers.md §6.4. The zero value makes none.
type Health struct {
	checks health.Checks
	// byStatus asks kstatus about kinds without a built-in check, and which objects have failed.
	byStatus bool
	// onlyChecks switches everything but the checks of the user off.
	onlyChecks bool
}

// NewHealth reads a configuration. The error carries the code ERR_CONFIGURATION_PROBLEM and names the expressions that cannot be used.
func NewHealth(config *managedresource.ReadinessCheckConfiguration, strategy managedresource.UpdateStrategy) (Health, error) {
	checks, err := health.Compile("readinessChecks.healthChecks", config.HealthChecks)
	if err != nil {
		return Health{}, objects.Misconfigured("%w", err)
	}
	byStatus := strategy == managedresource.UpdateStrategyApply
	if config.KStatus != nil {
		byStatus = *config.KStatus
	}
	return Health{checks: checks, byStatus: byStatus && !config.DisableDefault, onlyChecks: config.DisableDefault}, nil
}

// Asks reports whether more is asked of the objects of a kind than that they exist.
func (h Health) Asks(apiVersion, kind string) bool {
	return h.checks.Has(schema.FromAPIVersionAndKind(apiVersion, kind).GroupKind()) ||
		!h.onlyChecks && (h.byStatus || HasReadinessRule(apiVersion, kind))
}

// Asked returns the subjects that Checks.Default is to be asked about: all, or with disableDefault those that have a check of the user.
func (h Health) Asked(subjects []Subject) []Subject {
	if !h.onlyChecks {
		return subjects
	}
	return slices.DeleteFunc(slices.Clone(subjects), func(s Subject) bool { return !h.Asks(s.Resource.APIVersion, s.Resource.Kind) })
}

// lack returns what an object lacks to be ready, "" when nothing. The error says that it has failed.
func (h Health) lack(ctx context.Context, ref managedresource.ResourceReference, live *unstructured.Unstructured) (string, error) {
	if live == nil {
		return fmt.Sprintf("%s does not exist", ref), nil
	}
	kind := live.GroupVersionKind().GroupKind()
	if h.checks.Has(kind) {
		verdict, err := h.checks.Of(ctx, live)
		if err != nil {
			return "", objects.Misconfigured("%s: %w", ref, err)
		}
		return lackIn(ref, verdict)
	}
	lack := NotReady(live)
	switch hasRule := objects.IsCRD(live) || readinessRules[kind] != nil; {
	case h.byStatus && !hasRule:
		return lackIn(ref, health.ByStatus(ctx, live))
	case lack == "":
		return "", nil
	case h.byStatus:
		if verdict := health.ByStatus(ctx, live); verdict.Status == status.FailedStatus {
			return lackIn(ref, verdict)
		}
	}
	return fmt.Sprintf("%s is not ready: %s", ref, lack), nil
}

// explained adds to the error of an object that has failed what its Pods say.
func explained(err error, why string) error {
	var failed *protocol.Failure
	if !errors.As(err, &failed) || failed.Reason != reasonFailed {
		return err
	}
	return &protocol.Failure{Kind: failed.Kind, Reason: failed.Reason, Err: fmt.Errorf("%w; %s", failed.Err, why)}
}

// ForgetFailedRuns takes from the records of Jobs that are not ready that they have run, when the error says that an object has failed: the next job
// runs them again.
func ForgetFailedRuns(records []managedresource.ManagedResourceStatus, unready []Subject, err error) {
	var failed *protocol.Failure
	if !errors.As(err, &failed) || failed.Reason != reasonFailed {
		return
	}
	for i := range records {
		if slices.ContainsFunc(unready, func(s Subject) bool { return objects.IdentityOf(s.Resource) == objects.IdentityOf(records[i].Resource) }) {
			records[i].Digest = ""
		}
	}
}

// lackIn words a verdict.
func lackIn(ref managedresource.ResourceReference, verdict *status.Result) (string, error) {
	switch verdict.Status {
	case status.CurrentStatus:
		return "", nil
	case status.FailedStatus:
		return "", &protocol.Failure{Kind: protocol.Stalled, Reason: reasonFailed, Err: fmt.Errorf("%s has failed: %s", ref, verdict.Message)}
	}
	return fmt.Sprintf("%s is not ready: %s", ref, verdict.Message), nil
}
