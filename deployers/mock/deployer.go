// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package mock is the deployer of items that deploy nothing and end as their configuration says. It serves examples and tests.
// It promises nothing to others.
package mock

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	kjson "sigs.k8s.io/json"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/managedresource"
	mockv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/mock/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

const (
	name      = "mock.deployer.landscaper.gardener.cloud"
	operation = "Reconcile"
)

// Deployer carries out DeployItems of type landscaper.gardener.cloud/mock.
type Deployer struct{}

var _ contract.ContinuousReconciler = Deployer{}

// Name returns mock.deployer.landscaper.gardener.cloud.
func (Deployer) Name() string { return name }

// Type returns landscaper.gardener.cloud/mock.
func (Deployer) Type() string { return v1alpha1.MockDeployItemType }

// ContinuousReconcile returns the field continuousReconcile of the configuration.
func (Deployer) ContinuousReconcile(item *v1alpha1.DeployItem) (*managedresource.ContinuousReconcileSpec, error) {
	return contract.ContinuousReconcileIn(item.Spec.Configuration)
}

// Configuration returns a configuration of the mock deployer.
func (Deployer) Configuration(*v1alpha1.DeployItem) any { return &mockv1alpha1.ProviderConfiguration{} }

// Ensure ends the job in the configured phase, or leaves it waiting when that phase is not final. Without a phase it succeeds. A
// configuration that cannot be read is an error with the code ERR_CONFIGURATION_PROBLEM.
func (Deployer) Ensure(_ context.Context, item *contract.Item) (contract.Outcome, error) {
	config, err := mockv1alpha1.DecodeConfiguration(item.DeployItem.Spec.Configuration.Raw)
	if err != nil {
		return contract.Outcome{}, protocol.Stall(operation, protocol.ReasonInvalidConfiguration, "spec.config: %w", err)
	}
	outcome := contract.Outcome{ProviderStatus: raw(config.ProviderStatus)}
	if outcome.Exports, err = exports(config.Export); err != nil {
		return contract.Outcome{}, err
	}
	switch phase := phaseOf(config); {
	case phase == v1alpha1.PhaseSucceeded:
		outcome.Done = true
	case phase.IsFailed():
		return outcome, &protocol.Failure{
			Kind: protocol.Stalled, Operation: operation, Reason: "MockFailed",
			Err: fmt.Errorf("spec.config asks for the phase %s; change it to Succeeded to let the item succeed", phase),
		}
	default:
		outcome.Waiting = fmt.Sprintf("spec.config asks for the phase %s", phase)
	}
	return outcome, nil
}

// Delete has nothing to uninstall.
func (Deployer) Delete(context.Context, *contract.Item) (contract.Outcome, error) {
	return contract.Outcome{Done: true}, nil
}

func phaseOf(config *mockv1alpha1.ProviderConfiguration) v1alpha1.Phase {
	if config.Phase != nil && *config.Phase != "" {
		return *config.Phase
	}
	if config.InitialPhase != nil && *config.InitialPhase != "" {
		return *config.InitialPhase
	}
	return v1alpha1.PhaseSucceeded
}

func raw(value *v1alpha1.AnyJSON) *runtime.RawExtension {
	if value == nil || len(value.RawMessage) == 0 {
		return nil
	}
	return &runtime.RawExtension{Raw: json.RawMessage(value.RawMessage)}
}

func exports(value *v1alpha1.AnyJSON) (map[string]any, error) {
	if value == nil || len(value.RawMessage) == 0 {
		return nil, nil
	}
	var values map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(value.RawMessage, &values); err != nil {
		return nil, protocol.Stall(operation, protocol.ReasonInvalidConfiguration, "spec.config.export is not a map of keys and values; correct it")
	}
	return values, nil
}
