// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	helmv1alpha1 "github.com/flux-landscaper/flux-landscaper/api/deployers/helm/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/api/v1alpha1"
	"github.com/flux-landscaper/flux-landscaper/deployers/helm/engine"
	"github.com/flux-landscaper/flux-landscaper/deployers/protocol"
)

// readValues merges the values of the configuration over those that it refers to.
func (j *job) readValues(ctx context.Context) error {
	values, err := helmv1alpha1.DecodeValues(j.config.Values)
	if err != nil {
		return misconfigured(j.item, fmt.Errorf("spec.config.%w", err))
	}
	sources, err := valuesSources(ctx, j.options.Live, j.item.DeployItem.Namespace, j.config.ValuesFrom)
	if err != nil {
		return err
	}
	if j.values, err = engine.MergeValues(sources, values); err != nil {
		return misconfigured(j.item, fmt.Errorf("spec.config.%w", err))
	}
	j.secrets = nil
	for i, source := range sources {
		if j.config.ValuesFrom[i].Kind != helmv1alpha1.SecretValues {
			continue
		}
		// A source that is merged among others can be read alone.
		if alone, err := engine.MergeValues(sources[i:i+1], nil); err == nil {
			j.secrets = append(j.secrets, engine.TextsOf(alone)...)
		}
		j.secrets = append(j.secrets, engine.TextsOf(string(source.Content))...)
	}
	return nil
}

// valuesSources reads what valuesFrom refers to, each object once. What is optional and not there is an empty file.
func valuesSources(ctx context.Context, live client.Reader, namespace string, refs []helmv1alpha1.ValuesReference) ([]engine.ValuesSource, error) {
	sources := make([]engine.ValuesSource, len(refs))
	read := map[[2]string]map[string][]byte{}
	for i, ref := range refs {
		data, isRead := read[[2]string{ref.Kind, ref.Name}]
		if !isRead {
			var err error
			if data, err = valuesIn(ctx, live, namespace, ref); err != nil {
				return nil, err
			}
			read[[2]string{ref.Kind, ref.Name}] = data
		}
		key := cmp.Or(ref.ValuesKey, helmv1alpha1.DefaultValuesKey)
		content, found := data[key]
		at := fmt.Sprintf("valuesFrom[%d]: key %s of %s %s/%s", i, key, ref.Kind, namespace, ref.Name)
		switch {
		case found:
			sources[i] = engine.ValuesSource{Name: at, Content: content, Path: ref.TargetPath}
		case !ref.Optional:
			// Nothing tells a deployer, which may not watch Secrets, that the object has come.
			return nil, protocol.Again("ReadValues", "ValuesNotFound", "%s does not exist; create it, or make the reference optional", at)
		}
	}
	return sources, nil
}

// valuesIn returns the content of an object of the item's namespace, nothing when there is no such object.
func valuesIn(ctx context.Context, live client.Reader, namespace string, ref helmv1alpha1.ValuesReference) (map[string][]byte, error) {
	if live == nil {
		return nil, protocol.Stall("ReadValues", "NotSupported", "valuesFrom: this deployer reads no Secrets and ConfigMaps; use values")
	}
	key, secret, configMap := client.ObjectKey{Namespace: namespace, Name: ref.Name}, &corev1.Secret{}, &corev1.ConfigMap{}
	object := client.Object(secret)
	if ref.Kind != helmv1alpha1.SecretValues {
		object = configMap
	}
	if err := live.Get(ctx, key, object); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("valuesFrom: %s %s: %w", ref.Kind, key, err)
	}
	data := map[string][]byte{}
	maps.Copy(data, secret.Data)
	maps.Copy(data, configMap.BinaryData)
	for key, text := range configMap.Data {
		data[key] = []byte(text)
	}
	return data, nil
}

// settings decodes the settings of an operation: install, upgrade, uninstall or rollback.
func (j *job) settings(operation string) (helmv1alpha1.ReleaseSettings, error) {
	all := j.config.HelmDeploymentConfig
	if all == nil {
		return helmv1alpha1.ReleaseSettings{}, nil
	}
	values := map[string]map[string]v1alpha1.AnyJSON{
		helmv1alpha1.ActionInstall: all.Install, helmv1alpha1.ActionUpgrade: all.Upgrade, "uninstall": all.Uninstall, "rollback": all.Rollback,
	}[operation]
	settings, err := helmv1alpha1.DecodeSettings("helmDeploymentConfig."+operation, values)
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
