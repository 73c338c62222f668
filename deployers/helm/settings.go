// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
)

// settings decodes the settings of an operation: install, upgrade, uninstall or rollback.
func (j *job) settings(operation string) (helmv1alpha1.ReleaseSettings, error) {
	all := j.config.HelmDeploymentConfig
	if all == nil {
		return helmv1alpha1.ReleaseSettings{}, nil
	}
	values := map[string]map[string]v1alpha1.AnyJSON{
		helmv1alpha1.ActionInstall: all.Install, helmv1alpha1.ActionUpgrade: all.Upgrade, "uninstall": all.Uninstall, "rollback": all.Rollback,
	}[operation]
	settings, err := config.DecodeSettings("helmDeploymentConfig."+operation, values)
	if err != nil {
		return settings, misconfigured(j.item, err)
	}
	if _, isSet := values["wait"]; settings.Remediation != nil && !isSet {
		settings.Wait = true // else it would not notice what fails
	}
	return settings, nil
}

// appliedSettings are the settings whose change makes a new revision: the common metadata, the post renderers, and some of those of upgrades.
// The others say how long an operation may last and what happens when it fails.
type appliedSettings struct {
	Force          bool                         `json:"force,omitempty"`
	TakeOwnership  bool                         `json:"takeOwnership,omitempty"`
	DisableHooks   bool                         `json:"disableHooks,omitempty"`
	CRDs           helmv1alpha1.CRDPolicy       `json:"crds,omitempty"`
	CommonMetadata *helmv1alpha1.CommonMetadata `json:"commonMetadata,omitempty"`
	PostRenderers  []helmv1alpha1.PostRenderer  `json:"postRenderers,omitempty"`
}

func appliedOf(config *helmv1alpha1.ProviderConfiguration, upgrade helmv1alpha1.ReleaseSettings) appliedSettings {
	return appliedSettings{
		Force: upgrade.Force, TakeOwnership: upgrade.TakeOwnership, DisableHooks: upgrade.DisableHooks, CRDs: upgrade.CRDs,
		CommonMetadata: config.CommonMetadata, PostRenderers: config.PostRenderers,
	}
}

// remediationOf returns what the settings of an action say about its failures, nil for nothing.
func (j *job) remediationOf(action string) *helmv1alpha1.Remediation {
	settings, err := j.settings(action)
	if err != nil {
		return nil // what begins the action says so
	}
	return settings.Remediation
}

func ignoresTests(c *helmv1alpha1.ProviderConfiguration, remediation *helmv1alpha1.Remediation) bool {
	if remediation.IgnoreTestFailures != nil {
		return *remediation.IgnoreTestFailures
	}
	return c.Test != nil && c.Test.IgnoreFailures
}
