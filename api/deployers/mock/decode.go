// Copyright 2026 The flux-landscaper Authors
// SPDX-License-Identifier: Apache-2.0

// Package mock reads the configuration of DeployItems of type landscaper.gardener.cloud/mock.
package mock

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flux-landscaper/flux-landscaper/api/deployers/document"
	"github.com/flux-landscaper/flux-landscaper/api/deployers/mock/v1alpha1"
)

// DecodeConfiguration reads spec.config of a DeployItem as JSON. A missing apiVersion or kind is v1alpha1; errors name the field.
func DecodeConfiguration(raw []byte) (*v1alpha1.ProviderConfiguration, error) {
	config := &v1alpha1.ProviderConfiguration{}
	return config, document.Read(raw, kind(v1alpha1.ProviderConfigurationKind), config)
}

// DecodeFileConfiguration reads the configuration file of the deployer as JSON. Errors as for DecodeConfiguration.
func DecodeFileConfiguration(raw []byte) (*v1alpha1.Configuration, error) {
	config := &v1alpha1.Configuration{}
	return config, document.Read(raw, kind(v1alpha1.ConfigurationKind), config)
}

func kind(name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: v1alpha1.APIVersion, Kind: name}
}
