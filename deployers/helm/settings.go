// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	config "github.com/flux-landscaper/flux-landscaper/api/deployers/helm"
	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/contract"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine/rendering"
)

// settingsOf picks one of the maps of HelmDeploymentConfiguration.
type settingsOf func(*helmv1alpha1.HelmDeploymentConfiguration) (field string, values map[string]v1alpha1.AnyJSON)

func installSettings(c *helmv1alpha1.HelmDeploymentConfiguration) (string, map[string]v1alpha1.AnyJSON) {
	return "helmDeploymentConfig.install", c.Install
}

func upgradeSettings(c *helmv1alpha1.HelmDeploymentConfiguration) (string, map[string]v1alpha1.AnyJSON) {
	return "helmDeploymentConfig.upgrade", c.Upgrade
}

func uninstallSettings(c *helmv1alpha1.HelmDeploymentConfiguration) (string, map[string]v1alpha1.AnyJSON) {
	return "helmDeploymentConfig.uninstall", c.Uninstall
}

func rollbackSettings(c *helmv1alpha1.HelmDeploymentConfiguration) (string, map[string]v1alpha1.AnyJSON) {
	return "helmDeploymentConfig.rollback", c.Rollback
}

// settingsIn decodes the settings of an operation of an item.
func settingsIn(item *contract.Item, c *helmv1alpha1.ProviderConfiguration, of settingsOf) (helmv1alpha1.ReleaseSettings, error) {
	if c.HelmDeploymentConfig == nil {
		return helmv1alpha1.ReleaseSettings{}, nil
	}
	field, values := of(c.HelmDeploymentConfig)
	settings, err := config.DecodeSettings(field, values)
	if err != nil {
		return settings, misconfigured(item, err)
	}
	if _, isSet := values["wait"]; settings.Remediation != nil && !isSet {
		settings.Wait = true // else it would not notice what fails
	}
	return settings, nil
}

func flagsOf(settings helmv1alpha1.ReleaseSettings) engine.Flags {
	flags := engine.Flags{
		Atomic: settings.Atomic, Force: settings.Force, SkipSchemaValidation: settings.SkipSchemaValidation,
		TakeOwnership: settings.TakeOwnership, Wait: settings.Wait, WaitForJobs: settings.WaitForJobs,
		DisableHooks: settings.DisableHooks, CleanupOnFail: settings.CleanupOnFail, KeepHistory: settings.KeepHistory,
		DeletionPropagation: settings.DeletionPropagation, CRDs: engine.CRDPolicy(settings.CRDs),
		CheckFields: settings.DisableOpenAPIValidation != nil && !*settings.DisableOpenAPIValidation,
		Recreate:    settings.Recreate, Reserve: settings.Remediation != nil,
	}
	if settings.Timeout != nil {
		flags.Timeout = settings.Timeout.Duration
	}
	return flags
}

func commonMetadata(c *helmv1alpha1.ProviderConfiguration) rendering.Metadata {
	if c.CommonMetadata == nil {
		return rendering.Metadata{}
	}
	return rendering.Metadata{Labels: c.CommonMetadata.Labels, Annotations: c.CommonMetadata.Annotations}
}

// kustomizations returns the post renderers of the configuration.
func kustomizations(c *helmv1alpha1.ProviderConfiguration) []rendering.Kustomization {
	var all []rendering.Kustomization
	for _, renderer := range c.PostRenderers {
		if renderer.Kustomize != nil {
			all = append(all, kustomizationOf(renderer.Kustomize))
		}
	}
	return all
}

func kustomizationOf(kustomize *helmv1alpha1.Kustomize) rendering.Kustomization {
	var of rendering.Kustomization
	for _, patch := range kustomize.Patches {
		of.Patches = append(of.Patches, rendering.Patch{Text: patch.Patch, Target: (*rendering.PatchTarget)(patch.Target)})
	}
	for _, image := range kustomize.Images {
		of.Images = append(of.Images, rendering.Image(image))
	}
	return of
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
func remediationOf(item *contract.Item, c *helmv1alpha1.ProviderConfiguration, action string) *helmv1alpha1.Remediation {
	of := settingsOf(upgradeSettings)
	if action == helmv1alpha1.ActionInstall {
		of = installSettings
	}
	settings, err := settingsIn(item, c, of)
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
